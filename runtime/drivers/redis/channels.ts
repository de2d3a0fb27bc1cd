import { RedisConnection, type RedisOptions } from './connection.ts';

/**
 * Messages to everybody, at most once, on a connection of its own. Who listens is subscribed again whenever the
 * connection is made anew; what was said meanwhile is not heard.
 */
export class RedisChannels {
  readonly #options: ChannelsOptions;
  readonly #connection: RedisConnection;
  readonly #listeners = new Map<string, Set<Hear>>();
  #subscribing: Promise<unknown> = Promise.resolve();

  constructor(options: ChannelsOptions) {
    this.#options = options;
    this.#connection = new RedisConnection({
      ...options,
      onReady: () => {
        this.#subscribe([...this.#listeners.keys()]);
        options.onBack?.();
      },
    });
  }

  /** Returns its end. */
  listen(channel: string, hear: Hear): () => void {
    const own = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, own.add(hear));
    if (own.size === 1) this.#subscribe([channel]);
    return () => {
      own.delete(hear);
      if (own.size > 0 || this.#listeners.get(channel) !== own) return;
      this.#listeners.delete(channel);
      this.#unsubscribe(channel);
    };
  }

  /** Resolves when what is listened to by now is in force, or cannot be. */
  async settled(): Promise<void> {
    await this.#subscribing;
  }

  close(): Promise<void> {
    this.#listeners.clear();
    return this.#connection.close();
  }

  #subscribe(channels: string[]): void {
    if (channels.length === 0) return;
    // A failure is followed by a new connection, and that by a new try.
    const subscribed = this.#connection
      .ask((client) => client.subscribe(channels, this.#hear))
      .catch(() => {});
    this.#subscribing = Promise.all([this.#subscribing, subscribed]);
  }

  #unsubscribe(channel: string): void {
    this.#connection
      .ask(async (client) => {
        // Somebody may listen again by now.
        if (!this.#listeners.has(channel)) await client.unsubscribe(channel, this.#hear);
      })
      .catch(() => {});
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

interface ChannelsOptions extends RedisOptions {
  /** The connection is there, at first and again: something may have been missed. */
  readonly onBack?: () => void;
}

type Hear = (message: string) => void;
