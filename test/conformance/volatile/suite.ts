import { expect } from 'vitest';
import type { Volatile } from '../../../core/ports/volatile.ts';
import { volatileLimits } from '../../../core/ports/volatile.ts';

/** A driver to be tested. `pass` lets that much time go by, as the driver counts it. */
export interface OpenedVolatile {
  readonly volatile: Volatile;
  pass(ms: number): Promise<void>;
}

/** One promise of the port. A list instead of bare tests, so that a test can show that a broken driver fails. */
export interface VolatileCheck {
  readonly name: string;
  run(opened: OpenedVolatile): Promise<void>;
}

/** What every driver of the port must do. Keys begin with `t/`; a driver may be shared with others. */
export const volatileChecks: readonly VolatileCheck[] = [
  {
    name: 'what was set is read, whatever JSON it is',
    async run({ volatile }) {
      const values = [null, true, 0, -1.5, 'text "quoted"', [1, [2]], { a: { b: [null] }, __proto: 1 }, ''];
      const entries = values.map((value, index) => ({ key: `t/json/${index}`, value }));
      await volatile.set(entries, { lasts: 60_000 });
      expect(await volatile.get(entries.map(({ key }) => key))).toEqual(values);
    },
  },
  {
    name: 'get answers in the order of the keys, undefined for what is not there',
    async run({ volatile }) {
      await volatile.set(
        [
          { key: 't/order/a', value: 'a' },
          { key: 't/order/b', value: 'b' },
        ],
        { lasts: 60_000 },
      );
      const got = await volatile.get(['t/order/b', 't/order/none', 't/order/a', 't/order/b']);
      expect(got).toEqual(['b', undefined, 'a', 'b']);
      expect(await volatile.get([])).toEqual([]);
    },
  },
  {
    name: 'a value is gone when its time is over, and not before',
    async run({ volatile, pass }) {
      await volatile.set([{ key: 't/expiry', value: 1 }], { lasts: 400 });
      await pass(100);
      expect(await volatile.get(['t/expiry'])).toEqual([1]);
      await pass(350);
      expect(await volatile.get(['t/expiry'])).toEqual([undefined]);
    },
  },
  {
    name: 'what is over is not listed',
    async run({ volatile, pass }) {
      await volatile.set([{ key: 't/over/a', value: 1 }], { lasts: 200 });
      await volatile.set([{ key: 't/over/b', value: 2 }], { lasts: 60_000 });
      await pass(300);
      expect(await volatile.list('t/over/', { limit: 10 })).toEqual([{ key: 't/over/b', value: 2 }]);
    },
  },
  {
    name: 'setting again replaces value and time',
    async run({ volatile, pass }) {
      await volatile.set([{ key: 't/again', value: { old: 1 } }], { lasts: 200 });
      await volatile.set([{ key: 't/again', value: { new: 2 } }], { lasts: 60_000 });
      await pass(300);
      expect(await volatile.get(['t/again'])).toEqual([{ new: 2 }]);
      await volatile.set([{ key: 't/again', value: 3 }], { lasts: 100 });
      await pass(200);
      expect(await volatile.get(['t/again'])).toEqual([undefined]);
    },
  },
  {
    name: 'list has all of a prefix and nothing else, ascending, to its limit',
    async run({ volatile }) {
      const keys = ['t/list/c', 't/list/a', 't/list/b', 't/lis', 't/list', 't/listing/a', 't/other/a'];
      await volatile.set(
        keys.map((key) => ({ key, value: key })),
        { lasts: 60_000 },
      );
      const listed = (limit: number) => volatile.list('t/list/', { limit });
      expect((await listed(10)).map(({ key, value }) => [key, value])).toEqual(
        ['t/list/a', 't/list/b', 't/list/c'].map((key) => [key, key]),
      );
      expect((await listed(2)).map(({ key }) => key)).toEqual(['t/list/a', 't/list/b']);
      expect(await volatile.list('t/none/', { limit: 10 })).toEqual([]);
    },
  },
  {
    name: 'a prefix is text, no pattern',
    async run({ volatile }) {
      await volatile.set([{ key: 't/pattern/a', value: 1 }], { lasts: 60_000 });
      for (const prefix of ['t/pattern/*', 't/pattern/?', 't/pattern/[a]', 't/pattern/.'])
        expect(await volatile.list(prefix, { limit: 10 })).toEqual([]);
    },
  },
  {
    name: 'what is kept is a copy',
    async run({ volatile }) {
      const value = { list: [1] };
      await volatile.set([{ key: 't/copy', value }], { lasts: 60_000 });
      value.list.push(2);
      const [got] = (await volatile.get(['t/copy'])) as { list: number[] }[];
      expect(got).toEqual({ list: [1] });
      got.list.push(3);
      expect(await volatile.get(['t/copy'])).toEqual([{ list: [1] }]);
    },
  },
  {
    name: 'what is beyond the limits is refused by name, and nothing is set',
    async run({ volatile }) {
      const { keyLength, valueLength, longest, listed } = volatileLimits;
      const fine = { key: 't/limits/fine', value: 1 };
      const wrong = [
        { key: '', value: 1 },
        { key: 't/with space', value: 1 },
        { key: 't/line\nbreak', value: 1 },
        { key: `t/${'k'.repeat(keyLength - 1)}`, value: 1 },
        { key: 't/limits/long', value: 'v'.repeat(valueLength - 1) },
      ];
      for (const entry of wrong) {
        await expect(volatile.set([fine, entry], { lasts: 60_000 })).rejects.toThrow(RangeError);
      }
      await expect(volatile.set(wrong.slice(4), { lasts: 60_000 })).rejects.toThrow('t/limits/long');
      for (const lasts of [0, -1, longest + 1, Number.NaN]) {
        await expect(volatile.set([fine], { lasts })).rejects.toThrow('lasts');
      }
      const many = Array.from({ length: listed + 1 }, (_, index) => ({ key: `t/many/${index}`, value: 1 }));
      await expect(volatile.set(many, { lasts: 60_000 })).rejects.toThrow('entries');
      await expect(volatile.get(many.map(({ key }) => key))).rejects.toThrow('keys');
      await expect(volatile.get(['t/with space'])).rejects.toThrow(RangeError);
      for (const limit of [0, listed + 1]) {
        await expect(volatile.list('t/', { limit })).rejects.toThrow('limit');
      }
      expect(await volatile.get([fine.key])).toEqual([undefined]);
      expect(await volatile.list('t/many/', { limit: 10 })).toEqual([]);
      const most = { key: `t/${'k'.repeat(keyLength - 2)}`, value: 'v'.repeat(valueLength - 2) };
      await volatile.set([most], { lasts: longest });
      expect(await volatile.get([most.key])).toEqual([most.value]);
    },
  },
];
