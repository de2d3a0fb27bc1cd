import type { EventFeed } from '../../core/events.ts';
import type { Log } from '../../core/log.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';

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

  after(position: number, options: { account?: string; limit: number }): Promise<LoggedEvent[]> {
    return this.#store.events.after(position, options);
  }

  position(id: string): Promise<number | undefined> {
    return this.#store.events.position(id);
  }
}
