import { expect } from 'vitest';
import { type BusCheck, numbers, witness } from './check.ts';

/** Up to when a log is known. */
export const reachedChecks: readonly BusCheck[] = [
  {
    name: 'an idle partition is known up to now, again and again',
    async run({ node, partitions, pass, until, now }) {
      const bus = await node('a');
      const owner = witness();
      await bus.own(owner);
      const lastOf = (partition: number) =>
        owner.words.findLast((word) => word.kind === 'reached' && word.partition === partition);
      await until('all', () => numbers(partitions).every((partition) => lastOf(partition)));
      const from = owner.words.length;
      await pass(3000);
      for (const partition of numbers(partitions)) {
        const word = lastOf(partition);
        expect(word?.kind === 'reached' ? now() - word.at : Number.NaN).toBeLessThan(2000);
        const times = owner.words
          .slice(from)
          .filter((one) => one.kind === 'reached' && one.partition === partition);
        // Every 250 ms; half of it on a machine that does other things too.
        expect(times.length).toBeGreaterThanOrEqual(6);
      }
      owner.check();
    },
  },
  {
    name: 'it is never said too early: what was acknowledged before has been handled',
    async run({ node, partitions, pass, until, now }) {
      const [sender, bus] = [await node('a'), await node('b')];
      /** When each record of a partition was acknowledged, at the latest. */
      const acknowledged = numbers(partitions).map(() => [] as { value: string; at: number }[]);
      const handled = new Set<string>();
      let compared = 0;
      const early: string[] = [];
      const owner = witness({
        async records(_, records) {
          await pass(records.length % 3);
          for (const { value } of records) handled.add(value);
        },
        reached(partition, at) {
          if (at > now()) early.push(`${at}, and it is ${now()}`);
          for (const { value, at: then } of acknowledged[partition]!) {
            if (then >= at) continue;
            compared += 1;
            if (!handled.has(value)) early.push(`${value} of ${then} at ${at}`);
          }
        },
      });
      await bus.own(owner);
      let value = 0;
      const seed = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9];
      for (const round of numbers(120)) {
        const burst = seed[round % seed.length]!;
        await Promise.all(
          numbers(burst).map(async (n) => {
            const partition = (round + n) % partitions;
            const own = `${++value}`;
            await sender.send({ partition, key: 'k', value: own });
            acknowledged[partition]!.push({ value: own, at: now() });
          }),
        );
        await pass(burst * 3);
        if (round % 40 === 39) bus.restart(round % partitions);
      }
      await until('all', () => handled.size === value);
      await pass(600);
      expect(early).toEqual([]);
      expect(compared).toBeGreaterThan(value);
      owner.check();
    },
  },
  {
    name: 'while records are not handled their time is not reached',
    async run({ node, pass, until }) {
      const bus = await node('a');
      let release = () => {};
      const wait = new Promise<void>((resolve) => {
        release = resolve;
      });
      const owner = witness({ records: () => wait });
      await bus.own(owner);
      await until('known', () =>
        owner.words.some(({ kind, partition }) => kind === 'reached' && partition === 0),
      );
      await bus.send({ partition: 0, key: 'k', value: 'a' });
      await until('delivery', () => owner.values(0).length === 1);
      const at = owner.words.length;
      await pass(1000);
      const after = () =>
        owner.words.slice(at).filter(({ kind, partition }) => kind === 'reached' && partition === 0);
      expect(after()).toEqual([]);
      release();
      await until('known again', () => after().length > 0);
      owner.check();
    },
  },
];
