import type { createClient } from 'redis';
import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
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
import { primaryOf, type RedisPlace } from './sentinels.ts';

export type Command = readonly string[];

export interface LinkOptions extends RedisPlace {
  readonly log: Log;
  /** Other bounds, for tests. */
  readonly limits?: Partial<typeof bounds> | undefined;
  /** Looks at each new connection before it is used; what it throws is what callers get. */
  prepare(ask: (command: Command) => Promise<unknown>): Promise<void>;
  /** The connection is there, or there again: what was said to listeners meanwhile was not heard. */
  onOpen?(): void;
}

type Client = ReturnType<typeof createClient>;
type Hear = (message: string) => void;

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
  /** How often a connection that only listens is asked whether it is still there, ms. */
  ping: 2000,
};

/**
 * The connection to Redis. Commands are sent in the order of the calls, all those of a turn of the event loop in one
 * packet. None is ever sent twice, none waits longer than its bound. It is made at the first call, and again by itself.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  readonly #limits: typeof bounds;
  /** Since when each command waits, the oldest first. */
  readonly #waiting = new Set<{ readonly since: number }>();
  readonly #listeners = new Map<string, Set<Hear>>();
  #idlers: (() => void)[] = [];
  #redis: Redis | undefined;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  #reopening: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #pings: ReturnType<typeof setInterval> | undefined;
  #isSuspected = false;
  #failures = 0;
  #reason: unknown;
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#limits = { ...bounds, ...options.limits };
  }

  /** Rejects with `store.unreachable`, `store.full`, `store.busy` or `store.closed`: nothing happened. */
  read(command: Command): Promise<unknown> {
    return this.#call(command, false);
  }

  /** The same, and `store.unknown`: it may have happened. */
  write(command: Command): Promise<unknown> {
    return this.#call(command, true);
  }

  /** Hears what is said to a channel, at most once: what was said while there was no connection is not heard. Returns its end. */
  listen(channel: string, hear: Hear): () => void {
    const own = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, own.add(hear));
    if (own.size === 1) this.#subscribe(this.#client, channel);
    if (!this.#client) this.#connect().catch(() => {});
    this.#pings ??= setInterval(() => this.#ping(), this.#limits.ping);
    this.#pings.unref();
    return () => {
      own.delete(hear);
      if (own.size > 0 || this.#listeners.get(channel) !== own) return;
      this.#listeners.delete(channel);
      this.#client?.unsubscribe(channel, this.#hear).catch(() => {});
    };
  }

  /** Ends it when everything is answered that was asked for. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      clearInterval(this.#pings);
      await this.#opening?.catch(() => {});
      while (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#idlers.push(resolve));
      this.#isClosed = true;
      clearTimeout(this.#reopening);
      clearTimeout(this.#watch);
      const last = this.#client;
      this.#client = undefined;
      last?.destroy();
    })();
    return this.#closing;
  }

  async #call(command: Command, isWrite: boolean): Promise<unknown> {
    if (this.#isClosed) throw closedFault();
    if (this.#waiting.size >= this.#limits.waiting) {
      const message = `${this.#waiting.size} commands wait for Redis already; nothing was written`;
      throw new Fault('store.busy', { status: 503, message, retryAfter: 1 });
    }
    // After a failure there is no waiting: whoever asks may have another way.
    if (!this.#client && this.#reopening) throw this.#reason;
    return this.#send(this.#client ?? (await this.#connect()), { command, isWrite });
  }

  async #send(via: Client, { command, isWrite }: { command: Command; isWrite: boolean }): Promise<unknown> {
    const mark = { since: performance.now() };
    this.#waiting.add(mark);
    if (!this.#watch) this.#look();
    try {
      return await via.sendCommand(command as string[]);
    } catch (error) {
      const redis = this.#redis;
      throw refusalOf(error as Error, redis) ?? lossOf(error as Error, { isWrite, redis });
    } finally {
      this.#waiting.delete(mark);
      if (this.#waiting.size === 0) for (const release of this.#idlers.splice(0)) release();
    }
  }

  /** The oldest command was sent first and is answered first: while it is in time, all are. */
  readonly #look = (): void => {
    const { answer } = this.#limits;
    this.#watch = undefined;
    const [oldest] = this.#waiting;
    if (!oldest) return;
    const left = oldest.since + answer - performance.now();
    // When our own thread was busy, the answer may be here and unread.
    const isOver = left <= 0 && this.#isSuspected;
    this.#isSuspected = left <= 0;
    if (isOver && this.#client) this.#lose(this.#client, new Error(`no answer within ${answer} ms`));
    this.#watch = setTimeout(this.#look, Math.max(left, 20));
    this.#watch.unref();
  };

  #ping(): void {
    if (this.#client && this.#waiting.size === 0) this.read(['PING']).catch(() => {});
  }

  #connect(): Promise<Client> {
    this.#opening ??= this.#open()
      .then((next) => {
        if (!next.isReady) throw unreachable('it ended at once');
        if (this.#failures > 0) this.#options.log.info('redis is connected again', {});
        this.#failures = 0;
        this.#client = next;
        for (const channel of this.#listeners.keys()) this.#subscribe(next, channel);
        this.#options.onOpen?.();
        return next;
      })
      .catch((error: unknown) => {
        if (this.#failures === 0 && !this.#isClosed)
          this.#options.log.warn('redis cannot be used; it is tried again', { error });
        this.#reason = error;
        this.#reopen();
        throw error;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  async #open(): Promise<Client> {
    const { ca, prepare } = this.#options;
    this.#redis ??= await import('redis');
    const redis = this.#redis;
    const url = await primaryOf(this.#options, { redis, ms: this.#limits.connect });
    const { username, password } = new URL(url);
    const next = redis.createClient({
      url,
      // So that one connection can listen and be asked.
      RESP: 3,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: 'disabled',
      // Its own bound makes a timer for each command, and ends only those that were not sent.
      commandOptions: { timeout: 0 },
      socket: {
        reconnectStrategy: false,
        connectTimeout: this.#limits.connect,
        ...(ca !== undefined && { tls: true, ca }),
      },
    }) as unknown as Client;
    let trouble: unknown;
    next.on('error', (error) => {
      trouble = error;
      this.#lose(next, error);
    });
    // The bound of the client ends with the handshake of TCP, which a Redis that hangs makes as well.
    const bound = setTimeout(() => {
      trouble ??= new Error(`not ready within ${this.#limits.connect} ms`);
      next.destroy();
    }, this.#limits.connect);
    try {
      await next.connect();
      // HELLO takes any password where none is asked for.
      if (password !== '' && username === '') await next.sendCommand(['AUTH', decodeURIComponent(password)]);
      await prepare((command) =>
        next.sendCommand([...command]).catch((error: Error) => {
          throw refusalOf(error, redis) ?? error;
        }),
      );
      if (this.#isClosed) throw closedFault();
      return next;
    } catch (error) {
      if (next.isOpen) next.destroy();
      if (error instanceof Fault || error instanceof BadAnswer) throw error;
      const refusal = greetingRefusalOf(error as Error, redis) ?? certificateRefusalOf(trouble ?? error);
      throw refusal ?? unreachable(textOf(trouble ?? error));
    } finally {
      clearTimeout(bound);
    }
  }

  #reopen(): void {
    if (this.#isClosed || this.#reopening) return;
    const { firstPause, longestPause } = this.#limits;
    const pause = Math.min(firstPause * 2 ** Math.min(this.#failures, 30), longestPause);
    this.#failures += 1;
    const again = () => {
      this.#reopening = undefined;
      this.#connect().catch(() => {});
    };
    this.#reopening = setTimeout(again, pause * (0.5 + Math.random() / 2));
  }

  /** Gives a connection up. Its client rejects what waits. */
  #lose(lost: Client, error: unknown): void {
    if (this.#client !== lost) return;
    this.#client = undefined;
    this.#reason = unreachable(textOf(error));
    this.#options.log.warn('the connection to redis is lost', { error });
    lost.destroy();
    this.#reopen();
  }

  /** Whoever is not subscribed because the connection broke is with the next one. */
  #subscribe(via: Client | undefined, channel: string): void {
    via?.subscribe(channel, this.#hear).catch(() => {});
  }

  readonly #hear = (message: string, channel: string): void => {
    // Whoever ends their listening while being told disturbs nobody.
    for (const hear of [...(this.#listeners.get(channel) ?? [])]) {
      try {
        hear(message);
      } catch (error) {
        this.#options.log.error('a listener failed', { channel, error });
      }
    }
  };
}

function closedFault(): Fault {
  return new Fault('store.closed', { status: 503, message: 'the connection to Redis is closed' });
}
