import { expect } from 'vitest';
import type {
  Filter,
  ListQuery,
  ListScope,
  Place,
  Store,
  StoredResource,
} from '../../../core/ports/store.ts';
import type { Check } from './check.ts';
import { create, row, start } from './fixtures.ts';

/** Orders, ranks, filters and counts of lists. */
export const listChecks: readonly Check[] = [
  {
    name: 'lists come in the order asked for, ties by time and id in its direction',
    async run({ store }) {
      await fill(store);
      const inOrder = async (...order: Term[]) => {
        const found = await ids(store, { order: order.map(([by, descending]) => ({ by, descending })) });
        expect(found).toHaveLength(40);
        return found.slice(0, 3).join(' ');
      };
      // Numbers 0 to 39, four of them a millisecond, ten names in turn.
      expect(await inOrder()).toBe('s39 s38 s37');
      expect(await inOrder(['createdAt', false])).toBe('s00 s01 s02');
      expect(await inOrder(['createdAt', false], ['id', true])).toBe('s03 s02 s01');
      expect(await inOrder(['createdAt', true], ['name', false])).toBe('s36 s37 s38');
      expect(await inOrder(['id', false])).toBe('s00 s01 s02');
      expect(await inOrder(['name', false])).toBe('s00 s10 s20');
      expect(await inOrder(['name', true])).toBe('s39 s29 s19');
      expect(await inOrder(['name', false], ['createdAt', true])).toBe('s30 s20 s10');
    },
  },
  {
    name: 'names are ordered by their UTF-8 bytes',
    async run({ store }) {
      const names = ['B', 'a', 'é', '\uffee', '\u{1F3A5}', 'a\u0000b', ''];
      await create(
        store,
        names.map((name, index) => row({ id: `n${index}`, name })),
      );
      const rows = await store.resources.list('stream', { account: 'main', order: byName, limit: 9 });
      expect(rows.map(({ name }) => name)).toEqual(['', 'B', 'a', 'a\u0000b', 'é', '\uffee', '\u{1F3A5}']);
    },
  },
  {
    name: 'every order pages without gap or repeat while rows come and go',
    async run({ store }) {
      await fill(store);
      let number = 0;
      const queries: Partial<ListQuery>[] = [
        {},
        { order: [{ by: 'createdAt', descending: false }] },
        { order: byName },
        { order: [{ by: 'name', descending: true }] },
        { order: [...byName, { by: 'createdAt', descending: true }] },
        { order: [{ by: 'id', descending: true }] },
        { likeName: 'NAME 1' },
        { likeName: 'ame' },
        { order: byName, where: { even: 'true' } },
        { filters: [{ path: ['size'], is: { gte: 3 } }] },
      ];
      for (const query of queries) {
        const before = await ids(store, query);
        const seen: string[] = [];
        let after: Place | undefined;
        do {
          const page: StoredResource[] = await store.resources.list('stream', {
            // Some pages end after a row, because of what it holds.
            ...{ account: 'main', limit: 3, ...query, after, characters: number % 2 === 0 ? 1000 : 1 },
          });
          seen.push(...page.map(({ id }) => id));
          after = page.at(-1);
          // A neighbour of the place comes, and the place itself goes and comes back.
          if (after && !after.id.includes('-'))
            await come(store, { ...after, id: `${after.id}-${++number}` });
          if (after) await goAndComeBack(store, after.id);
        } while (after);
        expect({ query, seen: seen.filter((id) => before.includes(id)) }).toEqual({ query, seen: before });
        for (const id of await ids(store, {})) if (id.includes('-')) await go(store, id);
      }
    },
  },
  {
    name: 'names like a text come first: the same, beginning with it, containing it, then the others',
    async run({ store }) {
      const names = ['None', 'my cam', 'CAM 2', 'Cam', 'cam 1', 'camera', 'webcam', 'cam'];
      await create(
        store,
        names.map((name, index) => row({ id: `n${index}`, name, createdAt: start + index })),
      );
      const all = ['n7', 'n3', 'n5', 'n4', 'n2', 'n6', 'n1', 'n0'];
      expect(await ids(store, { likeName: 'cam' })).toEqual(all);
      expect(await ids(store, { likeName: 'nothing' })).toEqual(all.toSorted().reverse());
      const [, , third] = await store.resources.list('stream', {
        account: 'main',
        likeName: 'cam',
        limit: 3,
      });
      expect(await ids(store, { likeName: 'cam', after: third })).toEqual(all.slice(3));
      const filters = [{ path: ['n'], is: { gte: 1 } }];
      expect(await ids(store, { likeName: 'cam', filters })).toEqual(all);
    },
  },
  {
    name: 'filters are all held, by the type of the value',
    async run({ store }) {
      const bodies = [
        { text: 'Red Hat', size: 1, on: true, inner: { deep: 'x' } },
        { text: 'red', size: 2.5, on: false },
        { text: 'blue', size: -3 },
        { text: 7, size: '2', on: 'true', inner: null },
      ];
      await create(
        store,
        bodies.map((body, index) =>
          row({ id: `n${index}`, createdAt: start - index, body: JSON.stringify(body) }),
        ),
      );
      const by = async (...filters: Filter[]) => (await ids(store, { filters })).join(' ');
      expect(await by({ path: ['text'], is: { contains: 'RED' } })).toBe('n0 n1');
      expect(await by({ path: ['text'], is: { contains: '' } })).toBe('n0 n1 n2');
      expect(await by({ path: ['size'], is: { gte: 1, lte: 1 } })).toBe('n0');
      expect(await by({ path: ['size'], is: { gt: 1 } })).toBe('n1');
      expect(await by({ path: ['size'], is: { lt: 2.5 } })).toBe('n0 n2');
      expect(await by({ path: ['on'], is: { equals: true } })).toBe('n0');
      expect(await by({ path: ['on'], absent: false, is: { equals: false } })).toBe('n1 n2');
      expect(await by({ path: ['inner', 'deep'], is: { contains: 'x' } })).toBe('n0');
      expect(await by({ path: ['constructor', 'name'], is: { contains: '' } })).toBe('');
      const red = { path: ['text'], is: { contains: 'red' } };
      expect(await by(red, { path: ['size'], is: { gt: 1 } })).toBe('n1');
    },
  },
  {
    name: 'count tells how many rows there are, whatever the page',
    async run({ store }) {
      await fill(store);
      const count = (scope: ListScope) => store.resources.count('stream', scope);
      const small: Filter = { path: ['size'], is: { lt: 2 } };
      expect(await count({})).toBe(43);
      expect(await count({ account: 'main' })).toBe(40);
      expect(await count({ account: 'main', where: { even: 'true' } })).toBe(20);
      expect(await count({ where: { even: 'true', third: 'true' } })).toBe(8);
      expect(await count({ account: 'main', filters: [small] })).toBe(16);
      expect(await count({ account: 'main', filters: [small], where: { even: 'true' } })).toBe(8);
      expect(await count({ account: 'nobody' })).toBe(0);
    },
  },
  {
    name: 'a few rows that fit are found among many that do not',
    async run({ store }) {
      const rows = Array.from({ length: 3000 }, (_, index) =>
        row({
          id: String(index).padStart(4, '0'),
          name: String(index % 1500),
          createdAt: start + index,
          body: JSON.stringify({ index }),
          indexes: { half: String(index < 1500), third: String(index % 3 === 0) },
        }),
      );
      await create(store, rows);
      const filters = [{ path: ['index'], is: { lt: 5 } }];
      expect(await ids(store, { filters })).toEqual(['0004', '0003', '0002', '0001', '0000']);
      expect(await ids(store, { likeName: '1499', limit: 3 })).toEqual(['2999', '1499', '2998']);
      expect(await store.resources.count('stream', { filters })).toBe(5);
      expect(await store.resources.count('stream', { where: { half: 'true', third: 'true' } })).toBe(500);
      const where = { half: 'true' };
      expect(await ids(store, { where, order: [{ by: 'id', descending: false }], limit: 2 })).toEqual([
        '0000',
        '0001',
      ]);
      expect(await ids(store, { where, order: byName, limit: 3 })).toEqual(['0000', '0001', '0010']);
      const both = { half: 'true', third: 'true' };
      expect(await ids(store, { where: both, order: [{ by: 'name', descending: true }], limit: 2 })).toEqual([
        '0999',
        '0996',
      ]);
    },
  },
];

