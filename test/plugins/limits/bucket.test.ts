import { expect, it } from 'vitest';
import { Bucket, type Rate } from '../../../plugins/limits/bucket.ts';
import { Buckets } from '../../../plugins/limits/buckets.ts';
import { randomOf } from '../../kit/random.ts';

/** A client with several requests in flight, each sent again when `Retry-After` is over, and another when it is answered. */
function simulated(
  rate: Rate,
  { workers, duration, seed }: { workers: number; duration: number; seed: number },
) {
  const chance = randomOf(seed);
  const bucket = new Bucket(rate, 0);
  const seen = { twice: 0, refused: 0, accepted: 0 };
  const events: { at: number; worker: number; isGoingOn?: true }[] = [];
  const add = (event: (typeof events)[number]) => {
    events.push(event);
    events.sort((a, b) => a.at - b.at);
  };
  const wasRefused = new Set<number>();
  for (let worker = 0; worker < workers; worker += 1) add({ at: chance() * 50, worker });
  for (let event = events.shift(); event && event.at < duration; event = events.shift()) {
    const { at: now, worker, isGoingOn } = event;
    if (isGoingOn) {
      bucket.held -= 1;
      add({ at: now + chance() * 20, worker });
      continue;
    }
    const verdict = bucket.take(rate, { cost: chance() < 0.1 ? 2 : 1, now, mayHold: true });
    if ('retryAfter' in verdict) {
      seen.refused += 1;
      if (wasRefused.has(worker)) seen.twice += 1;
      wasRefused.add(worker);
      // Timers are late, never early.
      add({ at: now + verdict.retryAfter * 1000 + chance() * 30, worker });
      continue;
    }
    seen.accepted += 1;
    wasRefused.delete(worker);
    bucket.held += 1;
    add({ at: now + verdict.wait, worker, isGoingOn: true });
  }
  return seen;
}

it.each([
  [{ perSecond: 5, burst: 10 }, 1],
  [{ perSecond: 5, burst: 10 }, 8],
  [{ perSecond: 5, burst: 10 }, 60],
  [{ perSecond: 1, burst: 1 }, 10],
  [{ perSecond: 100, burst: 1000 }, 200],
])(
  'of %j: %i requests in flight that respect Retry-After are never refused twice in a row',
  (rate, workers) => {
    const duration = 60_000;
    for (let seed = 0; seed < 3; seed += 1) {
      const { twice, refused, accepted } = simulated(rate, { workers, duration, seed });
      expect(twice).toBe(0);
      expect(refused).toBeGreaterThan(0);
      // The rate holds all the same, and it is used.
      const most = rate.burst + (rate.perSecond * duration) / 1000;
      expect(accepted).toBeLessThanOrEqual(most + workers);
      expect(accepted).toBeGreaterThan(most * 0.4);
    }
  },
);

it('has no more for a client that does not wait', () => {
  const rate = { perSecond: 5, burst: 10 };
  const bucket = new Bucket(rate, 0);
  let accepted = 0;
  for (let now = 0; now < 60_000; now += 10) {
    const verdict = bucket.take(rate, { cost: 1, now, mayHold: false });
    if (!('retryAfter' in verdict)) accepted += 1;
    else expect(verdict.retryAfter).toBeLessThanOrEqual(60);
  }
  expect(accepted).toBeLessThanOrEqual(10 + 5 * 60);
});

it('takes no more than it has for one request, and a clock that is set back changes nothing', () => {
  const rate = { perSecond: 1, burst: 5 };
  const bucket = new Bucket(rate, 100_000);
  expect(bucket.take(rate, { cost: 50, now: 100_000, mayHold: true })).toEqual({ wait: 0 });
  expect(bucket.left(rate)).toEqual({ remaining: 0, reset: 5 });
  expect(bucket.take(rate, { cost: 1, now: 50_000, mayHold: true })).toEqual({ retryAfter: 1 });
});

it('remembers a bounded number of clients, those that came last', () => {
  const rate = { perSecond: 1, burst: 5 };
  const buckets = new Buckets({ most: 1000 });
  const last = buckets.of('last', { rate, now: 0 });
  last.take(rate, { cost: 5, now: 0, mayHold: false });
  for (let client = 0; client < 5000; client += 1) {
    buckets.of(`client-${client}`, { rate, now: 0 });
    expect(buckets.of('last', { rate, now: 0 })).toBe(last);
  }
  expect(buckets.size).toBeLessThanOrEqual(1001);
});
