import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { derivedId } from '../../../core/ids.ts';
import { type SqliteStore, sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { reader } from '../../../runtime/drivers/store/sqlite/reader.ts';
import { firstMade, madeNumber } from '../../../runtime/drivers/store/sqlite/row-number.ts';
import { type Statements, statements } from '../../../runtime/drivers/store/sqlite/statements.ts';
import { create, row, start, write } from './fixtures.ts';

let folder: string;
let file: string;
let store: SqliteStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-store-'));
  file = join(folder, 'store.db');
  store = sqliteStore({ file });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Uuids that end alike, so that one number is made of all of them. */
const alike = (count: number, end = '00000000beef') =>
  Array.from({ length: count }, (_, n) => `${String(n).padStart(8, '0')}-1111-4111-8111-${end}`);

/** What is known of a row by each way to look for it. */
async function ways(id: string, kind = 'stream') {
  const { resources } = store;
  const [listed] = await resources.list(kind, { where: { own: id }, limit: 2 });
  return [
    (await resources.get(kind, id))?.body,
    (await resources.read(kind, id))?.body,
    (await resources.find(kind, 'own', id))?.body,
    listed?.body,
  ];
}
const own = (id: string, parts: Partial<Parameters<typeof row>[0]> = {}) =>
  row({ id, body: `"${id}"`, indexes: { own: id }, ...parts });
const everyWay = (body: string | undefined) => [body, body, body, body];

/** The numbers of the rows, by id. */
async function numbers(): Promise<Record<string, number>> {
  await store.idle();
  const db = new Database(file, { readonly: true });
  const rows = db.query('SELECT id, key, typeof(key) AS type FROM resources').all();
  db.close();
  return Object.fromEntries(
    (rows as { id: string; key: number; type: string }[]).map(({ id, key, type }) => {
      expect(type).toBe('integer');
      return [id, key];
    }),
  );
}

test('a number is made of kind and id: whole, the same each time, and of no id that is no uuid', () => {
  const kinds = ['stream', 'session', 'asset', 'task', 'api-token', 'webhook', 'account', '', 'ø'];
  for (let n = 0; n < 2000; n += 1) {
    const kind = kinds[n % kinds.length];
    const id = derivedId(`id ${n}`);
    const number = madeNumber(kind, id) ?? 0;
    expect(Number.isSafeInteger(number) && number >= firstMade).toBe(true);
    expect(madeNumber(kind, id)).toBe(number);
  }
  const highest = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
  for (const kind of kinds) expect(Number.isSafeInteger(madeNumber(kind, highest))).toBe(true);
  const wrong = ['', 's1', 'admin-account', 'x'.repeat(36), `${highest}0`, highest.slice(1)];
  // The end of the last is read as a number below 0.
  for (const id of [...wrong, highest.replace(/.{12}$/, '-00000000001')]) {
    expect([id, madeNumber('stream', id)]).toEqual([id, undefined]);
  }
});

test('rows lie where their ids say; others one after the other, below all that are made', async () => {
  const [id = ''] = alike(1);
  await create(store, [own('first'), own(id), own('second')]);
  expect(await numbers()).toEqual({ first: 1, [id]: madeNumber('stream', id), second: 2 });
  for (const one of ['first', id, 'second']) expect(await ways(one)).toEqual(everyWay(`"${one}"`));
});

test('a row is looked up by its number with no index, and once for each kind is that compiled', async () => {
  const [id = ''] = alike(1);
  await create(store, [own(id)]);
  const db = new Database(file, { readonly: true });
  const sql = statements(db);
  const texts: string[] = [];
  const noted: Statements = {
    prepare<Row>(text: string) {
      texts.push(text);
      return sql.prepare<Row>(text);
    },
    finalize: () => sql.finalize(),
  };
  const { get, read } = reader(noted);
  const before = texts.length;
  for (const kind of ['stream', 'stream', 'asset', 'asset']) {
    const isThere = kind === 'stream';
    expect([get({ kind, id })?.id, read({ kind, id })?.body]).toEqual(
      isThere ? [id, `"${id}"`] : [undefined, undefined],
    );
  }
  const lookUps = texts.slice(before);
  expect(lookUps).toHaveLength(4);
  for (const text of lookUps) {
    const plan = sql.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all();
    expect(plan).toMatchObject([
      { detail: expect.stringMatching(/USING INTEGER PRIMARY KEY \(rowid=\?\)$/) },
    ]);
  }
  // It becomes a part of a statement.
  expect(() => read({ kind: "stream' OR 1 --", id })).toThrow(RangeError);
  sql.finalize();
  db.close();
});

test('ids of one number are rows of their own, also when the first of them goes and comes again', async () => {
  const ids = alike(3);
  const [first = '', second = '', third = ''] = ids;
  for (const id of ids) await create(store, [own(id)]);
  expect(await numbers()).toEqual({ [first]: madeNumber('stream', first), [second]: 1, [third]: 2 });
  for (const id of ids) expect(await ways(id)).toEqual(everyWay(`"${id}"`));
  expect(await ways(alike(4)[3])).toEqual(everyWay(undefined));

  await store.write(write({ rows: [{ ...own(first), body: null, revision: 1 }] }));
  expect(await ways(first)).toEqual(everyWay(undefined));
  for (const id of [second, third]) expect(await ways(id)).toEqual(everyWay(`"${id}"`));
  expect(await create(store, [own(second)])).toMatchObject({ outcome: 'conflict' });
  await create(store, [own(first, { body: '"again"' })]);
  expect(await store.resources.get('stream', first)).toMatchObject({ revision: 1 });
  expect(await ways(first)).toEqual(everyWay('"again"'));
  await store.write(write({ rows: [{ ...own(third, { body: '"new"' }), revision: 1 }] }));
  expect(await ways(third)).toEqual(everyWay('"new"'));
});

test('kinds that share a number hold rows of the same id apart', async () => {
  const [id = ''] = alike(1);
  const kinds = Array.from({ length: 40 }, (_, n) => `kind-${n}`);
  const shared = new Set(kinds.map((kind) => madeNumber(kind, id)));
  expect(shared.size).toBeLessThan(kinds.length);
  await create(
    store,
    kinds.map((kind) => own(id, { kind, body: `"${kind}"` })),
  );
  for (const kind of kinds) expect(await ways(id, kind)).toEqual(everyWay(`"${kind}"`));
});

test('rows of a version that counted them are found, changed and removed', async () => {
  const ids = Array.from({ length: 5 }, (_, n) => derivedId(`old ${n}`));
  await create(
    store,
    ids.map((id) => own(id)),
  );
  await store.close();
  const db = new Database(file);
  db.run(`UPDATE entries SET resource = (SELECT count(*) FROM resources r WHERE r.key <= entries.resource)`);
  db.run(`CREATE TEMP TABLE places AS SELECT key, row_number() OVER (ORDER BY key) AS place FROM resources`);
  db.run(`UPDATE resources SET key = (SELECT place FROM places WHERE places.key = resources.key)`);
  db.close();
  store = sqliteStore({ file });
  expect(Object.values(await numbers()).toSorted()).toEqual([1, 2, 3, 4, 5]);
  for (const id of ids) expect(await ways(id)).toEqual(everyWay(`"${id}"`));
  const [changed = '', removed = '', ...rest] = ids;
  await store.write(
    write({
      rows: [
        { ...own(changed, { body: '"new"' }), revision: 1 },
        { ...own(removed), body: null, revision: 1 },
      ],
    }),
  );
  expect(await ways(changed)).toEqual(everyWay('"new"'));
  expect(await ways(removed)).toEqual(everyWay(undefined));
  const fresh = derivedId('fresh');
  await create(store, [own(fresh), own(removed), own('named')]);
  const made = [fresh, removed].map((id) => [id, madeNumber('stream', id)]);
  expect(await numbers()).toMatchObject({ ...Object.fromEntries(made), named: expect.any(Number) });
  for (const id of [...rest, fresh, removed, 'named']) expect(await ways(id)).toEqual(everyWay(`"${id}"`));
});

test('writes in any order leave what a map would hold, though numbers are taken all the time', async () => {
  const ids = [...alike(4), ...alike(4, '00000000cafe'), 'a', 'b', ...alike(2, '-00000000001')];
  const held = new Map<string, { body: string; revision: number }>();
  // Any sequence will do, as long as it is the same one each time.
  let seed = 7;
  const upTo = (most: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % most;
  };
  for (let n = 0; n < 300; n += 1) {
    const id = ids[upTo(ids.length)];
    const known = held.get(id);
    const body = known && upTo(2) === 0 ? null : `"${n}"`;
    const createdAt = start + upTo(3);
    const { outcome } = await store.write(
      write({ rows: [{ ...own(id, { body, createdAt }), revision: known?.revision ?? 0 }] }),
    );
    expect(outcome).toBe('ok');
    if (body === null) held.delete(id);
    else held.set(id, { body, revision: (known?.revision ?? 0) + 1 });
    expect(await ways(id)).toEqual(everyWay(body ?? undefined));
  }
  for (const id of ids) expect(await ways(id)).toEqual(everyWay(held.get(id)?.body));
  const all = await store.resources.list('stream', { limit: 100 });
  expect(new Map(all.map(({ id, body, revision }) => [id, { body, revision }]))).toEqual(held);
});