type Term = ['createdAt' | 'name' | 'id', boolean];

const byName = [{ by: 'name', descending: false }] as const;

async function ids(store: Store, query: Partial<ListQuery>): Promise<string[]> {
  const rows = await store.resources.list('stream', { account: 'main', limit: 1000, ...query });
  return rows.map(({ id }) => id);
}

/** 40 rows, four of them created in each millisecond, ten names; and three of another account. */
async function fill(store: Store): Promise<void> {
  const rows = Array.from({ length: 43 }, (_, index) =>
    row({
      id: `s${String(index).padStart(2, '0')}`,
      account: index < 40 ? 'main' : 'other',
      name: `name ${index % 10}`,
      createdAt: start + Math.floor(index / 4),
      body: JSON.stringify({ size: index % 5 }),
      indexes: { even: String(index % 2 === 0), third: String(index % 3 === 0) },
    }),
  );
  await create(store, rows);
}

async function come(store: Store, { createdAt, id, name = '' }: Place): Promise<void> {
  await create(store, [row({ createdAt, id, name, body: '{"size":4}', indexes: { even: 'true' } })]);
}

async function go(store: Store, id: string): Promise<void> {
  const stored = await store.resources.get('stream', id);
  if (!stored) throw new Error(`${id} is gone already`);
  await store.write({
    ...{ at: start, events: [] },
    rows: [{ ...row({ ...stored, body: null }), revision: stored.revision }],
  });
}

async function goAndComeBack(store: Store, id: string): Promise<void> {
  const stored = await store.resources.get('stream', id);
  if (!stored) throw new Error(`${id} is gone already`);
  await go(store, id);
  const number = Number(id.slice(1, 3));
  const indexes = { even: String(id.includes('-') || number % 2 === 0), third: String(number % 3 === 0) };
  await create(store, [row({ ...stored, indexes })]);
}
