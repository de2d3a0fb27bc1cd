import type { Log } from '../../core/base/log.ts';
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
  const { store, plugin, clock, log, watch } = options;
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
  let stored = place === 0 ? position : place;
  const held = new Map<string, Held>();
  let isStopped = false;
  let running: Promise<void> | undefined;
  let isWanted = true;
  /** The log could not be read or the place not be stored: nothing is done before the next try. */
  let isBlocked = false;
  let isRetryDue = false;
  let cancelRetry: (() => void) | undefined;

  /** Events of one stream. At one that fails the stream is held. */
  const reactInOrder = async (stream: string, events: readonly LoggedEvent[]) => {
    for (const event of events) {
      if (isStopped) return;
      const { [event.type]: own = options.reactions['*'] } = options.reactions;
      if (!own) continue;
      const ended = watch.began(plugin, event);
      try {
        await own(event);
      } catch (error) {
        hold(stream, { event, error });
        return;
      } finally {
        ended();
      }
    }
    held.delete(stream);
  };
  const hold = (stream: string, { event, error }: { event: LoggedEvent; error: unknown }) => {
    const { id, account, position: at } = event;
    const before = held.get(stream);
    const tries = before?.position === at ? before.tries + 1 : 1;
    held.set(stream, { account, position: at, tries });
    watch.failed(plugin);
    // The first time and then ever more rarely: it may fail for a day.
    if (isStopped || (tries & (tries - 1)) !== 0) return;
    log.error('a reaction failed; trying again', { plugin, event: id, tries, error });
  };
  /** Goes on with a stream that is held, up to where the others are. */
  const resume = async (stream: string, { account, position: from }: Held) => {
    // The one that failed comes alone: it may fail for long, and each reading is work for this thread.
    for (let last = from - 1, limit = 1; last < position; limit = batch) {
      const page = await store.events.after(last, { account, limit });
      const own = page.filter((event) => streamOf(event) === stream && event.position <= position);
      await reactInOrder(stream, own);
      if (isStopped || held.has(stream)) return;
      if (page.length < limit) return;
      last = page[page.length - 1].position;
      // Until it has caught up.
      held.set(stream, { account, position: last + 1, tries: 0 });
    }
    held.delete(stream);
  };
  const storePlace = async () => {
    watch.failing(plugin, held.size);
    const first = Math.min(position + 1, ...[...held.values()].map((one) => one.position));
    const place = first - 1 || beforeAll;
    if (place === stored) return;
    await store.events.advance(consumer, place);
    stored = place;
  };
  const drain = async () => {
    while (isWanted && !isStopped) {
      isWanted = false;
      if (isRetryDue) {
        isRetryDue = false;
        // All of them, so that none is still under way when it is tried again.
        const ends = await Promise.allSettled([...held].map(([stream, one]) => resume(stream, one)));
        const failed = ends.find((end) => end.status === 'rejected');
        if (failed) throw failed.reason;
        if (isStopped) return;
        await storePlace();
      }
      while (held.size < mostHeld && !isRetryDue) {
        const events = await store.events.after(position, { limit: batch });
        if (events.length === 0 || isStopped) break;
        const free = [...byStream(events)].filter(([stream]) => !held.has(stream));
        await Promise.all(free.map(([stream, own]) => reactInOrder(stream, own)));
        if (isStopped) return;
        position = events[events.length - 1].position;
        await storePlace();
      }
    }
  };
  const wake = () => {
    isWanted = true;
    if (running || isBlocked || isStopped) return;
    running = drain()
      .catch((error: unknown) => {
        if (isStopped) return;
        isBlocked = true;
        log.error('the event log could not be read; trying again', { plugin, error });
      })
      .then(() => {
        running = undefined;
        if (isStopped) return;
        if (isBlocked || held.size > 0) retryLater();
        // An event may have come after the last look at the log.
        if (isWanted) wake();
      });
  };
  const retryLater = () => {
    cancelRetry ??= clock.at(clock.now() + retryDelay, () => {
      cancelRetry = undefined;
      isBlocked = false;
      isRetryDue = true;
      wake();
    });
  };
  const unsubscribe = options.hub.subscribe(wake);
  wake();
  return async () => {
    isStopped = true;
    unsubscribe();
    cancelRetry?.();
    await running;
    // Another node goes on with them.
    watch.failing(plugin, 0);
  };
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
