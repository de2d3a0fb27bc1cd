import { Database } from 'bun:sqlite';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Fault } from '../../../core/base/fault.ts';
import { fullOrder } from '../../../core/http/listing.ts';
import { ownThread } from '../../../runtime/base/own-thread.ts';
import { Channel } from '../../../runtime/drivers/store/sqlite/channel.ts';
import { database, mapped, readOnlyDatabase } from '../../../runtime/drivers/store/sqlite/database.ts';
import { type SqliteStore, sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { jobSql } from '../../../runtime/drivers/store/sqlite/job-rows.ts';
import { keysSql, listSql } from '../../../runtime/drivers/store/sqlite/list-sql.ts';
import { reader } from '../../../runtime/drivers/store/sqlite/reader.ts';
import { group } from '../../../runtime/drivers/store/sqlite/serve.ts';
import { type Statements, statements } from '../../../runtime/drivers/store/sqlite/statements.ts';
import { writer } from '../../../runtime/drivers/store/sqlite/writer.ts';
import { acquireOne, create, event, row, start, step, write } from './fixtures.ts';

let folder: string;
let file: string;
const stores: SqliteStore[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-store-'));
  file = join(folder, 'store.db');
});

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

const open = (options: Partial<Parameters<typeof sqliteStore>[0]> = {}) => {
  const store = sqliteStore({ file, ...options });
  stores.push(store);
  return store;
};

test('nothing is opened before the first call, and a store never used closes', async () => {
  const store = open();
  await store.close();
  expect(existsSync(file)).toBe(false);
  await expect(store.load('a/1')).rejects.toMatchObject({ code: 'store.closed' });
  // While the server stops strangers are told so, and not where its data lie.
  const closed = { code: 'store.closed', message: 'the store is closed' };
  await expect(store.resources.get('stream', 's1')).rejects.toMatchObject(closed);
});

test('the file is readable by its owner only, and a clean close leaves no log beside it', async () => {
  const store = open();
  await store.acquire(1);
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(existsSync(`${file}-wal`)).toBe(true);
  await store.close();
  expect(existsSync(`${file}-wal`)).toBe(false);
});

test('every call says why the file cannot be opened', async () => {
  writeFileSync(file, 'not a database, but some text that is long enough to be looked at'.repeat(20));
  const text = open();
  const message = expect.stringContaining(file);
  await expect(text.acquire(1)).rejects.toMatchObject({ name: 'Fault', code: 'store.open', message });
  await expect(text.load('a/1')).rejects.toMatchObject({ name: 'Fault', code: 'store.open', message });
  const blocked = open({ file: join(file, 'below', 'a-file.db') });
  await expect(blocked.timers()).rejects.toMatchObject({ name: 'Fault', code: 'store.open' });
});

test('a file of a newer schema, or of another program, is left alone', async () => {
  const newer = open();
  await newer.acquire(1);
  await newer.close();
  const db = new Database(file);
  db.run('PRAGMA user_version = 99');
  db.close();
  await expect(open().acquire(1)).rejects.toMatchObject({ name: 'Fault', code: 'store.newer' });

  const foreign = join(folder, 'foreign.db');
  const other = new Database(foreign);
  other.run('CREATE TABLE theirs (key INTEGER)');
  other.close();
  await expect(open({ file: foreign }).acquire(1)).rejects.toMatchObject({ code: 'store.foreign' });
});

test('a file of the first schema gets what came later, and keeps what it has', async () => {
  const first = open();
  await create(first, [row({ name: 'kept' })]);
  await first.close();
  const db = new Database(file);
  // As the first version left it: without the indexes of the second and what the later ones brought.
  for (const index of ['resources_name', 'resources_id']) db.run(`DROP INDEX ${index}`);
  for (const table of ['jobs', 'job_totals', 'facts']) db.run(`DROP TABLE ${table}`);
  db.run('ALTER TABLE partitions DROP COLUMN consumed');
  for (const table of ['timers', 'orders']) db.run(`ALTER TABLE ${table} DROP COLUMN partition`);
  db.run('PRAGMA user_version = 1');
  db.close();
  const lines: object[] = [];
  const info = (_: string, fields?: object) => void lines.push(fields ?? {});
  const log = { info } as unknown as Parameters<typeof sqliteStore>[0]['log'];
  const [kept] = await open({ log }).resources.list('stream', {
    ...{ account: 'main', limit: 5, order: [{ by: 'name', descending: false }] },
  });
  expect(kept).toMatchObject({ id: 's1', name: 'kept' });
  expect(lines).toMatchObject([{ schema: 5, migrated: 4 }]);
});

