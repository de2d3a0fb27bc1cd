import { expect, test } from 'vitest';
import { Holding } from '../../../runtime/drivers/bus/holding.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { numbers, witness } from './check.ts';

async function holding(options: Parameters<typeof witness>[0] = {}) {
  const clock = virtualClock({ start: 1_000_000 });
  const owner = witness(options);
  /** Where the engine reads on; undefined while it rests. */
  const engine = { reads: undefined as number | undefined };
  const feed = {
    range: async () => ({ first: 0, next: 10_000 }),
    read(_: number, from: number) {
      engine.reads = from;
    },
    rest() {
      engine.reads = undefined;
    },
  };
  const held = new Holding(0, { owner, feed, clock, log: silentLog });
  held.take();
  await clock.advance(1);
  const got = async (from: number, count: number, { size = 1 } = {}) => {
    const records = numbers(count, from).map((offset) => ({
      ...{ partition: 0, offset, at: clock.now(), key: 'k', value: 'x'.repeat(size) },
    }));
    held.got(records, from + count);
    await clock.advance(0);
  };
  return { clock, owner, held, engine, got };
}

test('records that do not follow begin the partition anew', async () => {
  const { owner, held, engine, got, clock } = await holding();
  await got(0, 3);
  await got(4, 2);
  expect(owner.values(0)).toHaveLength(3);
  expect(engine.reads).toBeUndefined();
  owner.places.set(0, 1);
  await clock.advance(200);
  expect(engine.reads).toBe(1);
  await got(1, 4);
  expect(owner.values(0)).toHaveLength(7);
  held.restart();
  await got(5, 1);
  expect(owner.values(0)).toHaveLength(7);
  owner.check();
});

test('while too many wait for the owner no more are read, by count and by bytes', async () => {
  for (const [count, size] of [
    [1000, 1],
    [10, 300_000],
  ] as const) {
    const releases: (() => void)[] = [];
    const { clock, owner, engine, got, held } = await holding({
      records: () => new Promise<void>((resolve) => releases.push(resolve)),
    });
    await got(0, 1);
    expect(engine.reads).toBe(0);
    await got(1, count, { size });
    expect(engine.reads).toBeUndefined();
    expect(held.lag).toBe(count + 1);
    // What was on its way comes again later.
    await got(count + 1, 5);
    while (releases.length > 0) {
      releases.shift()?.();
      await clock.advance(0);
    }
    expect(engine.reads).toBe(count + 1);
    expect(owner.values(0)).toHaveLength(count + 1);
    expect(held.lag).toBe(0);
    owner.check();
  }
});
