import { expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { Link, RawBroker } from '../../../runtime/drivers/bus/kafka/link.ts';
import { type Fetched, reader } from '../../../runtime/drivers/bus/kafka/reader.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

interface Question {
  readonly node: string;
  readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[];
}

/** Two brokers, and what they answer each partition; an answer takes `takes` ms. */
function scripted(options: { leaders: Map<number, string>; takes?: number }) {
  const { leaders, takes = 80 } = options;
  const clock = virtualClock({ start: 1_000_000 });
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} });
  const questions: Question[] = [];
  const fetched: (Fetched & { heardAt: number })[] = [];
  const lost: (readonly [number, number])[] = [];
  const counts = { renewed: 0, forgotten: 0, missing: 0 };
  const failing = new Map<number | string, { type?: string }>();
  const wants = new Map<number, number>();

  const broker = (node: string) => ({
    async fetch({ topics }: { topics: { partitions: Question['partitions'] }[] }) {
      const partitions = topics.flatMap((topic) => topic.partitions);
      questions.push({ node, partitions });
      await new Promise<void>((resolve) => void clock.at(clock.now() + takes, resolve));
      const down = failing.get(node);
      if (down) throw Object.assign(new Error('as asked'), down);
      for (const { partition } of partitions) {
        const error = failing.get(partition);
        if (error) throw Object.assign(new Error('as asked'), error);
      }
      return {
        responses: [
          {
            partitions: partitions.map(({ partition, fetchOffset }) => ({
              partition,
              highWatermark: '100',
              // A batch comes whole, from before what was asked for.
              messages: [Number(fetchOffset) - 1, Number(fetchOffset)].map((offset) => ({
                offset: String(offset),
                timestamp: '5',
                key: null,
                value: Buffer.from(`${offset}`),
              })),
            })),
          },
        ],
      };
    },
  });
  const link: Link = {
    leaders: async () => leaders,
    broker: async (node) => broker(node) as unknown as RawBroker,
    range: async () => ({ first: 0, next: 0 }),
    forget: () => {
      counts.forgotten += 1;
    },
    renew: () => {
      counts.renewed += 1;
    },
    close: () => {},
  };
  const reading = reader({
    link,
    topic: 't',
    clock,
    log,
    wanted: () => wants,
    got: (one) => fetched.push({ ...one, heardAt: clock.now() }),
    outOfRange: (...one) => {
      lost.push(one);
      wants.delete(one[0]);
    },
    missing: () => {
      counts.missing += 1;
    },
  });
  const of = (partition: number) => fetched.filter((one) => one.partition === partition);
  return { clock, questions, fetched, of, lost, counts, failing, wants, reading };
}

const oneLeader = () => new Map([0, 1, 2].map((partition) => [partition, '1'] as const));

test('what comes is dated before its question, without what lies before, and settles after a second', async () => {
  const { clock, wants, of, reading } = scripted({ leaders: oneLeader() });
  wants.set(0, 7);
  await clock.advance(3000);
  reading.close();
  for (const { askedAt, heardAt, from, records, end } of of(0)) {
    expect(heardAt - askedAt).toBe(80);
    expect([from, end]).toEqual([7, 100]);
    expect(records).toEqual([{ partition: 0, offset: 7, at: 5, key: '', value: '7' }]);
  }
  const settled = of(0).findIndex(({ isSettled }) => isSettled);
  const [first, at] = [of(0)[0]!, of(0)[settled]!];
  expect(at.askedAt - first.heardAt).toBeGreaterThanOrEqual(1000);
  expect(at.askedAt - first.heardAt).toBeLessThan(1100);
});

test('a slow broker holds up no other, and each has one question at a time', async () => {
  const leaders = new Map([
    [0, '1'],
    [1, '2'],
  ]);
  const { clock, wants, of, questions, failing, reading } = scripted({ leaders });
  wants.set(0, 1).set(1, 1);
  failing.set('2', {});
  await clock.advance(2000);
  reading.close();
  expect(of(0).length).toBeGreaterThan(20);
  expect(of(1)).toEqual([]);
  expect(
    questions.filter(({ node }) => node === '1').every(({ partitions }) => partitions.length === 1),
  ).toBe(true);
});

test('one partition in trouble holds up no other of its broker', async () => {
  const { clock, wants, of, failing, counts, reading } = scripted({ leaders: oneLeader() });
  wants.set(0, 1).set(1, 1).set(2, 1);
  failing.set(1, { type: 'CORRUPT_MESSAGE' });
  await clock.advance(3000);
  expect(of(0).length).toBeGreaterThan(3);
  expect(of(2).length).toBeGreaterThan(3);
  expect(of(0).some(({ isSettled }) => isSettled)).toBe(false);
  expect(counts.forgotten).toBeGreaterThan(0);
  expect(counts.renewed).toBe(0);
  failing.clear();
  await clock.advance(3000);
  reading.close();
  expect(of(1).some(({ isSettled }) => isSettled)).toBe(true);
});

test('an offset that is not on the log is told, once and of its partition, alone or among others', async () => {
  const { clock, wants, of, failing, lost, reading } = scripted({ leaders: oneLeader() });
  failing.set(1, { type: 'OFFSET_OUT_OF_RANGE' });
  wants.set(1, 9);
  await clock.advance(500);
  expect(lost).toEqual([[1, 9]]);
  wants.set(0, 1).set(1, 8);
  reading.wake();
  await clock.advance(500);
  reading.close();
  expect(lost).toEqual([
    [1, 9],
    [1, 8],
  ]);
  expect(of(0).length).toBeGreaterThan(0);
});

test('a topic that is not there is told, and looked for again', async () => {
  const { clock, wants, of, failing, counts, reading } = scripted({ leaders: oneLeader() });
  wants.set(0, 1).set(1, 1);
  failing.set(0, { type: 'UNKNOWN_TOPIC_OR_PARTITION' }).set(1, { type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  await clock.advance(1000);
  expect(counts.missing).toBeGreaterThan(0);
  failing.clear();
  await clock.advance(1500);
  reading.close();
  expect(of(0).length).toBeGreaterThan(0);
});

test('a connection that breaks is made anew, with waits that grow, and settles again', async () => {
  const { clock, wants, of, failing, counts, questions, reading } = scripted({ leaders: oneLeader() });
  wants.set(0, 1);
  await clock.advance(2000);
  expect(of(0).at(-1)?.isSettled).toBe(true);
  failing.set('1', {});
  const before = questions.length;
  await clock.advance(10_000);
  expect(counts.renewed).toBeGreaterThan(5);
  expect(questions.length - before).toBeLessThan(20);
  failing.clear();
  const count = of(0).length;
  await clock.advance(1500);
  expect(of(0)[count]?.isSettled).toBe(false);
  await clock.advance(1500);
  expect(of(0).at(-1)?.isSettled).toBe(true);
  reading.close();
  await clock.advance(2000);
  expect(clock.pending()).toBe(0);
});