test('a second store on the same file is refused until the first is closed', async () => {
  const first = open();
  const lease = await acquireOne(first);
  const refused = { name: 'Fault', code: 'store.locked', message: expect.stringContaining(file) };
  await expect(open().acquire(1)).rejects.toMatchObject(refused);
  expect(await first.commit(step(lease))).toMatchObject({ outcome: 'ok' });
  await first.close();
  expect(await open().acquire(1)).toHaveLength(1);
});

test('a read after an acknowledgement sees the commit', async () => {
  const store = open();
  const lease = await acquireOne(store);
  for (let sequence = 0; sequence < 200; sequence++) {
    await store.commit(step(lease, { sequence }));
    expect(await store.load('a/1')).toMatchObject({ sequence: sequence + 1 });
  }
});

test('a step that throws is undone alone', async () => {
  for (const place of [file, ':memory:']) {
    const store = open({ file: place });
    const lease = await acquireOne(store);
    // A bug in a caller: the row has no name, which the table refuses after the state is written.
    const broken = step(lease, { actor: 'a/2', rows: [row({ name: null as unknown as string })] });
    const outcomes = await Promise.allSettled([
      store.commit(step(lease, { actor: 'a/1', events: [event('e1')] })),
      store.commit(broken),
      store.commit(step(lease, { actor: 'a/3', events: [event('e2')] })),
    ]);
    expect(outcomes.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store.load('a/2')).toBeUndefined();
    expect(await store.events.last()).toBe(2);
  }
});

test('commits pass a long sweep', async () => {
  const store = open();
  const lease = await acquireOne(store);
  await store.write(write({ events: Array.from({ length: 5000 }, (_, index) => event(`e${index}`)) }));
  let isSwept = false;
  const sweep = store.sweep(start + 1).then(() => {
    isSwept = true;
  });
  expect(await store.commit(step(lease))).toMatchObject({ outcome: 'ok' });
  expect(isSwept).toBe(false);
  await sweep;
  expect(await store.events.after(0, { limit: 1000 })).toEqual([]);
});

test('a full queue is refused and forgotten when it has drained', async () => {
  const store = open({ maxWaiting: 3 });
  const lease = await acquireOne(store);
  const commits = [1, 2, 3, 4, 5].map((actor) => store.commit(step(lease, { actor: `a/${actor}` })));
  const outcomes = await Promise.allSettled(commits);
  expect(outcomes.map((one) => one.status)).toEqual([
    ...['fulfilled', 'fulfilled', 'fulfilled'],
    ...['rejected', 'rejected'],
  ]);
  expect(outcomes[3]).toMatchObject({ reason: { code: 'store.busy', status: 503, retryAfter: 1 } });
  expect(await store.load('a/4')).toBeUndefined();
  expect(await store.commit(step(lease, { actor: 'a/4' }))).toMatchObject({ outcome: 'ok' });
});

test.each(['throws', 'exits'])(
  'a worker that %s fails what waits as unknown, and everything after',
  async (way) => {
    const script = join(folder, 'worker.ts');
    const end = way === 'throws' ? `throw new Error('broken on purpose')` : 'process.exit(3)';
    writeFileSync(script, `self.onmessage = () => { ${end}; };`);
    const failures: Fault[] = [];
    const broken = new Channel((handlers) => ownThread(new URL(`file://${script}`), handlers), {
      maxWaiting: 10,
      onFailure: (failure) => failures.push(failure),
    });
    const sweep = { before: 0, upTo: 0 };
    const waiting = await Promise.allSettled([
      broken.call('acquire', { count: 1 }),
      broken.call('sweep', sweep),
    ]);
    expect(waiting).toMatchObject([
      { reason: { code: 'store.unknown', status: 503 } },
      { reason: { code: 'store.unknown', status: 503 } },
    ]);
    await expect(broken.call('acquire', { count: 1 })).rejects.toMatchObject({ code: 'store.failed' });
    expect(broken.failure).toBe(failures[0]);
    expect(failures).toHaveLength(1);
  },
);

test('whoever hears of a write sees it, also when others read earlier in the same turn', async () => {
  const store = open();
  await store.acquire(1);
  let isOver = false;
  const read = () => {
    if (isOver) return;
    void store.resources.get('stream', 'none');
    setImmediate(read);
  };
  read();
  const missed: string[] = [];
  for (let n = 0; n < 200; n += 1) {
    await create(store, [row({ id: `s${n}` })]);
    if (!(await store.resources.get('stream', `s${n}`))) missed.push(`s${n}`);
  }
  isOver = true;
  expect(missed).toEqual([]);
});

