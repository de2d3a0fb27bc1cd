import { expect } from 'vitest';
import type { Store } from '../../../core/ports/store.ts';
import type { Check } from './check.ts';
import { acquireOne, create, event, row, start, step, write } from './fixtures.ts';

const ids = async (list: Promise<readonly { id: string }[]>) => (await list).map((one) => one.id);

export const resourceChecks: readonly Check[] = [
  {
    name: 'a row comes back as written, its revision growing from 1',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const body = '{"text":"ø \\u0000 \u{1F3A5}"}';
      await store.commit(step(lease, { rows: [row()] }));
      await store.commit(step(lease, { sequence: 1, rows: [row({ name: 'new', body })] }));
      const stored = { id: 's1', account: 'main', createdAt: start, name: 'new', body, revision: 2 };
      expect(await store.resources.get('asset', 's1')).toBeUndefined();
      expect(await store.resources.get('stream', 's2')).toBeUndefined();
      expect(await store.resources.get('stream', 's1')).toEqual(stored);
      expect(await (await reopen()).resources.get('stream', 's1')).toEqual(stored);
    },
  },
  {
    name: 'index entries of an earlier write that are not repeated are removed',
    async run({ store }) {
      const lease = await acquireOne(store);
      const find = async (name: string, value: string) =>
        (await store.resources.find('stream', name, value))?.id;
      await store.commit(step(lease, { rows: [row({ indexes: { key: 'old', tag: 'x' } })] }));
      await store.commit(step(lease, { sequence: 1, rows: [row({ indexes: { key: 'new' } })] }));
      expect(await find('key', 'new')).toBe('s1');
      expect(await find('key', 'old')).toBeUndefined();
      expect(await find('tag', 'x')).toBeUndefined();
      expect(await ids(store.resources.list('stream', { where: { tag: 'x' }, limit: 9 }))).toEqual([]);
      expect(await store.resources.find('asset', 'key', 'new')).toBeUndefined();
    },
  },
  {
    name: 'indexes follow a row whose account or time of creation changes',
    async run({ store }) {
      const lease = await acquireOne(store);
      const indexes = { tag: 'x' };
      await store.commit(
        step(lease, { rows: [row({ indexes }), row({ id: 's2', createdAt: start + 1, indexes })] }),
      );
      await store.commit(
        step(lease, { sequence: 1, rows: [row({ indexes, account: 'other', createdAt: start + 2 })] }),
      );
      expect(await ids(store.resources.list('stream', { where: indexes, limit: 9 }))).toEqual(['s1', 's2']);
      expect(
        await ids(store.resources.list('stream', { where: indexes, account: 'main', limit: 9 })),
      ).toEqual(['s2']);
      expect(await ids(store.resources.list('stream', { account: 'other', limit: 9 }))).toEqual(['s1']);
    },
  },
  {
    name: 'a deleted row takes its indexes along; created again it starts at revision 1',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      await store.commit(step(lease, { rows: [row({ indexes: { key: 'k' } })] }));
      await store.commit(
        step(lease, { sequence: 1, rows: [row({ body: null }), row({ id: 'no', body: null })] }),
      );
      expect(await store.resources.get('stream', 's1')).toBeUndefined();
      expect(await store.resources.find('stream', 'key', 'k')).toBeUndefined();
      expect(await store.resources.list('stream', { limit: 9 })).toEqual([]);
      await store.commit(step(lease, { sequence: 2, rows: [row()] }));
      const next = await reopen();
      expect(await next.resources.get('stream', 's1')).toMatchObject({ revision: 1 });
      expect(await next.resources.find('stream', 'key', 'k')).toBeUndefined();
    },
  },
  {
    name: 'plain rows are written by compare-and-set',
    async run({ store }) {
      expect(await create(store, [row()])).toMatchObject({ outcome: 'ok' });
      expect(await create(store, [row()])).toEqual({ outcome: 'conflict' });
      const update = (revision: number, body: string | null) =>
        store.write(write({ rows: [{ ...row({ body }), revision }] }));
      expect(await update(2, 'ahead')).toEqual({ outcome: 'conflict' });
      expect(await update(1, 'second')).toMatchObject({ outcome: 'ok' });
      expect(await update(1, 'stale')).toEqual({ outcome: 'conflict' });
      expect(await store.resources.get('stream', 's1')).toMatchObject({ body: 'second', revision: 2 });
      expect(await update(1, null)).toEqual({ outcome: 'conflict' });
      expect(await update(2, null)).toMatchObject({ outcome: 'ok' });
      expect(await update(2, 'gone')).toEqual({ outcome: 'conflict' });
    },
  },
  {
    name: 'of two writes at once from the same revision one wins',
    async run({ store }) {
      await create(store, [row()]);
      const from = (body: string) => store.write(write({ rows: [{ ...row({ body }), revision: 1 }] }));
      const outcomes = await Promise.all([from('one'), from('other')]);
      expect(outcomes.map((one) => one.outcome)).toEqual(['ok', 'conflict']);
      expect(await store.resources.get('stream', 's1')).toMatchObject({ body: 'one', revision: 2 });
    },
  },
  {
    name: 'a write with one stale row writes nothing',
    async run({ store, reopen }) {
      await create(store, [row()]);
      const half = write({
        rows: [
          { ...row({ id: 's2' }), revision: 0 },
          { ...row({ body: 'stale' }), revision: 0 },
        ],
        events: [event('e1')],
      });
      expect(await store.write(half)).toEqual({ outcome: 'conflict' });
      const next = await reopen();
      expect(await next.resources.get('stream', 's2')).toBeUndefined();
      expect(await next.resources.get('stream', 's1')).toMatchObject({ revision: 1 });
      expect(await next.events.last()).toBe(0);
      expect(await next.write(write({ events: [event('e1')] }))).toMatchObject({
        outcome: 'ok',
        events: [1],
      });
    },
  },
  {
    name: 'find gives the newest, then the highest id',
    async run({ store }) {
      const indexes = { stream: 'x' };
      await create(store, [
        row({ id: 'b', createdAt: start + 5, indexes }),
        row({ id: 'c', createdAt: start + 5, indexes }),
        row({ id: 'z', createdAt: start, indexes }),
        row({ id: 'y', createdAt: start + 9, indexes: { stream: 'other' } }),
      ]);
      expect((await store.resources.find('stream', 'stream', 'x'))?.id).toBe('c');
    },
  },
  {
    name: 'lists are newest first, by account, and page without gap or repeat',
    async run({ store }) {
      await fill(store);
      const all = await ids(store.resources.list('stream', { limit: 1000 }));
      expect(all).toEqual(expected(() => true));
      const paged: string[] = [];
      let after: { createdAt: number; id: string } | undefined;
      for (;;) {
        const page = await store.resources.list('stream', { account: 'main', after, limit: 7 });
        paged.push(...page.map((one) => one.id));
        after = page.at(-1);
        if (page.length < 7) break;
      }
      expect(paged).toEqual(expected((index) => index % 3 !== 0));
      expect(await ids(store.resources.list('nothing', { limit: 5 }))).toEqual([]);
    },
  },
  {
    name: 'where needs every index value, and pages as well',
    async run({ store }) {
      await fill(store);
      const where = { even: 'true', tens: '3', state: 'live' };
      const of = (query: object) => ids(store.resources.list('stream', { limit: 1000, ...query }));
      const matches = (index: number) => index % 2 === 0 && Math.floor(index / 10) === 3 && index % 4 === 0;
      expect(await of({ where })).toEqual(expected(matches));
      const ours = expected((index) => matches(index) && index % 3 !== 0);
      expect(await of({ where, account: 'main' })).toEqual(ours);
      expect(await of({ where: { even: 'true' }, account: 'main' })).toEqual(
        expected((index) => index % 2 === 0 && index % 3 !== 0),
      );
      const first = await store.resources.list('stream', { where, account: 'main', limit: 1 });
      expect(await of({ where, account: 'main', after: first[0] })).toEqual(ours.slice(1));
      expect(await of({ where: { ...where, tens: '99' } })).toEqual([]);
      expect(await of({ where: { ...where, unknown: '1' } })).toEqual([]);
      expect(await of({ where: {} })).toHaveLength(60);
    },
  },
  {
    name: 'a limit beyond its bounds is a bug',
    async run({ store }) {
      for (const limit of [0, 1002, 1.5, Number.NaN]) {
        await expect(store.resources.list('stream', { limit })).rejects.toThrow();
        await expect(store.events.after(0, { limit: Math.min(limit, 1001) })).rejects.toThrow();
      }
    },
  },
];

/** 60 rows, pairs of them created in the same millisecond. */
async function fill(store: Store): Promise<void> {
  const rows = Array.from({ length: 60 }, (_, index) =>
    row({
      id: name(index),
      account: index % 3 === 0 ? 'other' : 'main',
      createdAt: start + Math.floor(index / 2),
      indexes: {
        even: String(index % 2 === 0),
        tens: String(Math.floor(index / 10)),
        ...(index % 4 === 0 && { state: 'live' }),
      },
    }),
  );
  await create(store, rows);
  await create(store, [row({ kind: 'asset', id: 'a', indexes: { even: 'true' } })]);
}

const name = (index: number) => `s${String(index).padStart(2, '0')}`;

function expected(matches: (index: number) => boolean): string[] {
  return Array.from({ length: 60 }, (_, index) => 59 - index)
    .filter(matches)
    .map(name);
}
