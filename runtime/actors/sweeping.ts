import type { Log } from '../../core/base/log.ts';
import { regularly } from '../../core/base/timing.ts';
import { forgetExpired } from '../../core/http/idempotency.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';

/** How long events are kept for `Last-Event-ID`, and causes to know repeats by, ms. */
const retention = 24 * 3_600_000;
/** How often what is too old is removed, ms. */
const sweepInterval = 3_600_000;

/**
 * Removes events and answers to repeated requests that are kept no longer: at once, for a process may never live as long as the
 * interval, and then once in it. Returns the stop, which waits for what is under way.
 */
export function sweeping(options: {
  readonly store: Pick<Store, 'resources' | 'write' | 'sweep'>;
  readonly clock: Clock;
  readonly log: Log;
}): () => Promise<void> {
  const { store, clock, log } = options;
  const sweep = (what: string, work: () => Promise<void>) =>
    regularly(sweepInterval, {
      ...{ clock, work },
      failed: (error) => log.warn(`old ${what} could not be swept`, { error }),
    });
  const stops = [
    sweep('events', () => store.sweep(clock.now() - retention)),
    sweep('answers', () => forgetExpired(store, clock.now())),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}
