import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent, Store } from '../../core/ports/store.ts';
import { eventLimits } from '../limits.ts';
import type { EventHub } from './events.ts';

const batch = eventLimits.reactionBatch.value;
/** A place in the log before its first event. */
const beforeAll = -1;
const retryDelay = eventLimits.reactionRetry.value;

/**
 * Runs one plugin's reactions over the event log, each at least once: the plugin's place in the log is stored after a
 * batch of them, so a crash repeats the last ones. Events of one stream go in order, those of different streams side by
 * side, so that their commits share a sync. A reaction that fails is tried again, with what else was in its batch, and
 * holds up this plugin alone. Returns the stop.
 */
export async function react(options: ReactOptions): Promise<() => Promise<void>> {
  const { store, plugin, clock } = options;
  const consumer = `reactions/${plugin}`;
  let position = await store.events.cursor(consumer);
  if (position === 0) {
    // A plugin that is switched on reacts to what happens from now on. Its place is never stored as 0 again:
    // the next start would take it for new and skip what came since.
    position = (await store.events.last()) || beforeAll;
    await store.events.advance(consumer, position);
  }
  let isStopped = false;
  let running: Promise<void> | undefined;
  let isWanted = true;
  let cancelRetry: (() => void) | undefined;

  const reactInOrder = async (events: readonly LoggedEvent[]) => {
    for (const event of events) {
      if (isStopped) return;
      const { [event.type]: own = options.reactions['*'] } = options.reactions;
      await own?.(event);
    }
  };
  const drain = async () => {
    while (isWanted && !isStopped) {
      isWanted = false;
      for (;;) {
        const events = await store.events.after(position, { limit: batch });
        if (events.length === 0 || isStopped) break;
        // All of them, so that nothing of this batch is still under way when it is tried again.
        const ends = await Promise.allSettled(byStream(events).map(reactInOrder));
        const failed = ends.find((end) => end.status === 'rejected');
        if (failed) throw failed.reason;
        if (isStopped) return;
        position = events[events.length - 1].position;
        await store.events.advance(consumer, position);
      }
    }
  };
  const wake = () => {
    isWanted = true;
    if (running || cancelRetry || isStopped) return;
    running = drain()
      .then(
        () => true,
        (error: unknown) => {
          options.log.error('a reaction failed; it is tried again', { plugin, error });
          cancelRetry = clock.at(clock.now() + retryDelay, () => {
            cancelRetry = undefined;
            wake();
          });
          return false;
        },
      )
      .then((isDrained) => {
        running = undefined;
        // An event may have come after the last look at the log.
        if (isDrained && isWanted) wake();
      });
  };
  const unsubscribe = options.hub.subscribe(wake);
  wake();
  return async () => {
    isStopped = true;
    unsubscribe();
    cancelRetry?.();
    await running;
  };
}

/** Events of one account and stream belong together, in their order. */
function byStream(events: readonly LoggedEvent[]): LoggedEvent[][] {
  const streams = new Map<string, LoggedEvent[]>();
  for (const event of events) {
    const key = `${event.account} ${event.stream}`;
    const before = streams.get(key);
    if (before) before.push(event);
    else streams.set(key, [event]);
  }
  return [...streams.values()];
}

interface ReactOptions {
  readonly plugin: string;
  readonly reactions: Readonly<Record<string, (event: LoggedEvent) => Promise<void>>>;
  readonly store: Store;
  readonly hub: EventHub;
  readonly clock: Clock;
  readonly log: Log;
}
