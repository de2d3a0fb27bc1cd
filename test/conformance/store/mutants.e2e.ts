import { describe, expect, test } from 'vitest';
import type { ListQuery, Store } from '../../../core/ports/store.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import type { Check } from './check.ts';
import { failed } from './failed.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { storeChecks } from './suite.ts';

/**
 * Drivers with one fault each. The suite is worth something only if every one of them fails, in the very
 * check that is about its fault.
 */
const mutants: Record<string, { breaks: string; mutate: (store: Store) => Store }> = {
  'ignores the epoch': {
    breaks: 'a former owner is fenced and writes nothing',
    mutate(store) {
      let epoch = 0;
      return {
        ...store,
        async acquire(partitions) {
          const leases = await store.acquire(partitions);
          epoch = leases[0]?.epoch ?? 0;
          return leases;
        },
        commit: (step) => store.commit({ ...step, epoch }),
      };
    },
  },
  'forgets causes': {
    breaks: 'a cause is consumed once',
    mutate(store) {
      let number = 0;
      return { ...store, commit: (step) => store.commit({ ...step, cause: `${step.cause}#${++number}` }) };
    },
  },
  'loses the last event of a commit': {
    breaks: 'a step writes state, rows, timers, events and orders together',
    mutate: (store) => ({
      ...store,
      commit: (step) => store.commit({ ...step, events: step.events.slice(0, -1) }),
    }),
  },
  'lets the last writer win': {
    breaks: 'plain rows are written by compare-and-set',
    mutate: (store) => ({
      ...store,
      async write(write) {
        const rows = await Promise.all(
          write.rows.map(async (row) => ({
            ...row,
            revision: (await store.resources.get(row.kind, row.id))?.revision ?? 0,
          })),
        );
        return store.write({ ...write, rows });
      },
    }),
  },
  'writes an event again': {
    breaks: 'a write with isOnce writes an event once, whoever wrote it, until a sweep forgets it',
    mutate: (store) => ({ ...store, write: (write) => store.write({ ...write, isOnce: false }) }),
  },
  'reads the log backwards with the event that it begins at': {
    breaks: 'events of steps and writes share one log, in the order of their commits',
    mutate: (store) => ({
      ...store,
      events: {
        ...store.events,
        before: (position, query) => store.events.before(position + 1, query),
      },
    }),
  },
  'keeps the timers of an actor that ended': {
    breaks: 'an actor that ended is gone, and its id is not taken again',
    mutate(store) {
      const kept: { actor: string; name: string; due: number }[] = [];
      return {
        ...store,
        commit(step) {
          for (const { name, due } of step.timers) if (due) kept.push({ actor: step.actor, name, due });
          return store.commit(step);
        },
        timers: async () => kept,
      };
    },
  },
  'treats a list as matching any of its conditions': {
    breaks: 'where needs every index value, and pages as well',
    mutate: (store) => ({
      ...store,
      resources: {
        ...store.resources,
        list: (kind, query) =>
          store.resources.list(kind, {
            ...query,
            where: Object.fromEntries(Object.entries(query.where ?? {}).slice(0, 1)),
          }),
      },
    }),
  },
  'loses the filters of a list but the first': {
    breaks: 'filters are all held, by the type of the value',
    mutate: (store) => withList(store, (query) => ({ ...query, filters: query.filters?.slice(0, 1) })),
  },
  'breaks ties the same way whatever the order': {
    breaks: 'lists come in the order asked for, ties by time and id in its direction',
    mutate: (store) =>
      withList(store, ({ order, ...query }) => ({
        ...query,
        ...(order?.length && { order: [...order, { by: 'id', descending: true }] }),
      })),
  },
};

describe('the suite bites', () => {
  test.each(Object.entries(mutants))('a driver that %s', async (_, { breaks, mutate }) => {
    const own = storeChecks.filter((check) => check.name === breaks);
    expect(own).toHaveLength(1);
    expect(await failures(own, mutate)).toEqual([breaks]);
    // The generated calls find it too, without having been told where to look.
    expect(await failures(sequenceChecks, mutate)).not.toEqual([]);
  });

  test('and not without a fault', async () => {
    expect(await failures(sequenceChecks.slice(0, 3), (store) => store)).toEqual([]);
  });
});

function failures(checks: readonly Check[], mutate: (store: Store) => Store): Promise<string[]> {
  return failed(checks, async () => {
    const driver = sqliteStore({ file: ':memory:' });
    const store = mutate(driver);
    return { store, reopen: async () => store, close: () => driver.close() };
  });
}

function withList(store: Store, change: (query: ListQuery) => ListQuery): Store {
  const { resources } = store;
  return {
    ...store,
    resources: { ...resources, list: (kind, query) => resources.list(kind, change(query)) },
  };
}
