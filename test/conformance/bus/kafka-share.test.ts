import { expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import { lead } from '../../../runtime/drivers/bus/kafka/lead.ts';
import type { Seen } from '../../../runtime/drivers/bus/kafka/pulse.ts';
import { share } from '../../../runtime/drivers/bus/kafka/share.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { numbers, witness } from './check.ts';

async function shared(options: Parameters<typeof witness>[0] = {}) {
  const clock = virtualClock({ start: 1_000_000 });
  const owner = witness(options);
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} });
  const range = async () => ({ first: 0, next: 10_000 });
  /** Where the consumer reads on; nothing of a partition that rests. */
  const reads = new Map<number, number>();
  const mine = share({
    ...{ partitions: 2, owner, range, clock, log },
    read: (partition, from) => reads.set(partition, from),
    rest: (partition) => reads.delete(partition),
  });
  mine.give([0, 1]);
  await clock.advance(1);
  const got = async (from: number, count: number, { size = 1, late = 0 } = {}) => {
    const records = numbers(count, from).map((offset) => ({
      ...{ partition: 0, offset, at: clock.now() - late, key: 'k', value: 'x'.repeat(size) },
    }));
    mine.got(0, { records, end: from + count });
    await clock.advance(0);
  };
  /** What Kafka says of the end of the log. */
  const seen = async (next: number, more: Partial<Seen> = {}) => {
    mine.seen({ partition: 0, first: 0, next, askedAt: clock.now(), isSettled: true, ...more });
    await clock.advance(0);
  };
  return { clock, owner, mine, reads, got, seen };
}

const reachedOf = ({ owner }: Awaited<ReturnType<typeof shared>>) =>
  owner.words.flatMap((word) => (word.kind === 'reached' ? [word.at] : []));

test('records that do not follow begin the partition anew', async () => {
  const { owner, mine, reads, got, clock } = await shared();
  await got(0, 3);
  await got(4, 2);
  expect(owner.values(0)).toHaveLength(3);
  expect([...reads.keys()]).toEqual([1]);
  owner.places.set(0, 1);
  await clock.advance(200);
  expect(reads.get(0)).toBe(1);
  await got(1, 4);
  expect(owner.values(0)).toHaveLength(7);
  mine.restart(0);
  await got(5, 1);
  expect(owner.values(0)).toHaveLength(7);
  owner.check();
});

test('a log that has lost what comes next begins the partition anew', async () => {
  const { owner, got, seen, clock } = await shared();
  await got(0, 3);
  await seen(9, { first: 5 });
  await clock.advance(200);
  expect(owner.words.map(({ kind }) => kind).slice(-2)).toEqual(['revoked', 'assigned']);
  owner.check();
});

test('a full buffer is not filled further until half of it is handled, by count and by bytes', async () => {
  for (const [count, size] of [
    [1000, 1],
    [10, 300_000],
  ] as const) {
    const releases: (() => void)[] = [];
    const { clock, owner, reads, got } = await shared({
      records: () => new Promise<void>((resolve) => releases.push(resolve)),
    });
    await got(0, 1);
    await got(1, count, { size });
    expect([...reads.keys()]).toEqual([1]);
    while (releases.length > 0) {
      releases.shift()?.();
      await clock.advance(0);
    }
    expect(reads.get(0)).toBe(count + 1);
    owner.check();
  }
});

test('time is reached when what was on the log by then is handled, and Kafka has settled', async () => {
  const releases: (() => void)[] = [];
  const opened = await shared({ records: () => new Promise<void>((resolve) => releases.push(resolve)) });
  const { clock, got, seen } = opened;
  await seen(0, { isSettled: false });
  expect(reachedOf(opened)).toEqual([]);
  // The time before the question, whenever the answer came.
  const askedAt = clock.now();
  await clock.advance(90);
  await seen(0, { askedAt });
  expect(reachedOf(opened)).toEqual([askedAt]);
  await seen(2);
  await got(0, 2);
  expect(reachedOf(opened)).toHaveLength(1);
  releases.shift()?.();
  await clock.advance(0);
  expect(reachedOf(opened)).toHaveLength(2);
  opened.owner.check();
});

test('time is reached by the clock that dates the records: a machine that is ahead says less', async () => {
  const opened = await shared();
  const { clock, got, seen } = opened;
  // Old ones are no measure.
  await got(0, 1, { late: 3_600_000 });
  await seen(1);
  expect(reachedOf(opened).at(-1)).toBe(clock.now());
  await clock.advance(2000);
  await got(1, 1, { late: 1_800_000 });
  await seen(2);
  expect(reachedOf(opened).at(-1)).toBe(clock.now());
  await clock.advance(100);
  await got(2, 1, { late: 2000 });
  await clock.advance(100);
  await seen(3);
  expect(reachedOf(opened).at(-1)).toBe(clock.now() - 2000);
  // The quickest record tells how far it is at most.
  await got(3, 1, { late: 30 });
  await seen(4);
  expect(reachedOf(opened).at(-1)).toBe(clock.now() - 30);
});

test('a comparison of clocks counts for a minute or two, and the last one when there is no newer', async () => {
  const clock = virtualClock({ start: 0 });
  const { note, ms } = lead(clock);
  expect(ms()).toBe(0);
  note(-500);
  expect(ms()).toBe(500);
  await clock.advance(600_000);
  expect(ms()).toBe(500);
  note(clock.now() - 3000);
  await clock.advance(61_000);
  note(clock.now() - 3000);
  expect(ms()).toBe(3000);
  note(clock.now() + 700);
  expect(ms()).toBe(0);
});