test('counting lets others have their turn each thousand rows', async () => {
  const store = open();
  await store.acquire(1);
  const rows = Array.from({ length: 5000 }, (_, index) => row({ id: `s${index}`, createdAt: index }));
  await create(store, rows);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await store.resources.count('stream', { account: 'main' })).toBe(5000);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('idle waits for calls that follow from answers', async () => {
  const store = open();
  const lease = await acquireOne(store);
  const chain = (async () => {
    for (let sequence = 0; sequence < 5; sequence++) await store.commit(step(lease, { sequence }));
  })();
  await store.idle();
  expect(await store.load('a/1')).toMatchObject({ sequence: 5 });
  await chain;
});

test('a full disk is answered, undone, and survived', () => {
  const { db, close } = database(':memory:');
  const sql = statements(db);
  const insert = sql.prepare('INSERT INTO cursors (consumer, position) VALUES (?, 1)');
  const run = group({ db, sql }, ({ argument }) => insert.run('x'.repeat(argument as number)).changes);
  const pages = (db.query('PRAGMA page_count').get() as { page_count: number }).page_count;
  db.run(`PRAGMA max_page_count = ${pages + 4}`);
  const request = (id: number, size: number) => ({ id, name: 'advance' as const, argument: size });
  expect(run([request(1, 10), request(2, 1_000_000)])).toMatchObject([
    { id: 1 },
    { id: 2, problem: { code: 'store.full', status: 507 } },
  ]);
  expect(run([request(3, 12)])).toEqual([{ id: 3, value: 1 }]);
  sql.finalize();
  close();
});

test('no list scans a table or sorts', async () => {
  const store = open();
  await create(store, [row({ indexes: { tag: 'x' } })]);
  await store.close();
  const db = new Database(file);
  const sql = statements(db);
  const plan = (text: string) => planOf(sql, text).join('\n');
  for (const byEntry of [true, false]) {
    for (const hasAccount of [true, false]) {
      for (const hasAfter of [true, false]) {
        const shape = { byEntry, hasAccount, hasAfter, others: byEntry ? 2 : 0 };
        const text = plan(listSql(shape));
        expect({ shape, text }).toMatchObject({ text: expect.not.stringMatching(/SCAN|TEMP B-TREE/) });
        if (hasAccount) expect(text).toMatch(/account=\?/);
        if (hasAfter) expect(text).toMatch(/created_at,id\)</);
        const keys = plan(keysSql(shape));
        expect({ shape, keys }).toMatchObject({ keys: expect.not.stringMatching(/SCAN|TEMP B-TREE/) });
        expect(keys).toMatch(/COVERING INDEX|PRIMARY KEY/);
      }
    }
  }
  for (const by of ['createdAt', 'name', 'id'] as const) {
    for (const descending of [true, false]) {
      const order = fullOrder([{ by, descending }]);
      for (const others of [0, 2]) {
        const text = plan(listSql({ byEntry: false, hasAccount: true, hasAfter: true, order, others }));
        expect({ by, text }).toMatchObject({ text: expect.not.stringMatching(/SCAN|TEMP B-TREE/) });
        expect(text).toMatch(descending ? /account=\? AND .*</ : /account=\? AND .*>/);
      }
    }
  }
  sql.finalize();
  db.close();
});

test('nothing that is asked about jobs looks through the queue', async () => {
  const store = open();
  await store.acquire(1);
  await store.close();
  const db = new Database(file);
  const sql = statements(db);
  for (const [name, text] of Object.entries(jobSql)) {
    const walked = planOf(sql, text).filter((detail) => /SCAN (?!job_totals)|TEMP B-TREE/.test(detail));
    expect({ name, walked }).toEqual({ name, walked: [] });
  }
  sql.finalize();
  db.close();
});

test('a folder that is not there is made, for its owner only', async () => {
  mkdirSync(join(folder, 'some'));
  await open({ file: join(folder, 'some', 'deep', 'store.db') }).acquire(1);
  expect(statSync(join(folder, 'some', 'deep')).mode & 0o077).toBe(0);
});

test('no statement is planned otherwise for being compiled once', async () => {
  await open().acquire(1);
  await stores.pop()?.close();
  const db = new Database(file);
  const sql = statements(db);
  const texts: string[] = [];
  const noted: Statements = {
    prepare<Row>(text: string) {
      texts.push(text);
      return sql.prepare<Row>(text);
    },
    finalize: () => sql.finalize(),
  };
  reader(noted);
  writer(noted);
  expect(texts.length).toBeGreaterThan(40);
  const plain = (text: string) =>
    (db.query(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]).map(({ detail }) => detail);
  for (const text of texts) expect({ text, plan: planOf(sql, text) }).toEqual({ text, plan: plain(text) });
  sql.finalize();
  db.close();
});

test('reading maps as much of the file as the limit says', async () => {
  await open().acquire(1);
  const db = readOnlyDatabase(file);
  expect(db.query('PRAGMA mmap_size').get()).toEqual({ mmap_size: mapped });
  db.close();
});

/** How SQLite would answer it, compiled as the store does. */
function planOf(sql: Statements, text: string): string[] {
  return sql
    .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map(({ detail }) => detail);
}
