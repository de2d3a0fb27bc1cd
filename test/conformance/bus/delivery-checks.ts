import { expect } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { recordLimits } from '../../../runtime/drivers/bus/checks.ts';
import { type BusCheck, held, numbers, witness } from './check.ts';

/** What is sent is delivered, in order, once for each ownership. */
export const deliveryChecks: readonly BusCheck[] = [
  {
    name: 'a command is delivered as it was sent, with partition, offset and time',
    async run({ node, until, now }) {
      const bus = await node('a');
      const owner = witness();
      await bus.own(owner);
      const value = JSON.stringify({ text: 'ü \u0000 "quoted" 🎬', n: [1, null] });
      const before = now();
      await bus.send({ partition: 1, key: 'actor/ü', value });
      await until('delivery', () => owner.values().length === 1);
      const record = owner.words.flatMap((word) => (word.kind === 'records' ? word.records : []))[0];
      expect(record).toEqual({ partition: 1, offset: 0, at: expect.any(Number), key: 'actor/ü', value });
      expect(Math.abs((record?.at ?? 0) - before)).toBeLessThan(30_000);
      owner.check();
    },
  },
  {
    name: 'what is sent one after the other, and at once, is delivered in its order and once',
    async run({ node, partitions, until }) {
      const bus = await node('a');
      const owner = witness();
      await bus.own(owner);
      for (const index of numbers(20)) await bus.send({ partition: 0, key: 'a', value: `${index}` });
      await Promise.all(
        numbers(1500, 20).flatMap((index) =>
          numbers(Math.min(2, partitions)).map((partition) =>
            bus.send({ partition, key: 'a', value: `${index}` }),
          ),
        ),
      );
      await until('delivery', () => owner.values().length >= 1520 + 1500);
      expect(owner.values(0)).toEqual(numbers(1520).map(String));
      expect(owner.values(1)).toEqual(numbers(1500, 20).map(String));
      owner.check();
    },
  },
  {
    name: 'what was acknowledged before anybody owned it is delivered',
    async run({ node, until }) {
      const [sender, consumer] = [await node('a'), await node('b')];
      await Promise.all(numbers(700).map((n) => sender.send({ partition: 1, key: 'k', value: `${n}` })));
      const owner = witness();
      await consumer.own(owner);
      await until('delivery', () => owner.values().length >= 700);
      expect(owner.values(1)).toEqual(numbers(700).map(String));
      const word = owner.words.find(({ kind, partition }) => kind === 'assigned' && partition === 1);
      expect(word).toMatchObject({ range: { first: 0, next: 700 }, from: 0 });
      owner.check();
    },
  },
  {
    name: 'delivery begins where the owner says, also at the end of the log',
    async run({ node, pass, until }) {
      const bus = await node('a');
      for (const n of numbers(10)) await bus.send({ partition: n < 5 ? 0 : 1, key: 'k', value: `${n}` });
      const owner = witness({
        places: new Map([
          [0, 3],
          [1, 5],
        ]),
      });
      await bus.own(owner);
      await until('delivery', () => owner.values().length >= 2);
      await pass(600);
      expect(owner.values()).toEqual(['3', '4']);
      await bus.send({ partition: 1, key: 'k', value: 'next' });
      await until('delivery', () => owner.values(1).length >= 1);
      expect(owner.values(1)).toEqual(['next']);
      owner.check();
    },
  },
  {
    name: 'the next records come when those before are handled; a slow partition holds no other',
    async run({ node, until }) {
      const bus = await node('a');
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const owner = witness({ records: (partition) => (partition === 0 ? held : Promise.resolve()) });
      await bus.own(owner);
      await bus.send({ partition: 0, key: 'k', value: 'first' });
      await until('the slow one begins', () => owner.values(0).length === 1);
      await Promise.all(numbers(3000).map((n) => bus.send({ partition: n % 2, key: 'k', value: `${n}` })));
      await until('the other goes on', () => owner.values(1).length >= 1500);
      // It goes on for as long as the slow one is slow.
      for (const n of numbers(5)) {
        await bus.send({ partition: 1, key: 'k', value: `late ${n}` });
        await until('the other goes on', () => owner.values(1).length > 1500 + n);
      }
      expect(owner.values(0)).toEqual(['first']);
      expect(bus.lags().find(({ partition }) => partition === 0)?.records).toBeGreaterThan(0);
      release();
      await until('the slow one goes on', () => owner.values(0).length >= 1501);
      expect(owner.values(0)).toEqual(['first', ...numbers(1500).map((n) => `${n * 2}`)]);
      owner.check();
    },
  },
  {
    name: 'no delivery has more than 500 records',
    async run({ node, until }) {
      const bus = await node('a');
      await Promise.all(numbers(1800).map((n) => bus.send({ partition: 0, key: 'k', value: `${n}` })));
      const owner = witness();
      await bus.own(owner);
      await until('delivery', () => owner.values().length >= 1800);
      const sizes = owner.words.flatMap((word) => (word.kind === 'records' ? word.records.length : []));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
      owner.check();
    },
  },
  {
    name: 'records that throw begin the partition anew, and it alone',
    async run({ node, partitions, until }) {
      const bus = await node('a');
      let failures = 2;
      const owner = witness({
        async records(partition, records) {
          if (partition === 0 && records.some(({ value }) => value === '2') && failures-- > 0)
            throw new Error('as asked');
        },
      });
      await bus.own(owner);
      await until('all assigned', () => held(owner).length === partitions);
      for (const n of numbers(5)) await bus.send({ partition: 0, key: 'k', value: `${n}` });
      await until('the last one', () => owner.places.get(0) === 5);
      const words = owner.words.filter((word) => word.partition === 0);
      expect(words.filter(({ kind }) => kind === 'revoked')).toHaveLength(2);
      expect(words.filter(({ kind }) => kind === 'assigned')).toHaveLength(3);
      const others = owner.words.filter(({ kind, partition }) => kind === 'revoked' && partition !== 0);
      expect(others).toEqual([]);
      expect(
        owner.words.flatMap((word) =>
          word.kind === 'handled' ? word.records.map(({ value }) => value) : [],
        ),
      ).toEqual(numbers(5).map(String));
      owner.check();
    },
  },
  {
    name: 'restart() asks anew for the place, and begins there: behind, and ahead',
    async run({ node, partitions, until }) {
      const bus = await node('a');
      const owner = witness();
      await bus.own(owner);
      await until('all assigned', () => held(owner).length === partitions);
      for (const n of numbers(4)) await bus.send({ partition: 1, key: 'k', value: `${n}` });
      await until('delivery', () => owner.places.get(1) === 4);
      owner.places.set(1, 2);
      bus.restart(1);
      expect(owner.has.has(1)).toBe(false);
      await until('again', () => owner.values(1).length >= 6);
      expect(owner.values(1)).toEqual(['0', '1', '2', '3', '2', '3']);
      // Many at once are one.
      for (const _ of numbers(5)) bus.restart(1);
      owner.places.set(1, 4);
      await bus.send({ partition: 1, key: 'k', value: '4' });
      await until('on', () => owner.places.get(1) === 5);
      expect(owner.values(1).slice(6)).toEqual(['4']);
      expect(owner.words.filter(({ kind, partition }) => kind === 'revoked' && partition !== 1)).toEqual([]);
      owner.check();
    },
  },
  {
    name: 'restart() while records are under way waits for them',
    async run({ node, pass, until }) {
      const bus = await node('a');
      let release = () => {};
      let hold: Promise<void> | undefined = new Promise<void>((resolve) => {
        release = resolve;
      });
      const owner = witness({ records: async () => hold });
      await bus.own(owner);
      await bus.send({ partition: 0, key: 'k', value: 'a' });
      await until('it begins', () => owner.values(0).length === 1);
      bus.restart(0);
      await pass(1000);
      expect(owner.has.has(0)).toBe(false);
      hold = undefined;
      release();
      await until('again', () => owner.values(0).length === 2);
      expect(owner.values(0)).toEqual(['a', 'a']);
      owner.check();
    },
  },
  {
    name: 'a partition that its owner cannot take is offered again, while others go on',
    async run({ node, partitions, until }) {
      const bus = await node('a');
      let failures = 2;
      const owner = witness({
        async assigned(partition, { first }) {
          if (partition === 1 && failures-- > 0) throw new Error('as asked');
          return first;
        },
      });
      await bus.own(owner);
      await bus.send({ partition: 1, key: 'k', value: 'one' });
      await bus.send({ partition: 0, key: 'k', value: 'zero' });
      await until('the other goes on', () => owner.values(0).length === 1);
      await until('all', () => held(owner).length === partitions && owner.values(1).length === 1);
      expect(owner.words.filter(({ kind }) => kind === 'refused')).toHaveLength(2);
      expect(owner.words.filter(({ kind }) => kind === 'revoked')).toEqual([]);
      owner.check();
    },
  },
  {
    name: 'what is too large or of no partition is refused by name, and nothing is sent',
    async run({ node, partitions, pass, until }) {
      const bus = await node('a');
      const owner = witness();
      await bus.own(owner);
      const text = 'x'.repeat(recordLimits.valueBytes - 2);
      await expect(bus.send({ partition: 0, key: 'k', value: `"${text}ü"` })).rejects.toMatchObject({
        code: 'bus.too_large',
        status: 413,
      });
      await expect(bus.send({ partition: partitions, key: 'k', value: '1' })).rejects.toThrow(RangeError);
      await expect(bus.send({ partition: 0, key: '', value: '1' })).rejects.toThrow(RangeError);
      const key = 'k'.repeat(recordLimits.keyLength);
      await expect(bus.send({ partition: 0, key: `${key}k`, value: '1' })).rejects.toThrow(RangeError);
      await bus.send({ partition: 0, key, value: `"${text}"` });
      await until('the largest', () => owner.values(0).length === 1);
      await pass(300);
      expect(owner.values()).toEqual([`"${text}"`]);
    },
  },
  {
    name: 'after close nothing is sent or delivered, and closing again is harmless',
    async run({ node, pass }) {
      const [bus, other] = [await node('a'), await node('b')];
      const owner = witness();
      await bus.own(owner);
      await bus.close();
      await bus.close();
      expect(held(owner)).toEqual([]);
      const refused = await bus.send({ partition: 0, key: 'k', value: '1' }).catch((error) => error);
      expect(refused).toBeInstanceOf(Fault);
      expect(refused.code).toBe('bus.closed');
      await other.send({ partition: 0, key: 'k', value: '2' });
      await pass(600);
      expect(owner.values()).toEqual([]);
      owner.check();
    },
  },
];
