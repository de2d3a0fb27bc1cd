import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import { regularly } from '../../core/base/timing.ts';
import { forgetExpired } from '../../core/http/idempotency.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';

/** How long events are kept for `Last-Event-ID`, and causes to know repeats by, ms. */
const retention = 24 * 3_600_000;
/** How long an event is kept that the bus did not take, ms: as long as Kafka keeps what it has. Then readers outside miss it. */
const unpublishedRetention = 7 * retention;
/** How often what is too old is removed, ms. */
const sweepInterval = 3_600_000;

/**
 * Removes events and answers to repeated requests that are kept no longer: at once, for a process may never live as long as the
 * interval, and then once in it. Returns the stop, which waits for what is under way.
 */
export function sweeping(options: SweepingOptions): () => Promise<void> {
  const { store, clock, log } = options;
  const sweep = (what: string, work: () => Promise<void>) =>
    regularly(sweepInterval, {
      ...{ clock, work },
      failed: (error) => log.warn(`old ${what} could not be swept`, { error }),
    });
  const stops = [
    sweep('events', eventSweep(options)),
    sweep('answers', () => forgetExpired(store, clock.now())),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function eventSweep({ store, clock, log, metrics, publisher }: SweepingOptions): () => Promise<void> {
  if (publisher === undefined) return () => store.sweep(clock.now() - retention);
  const missed = metrics.counter(
    'millrace_events_never_published_total',
    'Events that the bus did not take for a week, and that were forgotten; readers outside miss them.',
  );
  const count = missed.with({});
  let isFirst = true;
  return async () => {
    const now = clock.now();
    const place = await store.events.cursor(publisher);
    await store.sweep(now - retention, place);
    // After a long time off, timers have just told what was due then: the publisher is given the time to pass it.
    if (isFirst) {
      isFirst = false;
      return;
    }
    const oldest = async () => (await store.events.after(place, { limit: 1 }))[0];
    const before = await oldest();
    if (!before || before.at >= now - unpublishedRetention) return;
    await store.sweep(now - unpublishedRetention);
    const next = (await oldest())?.position ?? (await store.events.last()) + 1;
    const events = next - before.position;
    count.add(events);
    log.error('events are forgotten that could not be published for a week', { events, from: before.id });
  };
}

interface SweepingOptions {
  readonly store: Pick<Store, 'resources' | 'write' | 'sweep' | 'events'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Consumer of the event log that publishes it on the bus: what it has not passed is kept longer. Absent where there is no bus. */
  readonly publisher?: string;
}
