import type { Log } from '../../core/base/log.ts';
import { every } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import type { EventHub } from '../actors/events.ts';

const topic = 'events';
/** Events of other nodes that are read from the log at one time. */
const page = 500;
/** How often the log is looked at for events that nobody announced, ms. */
const poll = 1000;

/**
 * Follows the one log of events for the subscribers of this node, in its order, whichever node wrote them. Nodes tell
 * each other when there are new ones; who did not hear of it looks by itself soon after.
 */
export class EventTail {
  readonly #options: TailOptions;
  /** Position of the last event that was told. */
  #last = 0;
  #isWanted = false;
  #isReading = false;
  #isStopped = true;
  #stops: (() => void)[] = [];
  /** The newest that this node has written. */
  #newest = 0;
  #isAnnouncing = false;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /** Tells of what is written from now on. */
  async start(): Promise<void> {
    const { store, clock, volatile } = this.#options;
    this.#last = await store.events.last();
    this.#isStopped = false;
    const unlisten = volatile.listen(topic, (position) => {
      if (typeof position !== 'number' || position > this.#last) this.wake();
    });
    this.#stops = [unlisten, every(poll, { clock, work: () => this.wake() })];
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** This node has written these. */
  committed(events: readonly LoggedEvent[]): void {
    const { own } = this.#options;
    for (const event of events) {
      own.publish(event);
      // The next one on the log need not be read.
      if (!this.#isStopped && event.position === this.#last + 1) this.#tell(event);
      else if (event.position > this.#last) this.wake();
    }
    const newest = events.at(-1)?.position ?? 0;
    if (newest <= this.#newest) return;
    this.#newest = newest;
    if (!this.#isAnnouncing) void this.#announce();
  }

  /** There may be events that nobody here has heard of. */
  wake(): void {
    this.#isWanted = true;
    if (!this.#isReading && !this.#isStopped) void this.#read();
  }

  #tell(event: LoggedEvent): void {
    this.#last = event.position;
    this.#options.hub.publish(event);
  }

  /** One word at a time, and of many events that of the newest: that is all the others need. */
  async #announce(): Promise<void> {
    const { volatile, log } = this.#options;
    this.#isAnnouncing = true;
    for (let told = 0; told < this.#newest; ) {
      told = this.#newest;
      // They look by themselves.
      const failed = (error: unknown) => log.debug('other nodes could not be told of events', { error });
      await volatile.announce(topic, told).catch(failed);
    }
    this.#isAnnouncing = false;
  }

  async #read(): Promise<void> {
    const { store, log } = this.#options;
    this.#isReading = true;
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false;
        const events = await store.events.after(this.#last, { limit: page });
        if (this.#isStopped) break;
        this.#isWanted ||= events.length === page;
        for (const event of events) if (event.position > this.#last) this.#tell(event);
      }
    } catch (error) {
      // The next look is not far.
      log.warn('the log of events could not be read; it is tried again', { error });
    } finally {
      this.#isReading = false;
    }
  }
}

interface TailOptions {
  readonly store: Pick<Store, 'events'>;
  readonly volatile: Pick<Volatile, 'announce' | 'listen'>;
  /** Gets the events of all nodes. */
  readonly hub: Pick<EventHub, 'publish'>;
  /** Gets those that this node commits, as far as it knows. */
  readonly own: Pick<EventHub, 'publish'>;
  readonly clock: Clock;
  readonly log: Log;
}
