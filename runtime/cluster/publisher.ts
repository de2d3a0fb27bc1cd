import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { EventHub } from '../actors/events.ts';
import { isWorthTelling, retried } from './retried.ts';

/** Its place in the event log is stored under this name. */
export const publisherName = 'bus/events';
/** Events that are published in one call. */
const pageSize = 500;
/** Of the id of an event that is buried: it may be what the bus refuses. */
const shownId = 1000;

/**
 * Publishes the event log for those who read the bus outside of this program: in its order, each at least once; a repeat is known
 * by its id. One node does it at a time, and the place is stored. An event that the bus will never take is buried.
 */
export class EventPublisher {
  readonly #options: PublisherOptions;
  readonly #stopping = new AbortController();
  #isWanted = true;
  #wake = () => {};
  #running: Promise<void> = Promise.resolve();
  #unsubscribe = () => {};
  /** Positions of the last event that is published, and of the last one that was heard of. */
  #place = 0;
  #newest = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Events that are in the log and not published yet, as far as this node has heard. */
  get backlog(): number {
    return Math.max(0, this.#newest - this.#place);
  }

  start(): void {
    this.#unsubscribe = this.#options.hub.subscribe(({ position }) => {
      this.#newest = position;
      this.#isWanted = true;
      this.#wake();
    });
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#stopping.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store } = this.#options;
    const { signal } = this.#stopping;
    const [place, last] = (await this.#surely(() =>
      Promise.all([store.events.cursor(publisherName), store.events.last()]),
    )) ?? [0, 0];
    // A store that lost its last writes may have kept a place beyond the end of the log.
    this.#place = Math.min(place, last);
    this.#newest = last;
    while (!signal.aborted) {
      this.#isWanted = false;
      const events = (await this.#surely(() => store.events.after(this.#place, { limit: pageSize }))) ?? [];
      if (signal.aborted) return;
      const newest = events.at(-1);
      this.#newest = Math.max(this.#newest, newest?.position ?? 0);
      if (!newest) {
        if (!this.#isWanted) await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      await this.#surely(() => this.#publish(events));
      await this.#surely(() => store.events.advance(publisherName, newest.position));
      this.#place = newest.position;
    }
  }

  async #publish(events: readonly LoggedEvent[]): Promise<void> {
    // Those of no account are for plugins alone.
    const own = events.filter(({ account }) => account !== '');
    if (own.length === 0) return;
    try {
      await this.#options.bus.publish(own.map(recordOf));
    } catch (error) {
      if (!isForGood(error)) throw error;
      // One of them is to blame, and the bus does not say which.
      for (const event of own) await this.#publishAlone(event);
    }
  }

  async #publishAlone(event: LoggedEvent): Promise<void> {
    const { bus, log, onBuried } = this.#options;
    const record = recordOf(event);
    try {
      await bus.publish([record]);
    } catch (error) {
      if (!isForGood(error)) throw error;
      const { id, type, account, at } = event;
      const reason = error instanceof Error ? error.message : String(error);
      log.error('an event is buried: the bus will never take it', { id, type, account, reason });
      // What it is, not all of it: that is what was refused. The store has it for as long as it keeps events.
      const note = { id: id.slice(0, shownId), event: type, account, bytes: Buffer.byteLength(record.value) };
      await bus.bury({ partition: -1, offset: -1, at, key: 'event', value: JSON.stringify(note) }, reason);
      onBuried();
    }
  }

  #surely<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#options;
    return retried(work, {
      clock,
      signal: this.#stopping.signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries))
          log.warn('events could not be published; it is tried again', { tries, error });
      },
    });
  }
}

interface PublisherOptions {
  readonly store: Pick<Store, 'events'>;
  readonly bus: Pick<Bus, 'publish' | 'bury'>;
  /** Has the events of all nodes. */
  readonly hub: Pick<EventHub, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The bus refuses an event for good; readers outside miss it. */
  onBuried(): void;
}

/** The event as clients see it, with what its step came of. A body is a JSON object. */
function recordOf({ id, type, stream, body, epoch }: LoggedEvent): { key: string; value: string } {
  const end = `/${type}`;
  // An event of a step is named `<cause>/<index>/<type>`.
  const cause = id.endsWith(end) ? id.slice(0, id.lastIndexOf('/', id.length - end.length - 1)) : '';
  const more = JSON.stringify({ cause, ...(epoch !== undefined && { epoch }) });
  return { key: stream || id, value: `${body.slice(0, -1)},${more.slice(1)}` };
}

/** Another attempt would end alike. */
function isForGood(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Fault && error.status === 413);
}
