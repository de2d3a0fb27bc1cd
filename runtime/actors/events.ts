import type { Log } from '../../core/base/log.ts';
import type { EventFeed } from '../../core/plugin/events.ts';
import type { EventRead, LoggedEvent, Store } from '../../core/ports/store.ts';

/** Tells subscribers of committed events, and reads the log for those who come later. */
export class EventHub implements EventFeed {
  readonly #store: Store;
  readonly #log: Log;
  readonly #listeners = new Set<(event: LoggedEvent) => void>();

  constructor(store: Store, options: { log: Log }) {
    this.#store = store;
    this.#log = options.log;
  }

  publish(event: LoggedEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error('an event listener failed', { event: event.type, error });
      }
    }
  }

  subscribe(listener: (event: LoggedEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  after(position: number, options: EventRead): Promise<LoggedEvent[]> {
    return this.#store.events.after(position, options);
  }

  before(position: number, options: EventRead): Promise<LoggedEvent[]> {
    return this.#store.events.before(position, options);
  }

  async position(id: string, { account }: { account: string }): Promise<number | undefined> {
    const position = await this.#store.events.position(id);
    if (position === undefined) return undefined;
    // Ids can be guessed; do not reveal those of other accounts.
    const [event] = await this.#store.events.after(position - 1, { account, limit: 1 });
    return event?.id === id ? position : undefined;
  }
}
