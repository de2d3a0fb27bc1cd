import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { quota, recountInterval } from '../../core/http/quota.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const full = new Fault('test.too_many', { status: 403, message: 'Full.' });

/** A quota of three over what `stored` holds, and how often that was counted. */
function given(stored: { rows: number }) {
  const clock = virtualClock({ start: 0 });
  let counts = 0;
  const places = quota({
    clock,
    most: 3,
    async count() {
      counts += 1;
      if (stored.rows < 0) throw new Error('the store does not answer');
      return stored.rows;
    },
    full: () => full,
  });
  return { clock, places, counts: () => counts };
}

describe('a quota', () => {
  it('counts what is stored once, and from then on by itself', async () => {
    const { places, counts } = given({ rows: 1 });
    await places.admit('a');
    await places.admit('a');
    await expect(places.admit('a')).rejects.toBe(full);
    expect(counts()).toBe(1);
  });

  it('has room for each account apart, and again when something was deleted', async () => {
    const { places } = given({ rows: 2 });
    await places.admit('a');
    await places.admit('b');
    await expect(places.admit('a')).rejects.toBe(full);
    places.gone('a');
    await places.admit('a');
    await expect(places.admit('b')).rejects.toBe(full);
  });

  it('takes several places or none', async () => {
    const { places } = given({ rows: 1 });
    await expect(places.admit('a', 3)).rejects.toBe(full);
    await places.admit('a', 2);
  });

  it('looks again when it seems used up, but not for every refusal', async () => {
    const stored = { rows: 3 };
    const { clock, places, counts } = given(stored);
    await expect(places.admit('a')).rejects.toBe(full);
    stored.rows = 0;
    await expect(places.admit('a')).rejects.toBe(full);
    expect(counts()).toBe(1);
    await clock.advance(recountInterval);
    await places.admit('a');
    expect(counts()).toBe(2);
  });

  it('admits no more than there is room for when many come at one time', async () => {
    const { places } = given({ rows: 0 });
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => places.admit('a')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });

  it('counts again after a count that failed', async () => {
    const stored = { rows: -1 };
    const { places } = given(stored);
    await expect(places.admit('a')).rejects.toThrow('does not answer');
    stored.rows = 0;
    await places.admit('a');
  });

  it('does not keep anybody waiting for a sum that takes long, but for the first', async () => {
    const clock = virtualClock({ start: 0 });
    const sums: ((bytes: number) => void)[] = [];
    const places = quota({
      ...{ clock, most: 100, staleAfter: 1000, full: () => full },
      count: () => new Promise<number>((resolve) => sums.push(resolve)),
    });
    const first = places.admit('a', 10);
    await new Promise<void>((resolve) => setImmediate(resolve));
    sums[0]?.(20);
    await first;
    await clock.advance(1000);
    // The second sum is not there yet: what was known counts, with what was taken since.
    await places.admit('a', 60);
    await expect(places.admit('a', 20)).rejects.toBe(full);
    expect(sums).toHaveLength(2);
    sums[1]?.(40);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(await places.used('a')).toBe(100);
  });
});
