import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import { redisLimits } from './limits.ts';

/** Of the `redis` package, which is loaded with the first connection and not before. */
export type RedisClient = ReturnType<typeof clientOf>;

export interface RedisOptions {
  /** `redis://` or `rediss://`, with user, password and database if need be. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string | undefined;
  /** Code of the Fault that says that Redis does not answer. */
  readonly unavailable: string;
  readonly log: Log;
  /** Called whenever the connection is there, at first and again. What was subscribed to is subscribed to again by then. */
  readonly onReady?: (client: RedisClient) => void;
}

/**
 * One connection, made with the first call and then again and again for as long as it is wanted. Every call is answered
 * within a bound: nothing waits for a connection that has failed, and one that has gone silent is replaced, because TCP
 * alone would notice that only after minutes. A call that failed may have been carried out all the same.
 */
export class RedisConnection {
  readonly #options: RedisOptions;
  #client: Promise<RedisClient> | undefined;
  #isClosed = false;
  /** It has been logged. */
  #isAway = false;
  #calls = 0;
  #heardAt = 0;
  #pinging: ReturnType<typeof setInterval> | undefined;
  #onTried = () => {};
  /** The first try to connect has ended, well or not. */
  readonly #tried = new Promise<void>((resolve) => {
    this.#onTried = resolve;
  });

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /**
   * The answer of `call`. Its own errors are passed on; when it is Redis that cannot be reached, is not ready, or does
   * not answer in time, that is the Fault (503).
   */
  async ask<Value>(call: (client: RedisClient) => Promise<Value>): Promise<Value> {
    if (this.#calls >= redisLimits.calls) throw this.#unavailable(`${this.#calls} calls wait for it already`);
    this.#calls += 1;
    try {
      // Loading it is no time of Redis.
      await import('redis');
      return await this.#bounded(async () => {
        const client = await this.#connected();
        const value = await call(client);
        this.#heardAt = Date.now();
        return value;
      });
    } catch (error) {
      throw this.#told(error);
    } finally {
      this.#calls -= 1;
    }
  }

  /** Harmless when repeated. What is under way fails. */
  async close(): Promise<void> {
    const client = this.#client;
    this.#isClosed = true;
    this.#onTried();
    clearInterval(this.#pinging);
    (await client?.catch(() => undefined))?.destroy();
  }

  async #connected(): Promise<RedisClient> {
    if (this.#isClosed) throw this.#unavailable('the connection is closed');
    this.#client ??= this.#open();
    const client = await this.#client;
    await this.#tried;
    if (!client.isReady) throw this.#unavailable('there is no connection');
    return client;
  }

  async #open(): Promise<RedisClient> {
    const client = clientOf(await import('redis'), this.#options);
    client.on('ready', () => this.#arrived(client));
    client.on('error', (error) => this.#failed(error));
    this.#connect(client);
    this.#pinging = setInterval(() => this.#ping(client), redisLimits.ping);
    this.#pinging.unref();
    return client;
  }

  /** Tries until it succeeds or is closed; every failure comes as an `error` event. */
  #connect(client: RedisClient): void {
    client.connect().catch((error) => this.#failed(error));
  }

  #arrived(client: RedisClient): void {
    if (this.#isClosed) return;
    if (this.#isAway) this.#options.log.info('redis answers again');
    this.#isAway = false;
    this.#heardAt = Date.now();
    this.#onTried();
    this.#options.onReady?.(client);
  }

  #failed(error: unknown): void {
    if (!this.#isAway && !this.#isClosed)
      this.#options.log.warn('redis cannot be reached; it is tried again and again', { error });
    this.#isAway = true;
    this.#onTried();
  }

  #ping(client: RedisClient): void {
    if (!client.isReady || Date.now() - this.#heardAt < redisLimits.ping / 2) return;
    // Whether it answered is seen by the connection itself.
    this.ask(() => client.ping()).catch(() => {});
  }

  async #bounded<Value>(run: () => Promise<Value>): Promise<Value> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const judge = () => {
        void this.#replace();
        reject(this.#unavailable(`no answer within ${redisLimits.answer} ms`));
      };
      timer = setTimeout(() => {
        // It may have been this thread that was busy: first see to what has arrived meanwhile.
        timer = setTimeout(judge, 5);
      }, redisLimits.answer);
    });
    try {
      return await Promise.race([run(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A connection that does not answer is ended, so that what waits for it fails now, and another one is made. */
  async #replace(): Promise<void> {
    const client = await this.#client;
    // One that is being made has time limits of its own.
    if (!client?.isReady || this.#isClosed) return;
    this.#failed(new Error(`no answer within ${redisLimits.answer} ms`));
    client.destroy();
    this.#connect(client);
  }

  #told(error: unknown): unknown {
    if (error instanceof Fault || !(error instanceof Error)) return error;
    // Errors of ours.
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
      return error;
    const reply = /^[A-Z]{2,}\b/.exec(error.message)?.[0];
    if (isReply(error) && !(reply && passing.has(reply))) return error;
    return this.#unavailable(error.message, error);
  }

  #unavailable(reason: string, cause?: Error): Fault {
    const message = `redis does not answer: ${reason}`;
    return new Fault(this.#options.unavailable, { status: 503, message, retryAfter: 1, cause });
  }
}

function clientOf({ createClient }: typeof import('redis'), { url, ca }: RedisOptions) {
  const { connect, retry, commands, ping } = redisLimits;
  return createClient({
    url,
    // A command that waits for a connection is answered by the caller's next try just as well.
    disableOfflineQueue: true,
    commandsQueueMaxLength: commands,
    socket: {
      connectTimeout: connect,
      // Of use while it is made: later pings keep it from ever being idle for so long, answered or not.
      socketTimeout: connect + ping,
      reconnectStrategy: (tries) => Math.min(retry, (retry / 50) * 2 ** Math.min(tries, 10)),
      ...(ca !== undefined && { tls: true, ca }),
    },
  });
}

/** Answers of Redis that say nothing of the command: it loads its data, has no memory or disk, or follows another. */
const passing = new Set(['LOADING', 'BUSY', 'OOM', 'MISCONF', 'READONLY', 'MASTERDOWN', 'NOREPLICAS']);

/** Told by its class: importing that would load the package. */
function isReply(error: Error): boolean {
  for (let one = Object.getPrototypeOf(error); one; one = Object.getPrototypeOf(one))
    if (one.constructor?.name === 'ErrorReply') return true;
  return false;
}
