import { describe, expect, test } from 'vitest';
import type { Json, Volatile, VolatileEntry } from '../../../core/ports/volatile.ts';
import { virtualClock } from '../../../runtime/drivers/clock/virtual.ts';
import { memoryVolatile } from '../../../runtime/drivers/volatile/memory.ts';
import { volatileChecks } from './suite.ts';

/** Drivers with one fault each: the suite is worth something only if the check that is about it fails. */
const mutants: Record<string, { breaks: string; mutate: (volatile: Volatile) => Volatile }> = {
  'never forgets': {
    breaks: 'a value is gone when its time is over, and not before',
    mutate: (volatile) => ({ ...volatile, set: (entries) => volatile.set(entries, { lasts: 3_600_000 }) }),
  },
  'forgets too soon': {
    breaks: 'a value is gone when its time is over, and not before',
    mutate: (volatile) => ({
      ...volatile,
      set: (entries, { lasts }) => volatile.set(entries, { lasts: Math.max(1, lasts / 10) }),
    }),
  },
  'lists what is over': {
    breaks: 'what is over is not listed',
    mutate(volatile) {
      const seen = new Map<string, VolatileEntry>();
      return {
        ...volatile,
        async set(entries, options) {
          await volatile.set(entries, options);
          for (const entry of entries) seen.set(entry.key, entry);
        },
        list: async (prefix) => [...seen.values()].filter(({ key }) => key.startsWith(prefix)),
      };
    },
  },
  'keeps the first value': {
    breaks: 'setting again replaces value and time',
    mutate: (volatile) => ({
      ...volatile,
      async set(entries, options) {
        const there = await volatile.get(entries.map(({ key }) => key));
        await volatile.set(
          entries.filter((_, index) => there[index] === undefined),
          options,
        );
      },
    }),
  },
  'leaves out what is not there': {
    breaks: 'get answers in the order of the keys, undefined for what is not there',
    mutate: (volatile) => ({
      ...volatile,
      get: async (keys) => (await volatile.get(keys)).filter((value) => value !== undefined),
    }),
  },
  'matches a prefix anywhere in a key, and does not sort': {
    breaks: 'list has all of a prefix and nothing else, ascending, to its limit',
    mutate: (volatile) => ({
      ...volatile,
      list: async (prefix, { limit }) =>
        (await volatile.list('', { limit: 1000 }))
          .filter(({ key }) => key.includes(prefix.slice(0, -1)))
          .reverse()
          .slice(0, limit),
    }),
  },
  'reads a prefix as a pattern': {
    breaks: 'a prefix is text, no pattern',
    mutate: (volatile) => ({
      ...volatile,
      list: (prefix, options) => volatile.list(prefix.replace(/[*?.[].*$/, ''), options),
    }),
  },
  'hands out what it keeps': {
    breaks: 'what is kept is a copy',
    mutate(volatile) {
      const kept = new Map<string, Json>();
      return {
        ...volatile,
        async set(entries) {
          for (const { key, value } of entries) kept.set(key, value);
        },
        get: async (keys) => keys.map((key) => kept.get(key)),
      };
    },
  },
  'sets what comes before a wrong entry': {
    breaks: 'what is beyond the limits is refused by name, and nothing is set',
    mutate: (volatile) => ({
      ...volatile,
      async set(entries, options) {
        for (const entry of entries) await volatile.set([entry], options);
      },
    }),
  },
  'writes numbers as text': {
    breaks: 'what was set is read, whatever JSON it is',
    mutate: (volatile) => ({
      ...volatile,
      set: (entries, options) =>
        volatile.set(
          entries.map(({ key, value }) => ({ key, value: typeof value === 'number' ? `${value}` : value })),
          options,
        ),
    }),
  },
};

describe('the suite bites', () => {
  const failures = async (mutate: (volatile: Volatile) => Volatile): Promise<string[]> => {
    const failed: string[] = [];
    for (const check of volatileChecks) {
      const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
      const volatile = mutate(memoryVolatile({ clock }));
      const pass = (ms: number) => clock.advance(ms);
      await check.run({ volatile, pass }).catch(() => failed.push(check.name));
    }
    return failed;
  };

  test.each(Object.entries(mutants))('a driver that %s', async (_, { breaks, mutate }) => {
    expect(await failures(mutate)).toContain(breaks);
  });

  test('each check finds some fault, and none without one', async () => {
    expect(await failures((volatile) => volatile)).toEqual([]);
    const broken = new Set(Object.values(mutants).map(({ breaks }) => breaks));
    expect(volatileChecks.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([]);
  });
});
