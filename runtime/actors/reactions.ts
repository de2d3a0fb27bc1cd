import type { Log } from '../../core/base/log.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import type { EventHub } from './events.ts';
import type { ReactionWatch } from './reaction-watch.ts';

/** Events that a plugin reacts to before its place in the log is stored: a crash repeats at most so many. */
const batch = 100;
/** Streams of one plugin that wait for another try; at so many it reacts to no other event either. */
const mostHeld = 1000;
/** Wait before a reaction that failed is tried again, ms. */
const retryDelay = 1000;
/** A place in the log before its first event. */
const beforeAll = -1;

/**
 * Runs one plugin's reactions over the event log, each at least once: the plugin's place in the log is stored after a
 * batch of them, so a crash repeats the last ones. Events of one stream go in order, those of different streams side by
 * side, so that their commits share a sync. A reaction that fails holds up its stream alone, and is tried again until it
 * succeeds or the log has forgotten the event; the stored place stays before it. Returns the stop.
 */
export async function react(options: ReactOptions): Promise<() => Promise<void>> {
  const { store, plugin } = options;
  const consumer = `reactions/${plugin}`;
  // An engine that lost its last writes may have kept a place beyond the log's end, where other events come now.
  const [place, end] = [await store.events.cursor(consumer), await store.events.last()];
  let position = Math.min(place, end || beforeAll);
  if (place === 0) {
    // A plugin that is switched on reacts to what happens from now on. Its place is never stored as 0 again:
    // the next start would take it for new and skip what came since.
    position = end || beforeAll;
    await store.events.advance(consumer, position);
  }
  const reader = new ReactionReader(options, { position, stored: place === 0 ? position : place });
  const unsubscribe = options.hub.subscribe(() => reader.wake());
  reader.wake();
  return () => {
    unsubscribe();
    return reader.stop();
  };
}

class ReactionReader {
  readonly #options: ReactOptions;
  /** Of the last event that was read. */
  #position: number;
  /** The place as it is in the store. */
  #stored: number;
  /** By stream. */
  readonly #held = new Map<string, Held>();
  #isStopped = false;
  #running: Promise<void> | undefined;
  #isWanted = true;
  /** The log could not be read or the place not be stored: nothing is done before the next try. */
  #isBlocked = false;
  #isRetryDue = false;
  #cancelRetry: (() => void) | undefined;

  constructor(options: ReactOptions, { position, stored }: { position: number; stored: number }) {
    this.#options = options;
    this.#position = position;
    this.#stored = stored;
  }

  wake(): void {
    this.#isWanted = true;
    if (this.#running || this.#isBlocked || this.#isStopped) return;
    const { log, plugin } = this.#options;
    this.#running = this.#drain()
      .catch((error: unknown) => {
        if (this.#isStopped) return;
        this.#isBlocked = true;
        log.error('the event log could not be read; trying again', { plugin, error });
      })
      .then(() => {
        this.#running = undefined;
        if (this.#isStopped) return;
        if (this.#isBlocked || this.#held.size > 0) this.#retryLater();
        // An event may have come after the last look at the log.
        if (this.#isWanted) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry?.();
    await this.#running;
    // Another node goes on with them.
    this.#options.watch.failing(this.#options.plugin, 0);
  }

  async #drain(): Promise<void> {
    const { events: log } = this.#options.store;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      if (this.#isRetryDue) {
        this.#isRetryDue = false;
        // All of them, so that none is still under way when it is tried again.
        await sideBySide([...this.#held], ([stream, one]) => this.#resume(stream, one));
        if (this.#isStopped) return;
        await this.#storePlace();
      }
      while (this.#held.size < mostHeld && !this.#isRetryDue) {
        const events = await log.after(this.#position, { limit: batch });
        if (events.length === 0 || this.#isStopped) break;
        const free = [...byStream(events)].filter(([stream]) => !this.#held.has(stream));
        await Promise.all(free.map(([stream, own]) => this.#reactInOrder(stream, own)));
        if (this.#isStopped) return;
        this.#position = events[events.length - 1].position;
        await this.#storePlace();
      }
    }
  }

  /** Events of one stream. At one that fails the stream is held. */
  async #reactInOrder(stream: string, events: readonly LoggedEvent[]): Promise<void> {
    const { reactions, plugin, watch } = this.#options;
    for (const event of events) {
      if (this.#isStopped) return;
      const { [event.type]: own = reactions['*'] } = reactions;
      if (!own) continue;
      const ended = watch.began(plugin, event);
      try {
        await own(event);
      } catch (error) {
        this.#hold(stream, { event, error });
        return;
      } finally {
        ended();
      }
    }
    this.#held.delete(stream);
  }

  #hold(stream: string, { event, error }: { event: LoggedEvent; error: unknown }): void {
    const { log, plugin, watch } = this.#options;
    const { id, account, position: at } = event;
    const before = this.#held.get(stream);
    const tries = before?.position === at ? before.tries + 1 : 1;
    this.#held.set(stream, { account, position: at, tries });
    watch.failed(plugin);
    // The first time and then ever more rarely: it may fail for a day.
    if (this.#isStopped || (tries & (tries - 1)) !== 0) return;
    log.error('a reaction failed; trying again', { plugin, event: id, tries, error });
  }

  /** Goes on with a stream that is held, up to where the others are. */
  async #resume(stream: string, { account, position: from }: Held): Promise<void> {
    // The one that failed comes alone: it may fail for long, and each reading is work for this thread.
    for (let last = from - 1, limit = 1; last < this.#position; limit = batch) {
      const page = await this.#options.store.events.after(last, { account, limit });
      const own = page.filter((event) => streamOf(event) === stream && event.position <= this.#position);
      await this.#reactInOrder(stream, own);
      if (this.#isStopped || this.#held.has(stream)) return;
      if (page.length < limit) return;
      last = page[page.length - 1].position;
      // Until it has caught up.
      this.#held.set(stream, { account, position: last + 1, tries: 0 });
    }
    this.#held.delete(stream);
  }

  async #storePlace(): Promise<void> {
    const { store, plugin, watch } = this.#options;
    watch.failing(plugin, this.#held.size);
    const first = Math.min(this.#position + 1, ...[...this.#held.values()].map((one) => one.position));
    const place = first - 1 || beforeAll;
    if (place === this.#stored) return;
    await store.events.advance(`reactions/${plugin}`, place);
    this.#stored = place;
  }

  #retryLater(): void {
    const { clock } = this.#options;
    this.#cancelRetry ??= clock.at(clock.now() + retryDelay, () => {
      this.#cancelRetry = undefined;
      this.#isBlocked = false;
      this.#isRetryDue = true;
      this.wake();
    });
  }
}

/** A stream that waits at an event whose reaction failed. */
interface Held {
  readonly account: string;
  /** Of the event. */
  readonly position: number;
  readonly tries: number;
}

/** Events of one account and stream belong together, in their order. */
function byStream(events: readonly LoggedEvent[]): Map<string, LoggedEvent[]> {
  const streams = new Map<string, LoggedEvent[]>();
  for (const event of events) {
    const stream = streamOf(event);
    const before = streams.get(stream);
    if (before) before.push(event);
    else streams.set(stream, [event]);
  }
  return streams;
}

function streamOf({ account, stream }: LoggedEvent): string {
  return `${account} ${stream}`;
}

interface ReactOptions {
  readonly plugin: string;
  readonly reactions: Readonly<Record<string, (event: LoggedEvent) => Promise<void>>>;
  readonly store: Store;
  readonly hub: Pick<EventHub, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly watch: ReactionWatch;
}
