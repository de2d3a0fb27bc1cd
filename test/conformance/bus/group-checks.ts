import { expect } from 'vitest';
import { type BusCheck, held, numbers, witness } from './check.ts';

/** Who has which partition, among several nodes. */
export const groupChecks: readonly BusCheck[] = [
  {
    name: 'three nodes share all partitions, each has some, and all is consumed',
    async run({ node, partitions, until }) {
      const buses = await Promise.all(['a', 'b', 'c'].map((name) => node(name)));
      const places = new Map<number, number>();
      const owners = buses.map(() => witness({ places }));
      for (const [index, bus] of buses.entries()) await bus.own(owners[index]!);
      const all = numbers(partitions);
      await until(
        'shares',
        () => `${held(...owners)}` === `${all}` && owners.every(({ has }) => has.size > 0),
      );
      await Promise.all(
        numbers(60).map((n) => buses[n % 3]!.send({ partition: n % partitions, key: 'k', value: `${n}` })),
      );
      await until('delivery', () => owners.flatMap((owner) => owner.values()).length >= 60);
      const values = owners.flatMap((owner) => owner.values());
      expect(values.map(Number).sort((a, b) => a - b)).toEqual(numbers(60));
      for (const owner of owners) owner.check();
    },
  },
  {
    name: 'when a node leaves, others begin where their owner says, not where the last one was',
    async run({ node, partitions, until }) {
      const [first, second] = [await node('a'), await node('b')];
      const leaving = witness();
      const leave = await first.own(leaving);
      await until('all', () => held(leaving).length === partitions);
      for (const n of numbers(6)) await first.send({ partition: n % 2, key: 'k', value: `${n}` });
      await until('delivery', () => leaving.values().length === 6);
      // Older than what was handled, and newer.
      const staying = witness({
        places: new Map([
          [0, 1],
          [1, 2],
        ]),
      });
      await second.own(staying);
      await leave();
      expect(held(leaving)).toEqual([]);
      await until('take-over', () => held(staying).length === partitions);
      await second.send({ partition: 0, key: 'k', value: '6' });
      await second.send({ partition: 1, key: 'k', value: '7' });
      const own = (partition: number) => staying.values(partition).at(-1);
      await until('delivery', () => own(0) === '6' && own(1) === '7');
      expect(new Set(staying.values(0))).toEqual(new Set(['2', '4', '6']));
      expect(new Set(staying.values(1))).toEqual(new Set(['5', '7']));
      leaving.check();
      staying.check();
    },
  },
  {
    name: 'nodes that come and go under way: every record is handled, in order for each partition',
    async run({ node, partitions, until, pass }) {
      // The place is shared, as in a store, and handled only by who has the partition: a copy may be delivered twice.
      const places = new Map<number, number>();
      const handled = new Map<number, string[]>(numbers(partitions).map((partition) => [partition, []]));
      const record = (partition: number, records: readonly { offset: number; value: string }[]) => {
        for (const { offset, value } of records) {
          if (offset < (places.get(partition) ?? 0)) continue;
          expect(offset).toBe(places.get(partition) ?? 0);
          places.set(partition, offset + 1);
          handled.get(partition)?.push(value);
        }
        return Promise.resolve();
      };
      const fresh = () =>
        witness({
          assigned: async (partition, { first }) => places.get(partition) ?? first,
          records: record,
        });
      const buses = await Promise.all(['a', 'b', 'c'].map((name) => node(name)));
      const owners = [fresh()];
      await buses[0]!.own(owners[0]!);
      const count = 400;
      const sending = (async () => {
        for (const n of numbers(count))
          await buses[0]!.send({ partition: n % partitions, key: 'k', value: `${n}` });
      })();
      const leaves: (() => Promise<void>)[] = [];
      for (const index of [1, 2]) {
        const owner = fresh();
        owners.push(owner);
        leaves.push(await buses[index]!.own(owner));
        await pass(400);
      }
      for (const leave of leaves) {
        await leave();
        await pass(400);
      }
      await sending;
      await until('all', () => [...handled.values()].flat().length >= count);
      for (const partition of numbers(partitions))
        expect(handled.get(partition)).toEqual(
          numbers(count)
            .filter((n) => n % partitions === partition)
            .map(String),
        );
      for (const owner of owners) owner.check();
    },
  },
  {
    name: 'without a partition restart() does nothing, and lags tells of those a node has',
    async run({ node, partitions, until }) {
      const bus = await node('a');
      expect(bus.lags()).toEqual([]);
      bus.restart(0);
      const owner = witness();
      await bus.own(owner);
      await until('lags', () => bus.lags().length === partitions);
      expect(bus.lags().every(({ records }) => records === 0)).toBe(true);
      expect(owner.words.filter(({ kind }) => kind === 'revoked')).toEqual([]);
      bus.restart(partitions + 5);
    },
  },
];
