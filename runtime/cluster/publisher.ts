import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { pause } from '../../core/base/timing.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { EventHub } from '../actors/events.ts';
import { retried } from './retried.ts';

/** Its place in the event log is stored under this name. */
export const publisherName = 'bus/events';
/** Events that are published in one call. */
const page = 500;
/** Shortest time between two calls when there are few, ms: each costs the same. */
const pace = 50;
/** Of the id of an event that is buried: it may be what the bus refuses. */
const shownId = 1000;

/**
 * Publishes the event log for those who read the bus outside of this program: in its order, each at least once; a repeat is known
 * by its id. One node does it at a time, and the place is stored. An event that the bus will never take is buried.
 */
export class EventPublisher {
  readonly #options: PublisherOptions;
  /** Positions of the last event that is published, and of the last one that was heard of. */
  #place = 0;
  #newest = 0;
  #buried = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Events that are in the log and not published yet, as far as this node has heard; 0 where another does it. */
  get backlog(): number {
    return Math.max(0, this.#newest - this.#place);
  }

  /** How many the bus refused for good. */
  get buried(): number {
    return this.#buried;
  }

  /** Returns the stop; it may be started again then. */
  start(): () => Promise<void> {
    const stopping = new AbortController();
    const wake = { now: () => {} };
    const unsubscribe = this.#options.hub.subscribe(({ position }) => {
      this.#newest = position;
      wake.now();
    });
    const running = this.#run(stopping.signal, wake);
    return async () => {
      unsubscribe();
      stopping.abort();
      wake.now();
      await running;
      this.#newest = this.#place;
    };
  }

  async #run(signal: AbortSignal, wake: { now: () => void }): Promise<void> {
    const { store, clock, log } = this.#options;
    const failure = 'events could not be published';
    const surely = <T>(work: () => Promise<T>) => retried(work, { clock, signal, log, failure });
    const asked = () => Promise.all([store.events.cursor(publisherName), store.events.last()]);
    const [place, last] = (await surely(asked)) ?? [0, 0];
    // A store that lost its last writes may have kept a place beyond the end of the log.
    this.#place = Math.min(place, last);
    this.#newest = last;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake.now = resolve;
      });
      const events = (await surely(() => store.events.after(this.#place, { limit: page }))) ?? [];
      const newest = events.at(-1)?.position;
      if (newest === undefined) await woken;
      if (newest === undefined || signal.aborted) continue;
      this.#newest = Math.max(this.#newest, newest);
      await surely(() => this.#publish(events));
      await surely(() => store.events.advance(publisherName, newest));
      this.#place = newest;
      if (events.length < page) await pause(clock.now() + pace, { clock, signal });
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
      if (own.length === 1) return this.#bury(own[0]!, error);
      for (const event of own) await this.#publish([event]);
    }
  }

  async #bury(event: LoggedEvent, error: Error): Promise<void> {
    const { bus, log } = this.#options;
    const { id, type, account, at } = event;
    const reason = error.message;
    log.error('an event is buried: the bus will never take it', { id, type, account, reason });
    // What it is, not all of it: that is what was refused. The store has it for as long as it keeps events.
    const bytes = Buffer.byteLength(recordOf(event).value);
    const note = { id: id.slice(0, shownId), event: type, account, bytes };
    await bus.bury({ partition: -1, offset: -1, at, key: 'event', value: JSON.stringify(note) }, reason);
    this.#buried += 1;
  }
}

interface PublisherOptions {
  readonly store: Pick<Store, 'events'>;
  readonly bus: Pick<Bus, 'publish' | 'bury'>;
  /** Has the events of all nodes. */
  readonly hub: Pick<EventHub, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
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
function isForGood(error: unknown): error is Error {
  return error instanceof RangeError || (error instanceof Fault && error.status === 413);
}
