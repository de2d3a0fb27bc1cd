import type { createClient } from 'redis';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import {
  BadAnswer,
  certificateRefusalOf,
  greetingRefusalOf,
  lossOf,
  type Redis,
  refusalOf,
  textOf,
  unreachable,
} from './failures.ts';

export type Command = readonly string[];

export interface LinkOptions {
  readonly url: string;
  readonly ca?: string;
  readonly log: Log;
  /** Other bounds, for tests. */
  readonly limits?: Partial<typeof bounds>;
  /** Looks at each new connection before it is used; what it throws is what callers get. */
  prepare(ask: (command: Command) => Promise<unknown>): Promise<void>;
  /** The connection is there, or there again. */
  onOpen(): void;
}

/**
 * The connection to Redis. Commands are sent in the order of the calls, all those of a turn of the event loop in one
 * packet. None is ever sent twice, none waits longer than its bound. It is made at the first call, and again by itself.
 */
export interface Link {
  /** Rejects with `store.unreachable`, `store.full`, `store.busy` or `store.closed`: nothing happened. */
  read(command: Command): Promise<unknown>;
  /** The same, and `store.unknown`: it may have happened. */
  write(command: Command): Promise<unknown>;
  /** Ends it when everything is answered that was asked for. */
  close(): Promise<void>;
}

type Client = ReturnType<typeof createClient>;

const bounds = {
  /** Commands that wait for an answer. Beyond: 503 `store.busy`; nothing was written. */
  waiting: 10_000,
  /** Time to connect to Redis and to look at what it is, ms. */
  connect: 2000,
  /** Time that Redis has for each answer, ms; then the connection is given up. */
  answer: 5000,
  /** Pause before Redis is connected to again, ms; it doubles up to `longestPause`. */
  firstPause: 50,
  longestPause: 1000,
};

export function link({ url, ca, log, prepare, onOpen, ...more }: LinkOptions): Link {
  const limits = { ...bounds, ...more.limits };
  const waiting = new Set<{ readonly since: number }>();
  const idlers: (() => void)[] = [];
  let redis: Redis | undefined;
  let client: Client | undefined;
  let opening: Promise<Client> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  let watch: ReturnType<typeof setTimeout> | undefined;
  let isSuspected = false;
  let failures = 0;
  let reason: unknown;
  let closing: Promise<void> | undefined;
  let isClosed = false;

  const open = async (): Promise<Client> => {
    redis ??= await import('redis');
    const { createClient } = redis;
    const next = createClient({
      url,
      RESP: 2,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
      // Its own bound makes a timer for each command, and ends only those that were not sent.
      commandOptions: { timeout: 0 },
      socket: {
        reconnectStrategy: false,
        connectTimeout: limits.connect,
        ...(ca !== undefined && { tls: true, ca }),
      },
    }) as unknown as Client;
    let trouble: unknown;
    next.on('error', (error) => {
      trouble = error;
      lose(next, error);
    });
    // The bound of the client ends with the handshake of TCP, which a Redis that hangs makes as well.
    const bound = setTimeout(() => {
      trouble ??= new Error(`not ready within ${limits.connect} ms`);
      next.destroy();
    }, limits.connect);
    try {
      await next.connect();
      await prepare((command) =>
        next.sendCommand([...command]).catch((error: Error) => {
          throw refusalOf(error, redis) ?? error;
        }),
      );
      if (isClosed) throw closedFault();
      return next;
    } catch (error) {
      if (next.isOpen) next.destroy();
      if (error instanceof Fault || error instanceof BadAnswer) throw error;
      const refusal = greetingRefusalOf(error as Error, redis) ?? certificateRefusalOf(trouble ?? error);
      throw refusal ?? unreachable(textOf(trouble ?? error));
    } finally {
      clearTimeout(bound);
    }
  };

  const connect = (): Promise<Client> => {
    opening ??= open()
      .then((next) => {
        if (!next.isReady) throw unreachable('it ended at once');
        if (failures > 0) log.info('redis is connected again', {});
        failures = 0;
        reason = undefined;
        client = next;
        onOpen();
        return next;
      })
      .catch((error: unknown) => {
        if (failures === 0) log.warn('redis cannot be used; it is tried again', { error });
        reason = error;
        reopen();
        throw error;
      })
      .finally(() => {
        opening = undefined;
      });
    return opening;
  };

  const reopen = () => {
    if (isClosed || reopening) return;
    const pause = Math.min(limits.firstPause * 2 ** Math.min(failures, 30), limits.longestPause);
    failures += 1;
    reopening = setTimeout(
      () => {
        reopening = undefined;
        connect().catch(() => {});
      },
      pause * (0.5 + Math.random() / 2),
    );
    reopening.unref();
  };

  /** Gives a connection up. Its client rejects what waits. */
  const lose = (lost: Client, error: unknown) => {
    if (client !== lost) return;
    client = undefined;
    reason = unreachable(textOf(error));
    log.warn('the connection to redis is lost', { error });
    lost.destroy();
    reopen();
  };

  /** The oldest command was sent first and is answered first: while it is in time, all are. */
  const look = () => {
    watch = undefined;
    const [oldest] = waiting;
    if (!oldest) return;
    const left = oldest.since + limits.answer - performance.now();
    // When our own thread was busy, the answer may be here and unread.
    const isOver = left <= 0 && isSuspected;
    isSuspected = left <= 0;
    if (isOver && client) lose(client, new Error(`no answer within ${limits.answer} ms`));
    else arm(Math.max(left, 20));
  };
  const arm = (wait: number) => {
    watch = setTimeout(look, wait);
    watch.unref();
  };

  const send = (via: Client, { command, isWrite }: { command: Command; isWrite: boolean }) => {
    const mark = { since: performance.now() };
    waiting.add(mark);
    if (!watch) arm(limits.answer);
    const settle = () => {
      waiting.delete(mark);
      if (waiting.size === 0) for (const release of idlers.splice(0)) release();
    };
    return via.sendCommand(command as string[]).then(
      (answer) => {
        settle();
        return answer;
      },
      (error: Error) => {
        settle();
        throw refusalOf(error, redis) ?? lossOf(error, { isWrite, redis });
      },
    );
  };

  const closedFault = () =>
    new Fault('store.closed', { status: 503, message: 'the connection to Redis is closed' });

  const call = (command: Command, isWrite: boolean): Promise<unknown> => {
    if (isClosed) return Promise.reject(closedFault());
    if (waiting.size >= limits.waiting) {
      const message = `${waiting.size} commands wait for Redis already; nothing was written`;
      return Promise.reject(new Fault('store.busy', { status: 503, message, retryAfter: 1 }));
    }
    if (client) return send(client, { command, isWrite });
    // After a failure there is no waiting: whoever asks may have another way.
    if (reopening) return Promise.reject(reason);
    return connect().then((next) => send(next, { command, isWrite }));
  };

  return {
    read: (command) => call(command, false),
    write: (command) => call(command, true),
    close() {
      closing ??= (async () => {
        await opening?.catch(() => {});
        while (waiting.size > 0) await new Promise<void>((resolve) => idlers.push(resolve));
        isClosed = true;
        clearTimeout(reopening);
        clearTimeout(watch);
        const last = client;
        client = undefined;
        last?.destroy();
      })();
      return closing;
    },
  };
}
