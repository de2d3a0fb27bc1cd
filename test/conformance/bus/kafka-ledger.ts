import { expect } from 'vitest';
import { numbers, witness } from './check.ts';
import type { OpenedKafka } from './kafka-opened.ts';

/** What several owners have handled, as a store would keep it: each record once, in order, whoever has the partition. */
export function ledger(partitions: number) {
  const places = new Map<number, number>();
  const values = new Map<number, string[]>(numbers(partitions).map((partition) => [partition, []]));
  const skipped: string[] = [];
  const owner = () =>
    witness({
      assigned: async (partition, { first }) => places.get(partition) ?? first,
      async records(partition, records) {
        for (const { offset, value } of records) {
          const place = places.get(partition) ?? 0;
          if (offset < place) continue;
          if (offset > place) skipped.push(`${partition}: ${place} to ${offset}`);
          places.set(partition, offset + 1);
          values.get(partition)?.push(value);
        }
      },
    });
  return { owner, values, skipped, all: () => [...values.values()].flat() };
}

/** Sends numbered records without end, a few at a time, each again until it is acknowledged or unknown. */
export function sender(opened: OpenedKafka, bus: Awaited<ReturnType<OpenedKafka['node']>>) {
  const acknowledged: string[] = [];
  const failed: { value: string; code: string; after: number }[] = [];
  let isOn = true;
  const lane = async (partition: number) => {
    for (let n = 0; isOn; n++) {
      const value = `${partition}/${n}`;
      const from = Date.now();
      try {
        await bus.send({ partition, key: 'k', value });
        acknowledged.push(value);
      } catch (error) {
        failed.push({ value, code: (error as { code: string }).code, after: Date.now() - from });
      }
      await opened.pass(10);
    }
  };
  const done = Promise.all(numbers(opened.partitions).map(lane));
  return {
    acknowledged,
    failed,
    async stop() {
      isOn = false;
      await done;
    },
  };
}

/** Every acknowledged record is there once, in its order; nothing is there twice. */
export function expectComplete(kept: ReturnType<typeof ledger>, acknowledged: readonly string[]): void {
  expect(kept.skipped).toEqual([]);
  const all = kept.all();
  expect(new Set(all).size).toBe(all.length);
  const there = new Set(all);
  expect(acknowledged.filter((value) => !there.has(value))).toEqual([]);
  for (const values of kept.values.values()) {
    const order = values.map((value) => Number(value.split('/')[1]));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }
}
