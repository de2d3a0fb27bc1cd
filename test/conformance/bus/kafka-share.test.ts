import { expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import { lead } from '../../../runtime/drivers/bus/kafka/lead.ts';
import type { Fetched } from '../../../runtime/drivers/bus/kafka/reader.ts';
import { share } from '../../../runtime/drivers/bus/kafka/share.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { numbers, witness } from './check.ts';

async function shared(options: Parameters<typeof witness>[0] = {}) {
  const clock = virtualClock({ start: 1_000_000 });
  const owner = witness(options);
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} });
  const range = async () => ({ first: 0, next: 10_000 });
  const mine = share({ partitions: 2, owner, range, wake: () => {}, clock, log });
  mine.give([0, 1]);
  await clock.advance(1);
  const got = async (
    from: number,
    count: number,
    more: Partial<Fetched> & { size?: number; late?: number } = {},
  ) => {
    const { size = 1, late = 0, ...rest } = more;
    const records = numbers(count, from).map((offset) => ({
      partition: 0,
      offset,
      at: clock.now() - late,
      key: 'k',
      value: 'x'.repeat(size),
    }));
    mine.got({
      partition: 0,
      from,
      records,
      end: from + count,
      askedAt: clock.now(),
      isSettled: true,
      ...rest,
    });
    await clock.advance(0);
  };
  return { clock, owner, mine, got };
}

const reachedOf = ({ owner }: Awaited<ReturnType<typeof shared>>) =>
  owner.words.flatMap((word) => (word.kind === 'reached' ? [word.at] : []));

test('an answer to a question from before a restart is dropped', async () => {
  const opened = await shared();
  await opened.got(0, 3);
  opened.mine.restart(0);
  await opened.got(3, 2);
  expect(opened.owner.values(0)).toHaveLength(3);
  opened.owner.places.set(0, 1);
  await opened.clock.advance(200);
  await opened.got(3, 2);
  expect(opened.owner.values(0)).toHaveLength(3);
  await opened.got(1, 4);
  expect(opened.owner.values(0)).toHaveLength(7);
  opened.owner.check();
});

test('a full buffer is not filled further until half of it is handled, by count and by bytes', async () => {
  for (const [count, size] of [
    [1000, 1],
    [10, 300_000],
  ] as const) {
    const releases: (() => void)[] = [];
    const opened = await shared({ records: () => new Promise<void>((resolve) => releases.push(resolve)) });
    await opened.got(0, 1);
    await opened.got(1, count, { size });
    expect([...opened.mine.wanted().keys()]).toEqual([1]);
    while (releases.length > 0) {
      releases.shift()?.();
      await opened.clock.advance(0);
    }
    expect(opened.mine.wanted().get(0)).toBe(count + 1);
    opened.owner.check();
  }
});

test('time is reached when the end was seen, what was read is handled, and the leader has settled', async () => {
  const releases: (() => void)[] = [];
  const opened = await shared({ records: () => new Promise<void>((resolve) => releases.push(resolve)) });
  await opened.got(0, 0, { isSettled: false });
  await opened.got(0, 0, { end: 5 });
  expect(reachedOf(opened)).toEqual([]);
  // The time before the question, whenever the answer came.
  const askedAt = opened.clock.now();
  await opened.clock.advance(90);
  await opened.got(0, 0, { askedAt });
  expect(reachedOf(opened)).toEqual([askedAt]);
  await opened.got(0, 2);
  expect(reachedOf(opened)).toHaveLength(1);
  releases.shift()?.();
  await opened.clock.advance(0);
  expect(reachedOf(opened)).toHaveLength(2);
  opened.owner.check();
});

test('time is reached by the clock that dates the records: a machine that is ahead says less', async () => {
  const opened = await shared();
  // Old ones are no measure.
  await opened.got(0, 1, { late: 3_600_000 });
  expect(reachedOf(opened).at(-1)).toBe(opened.clock.now());
  await opened.clock.advance(2000);
  await opened.got(1, 1, { late: 1_800_000 });
  expect(reachedOf(opened).at(-1)).toBe(opened.clock.now());
  await opened.clock.advance(100);
  await opened.got(2, 1, { late: 2000 });
  await opened.clock.advance(100);
  await opened.got(3, 0);
  const now = opened.clock.now();
  expect(reachedOf(opened).at(-1)).toBe(now - 2000);
  // The quickest record tells how far it is at most.
  await opened.got(3, 1, { late: 30 });
  expect(reachedOf(opened).at(-1)).toBe(opened.clock.now() - 30);
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
