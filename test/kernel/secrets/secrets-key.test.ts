import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSecrets } from '../../../runtime/boot/secrets-key.ts';
import { type SqliteStore, sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { threadHere } from '../../kit/thread-here.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

let dataDir: string;
let store: SqliteStore;
const clock = virtualClock({ start: 0, idle: async () => {} });

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'millrace-secrets-'));
  store = sqliteStore({ file: ':memory:', thread: threadHere });
  await store.acquire(1);
});
afterEach(async () => {
  await store.close();
  await rm(dataDir, { recursive: true });
});

const start = (more: { secretsKey?: string; isAlone?: boolean } = {}) =>
  openSecrets({ drivers: { store, clock }, deployment: { dataDir }, ...more });
const refused = (problem: RegExp) => ({ code: 'secrets.key', problems: [expect.stringMatching(problem)] });

it('makes a key at the first start, for its owner alone, and uses it from then on', async () => {
  const sealed = (await start()).seal('a secret', 'x');
  const file = join(dataDir, 'secrets.key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).toMatch(/^[\w-]{43}\n$/);
  expect((await start()).open(sealed, 'x')).toBe('a secret');
  // The config may name the key of the file.
  const secretsKey = (await readFile(file, 'utf8')).trim();
  await rm(file);
  expect((await start({ secretsKey })).open(sealed, 'x')).toBe('a secret');
});

it('refuses another key than that of the data, and a lost one', async () => {
  await start();
  const file = join(dataDir, 'secrets.key');
  await expect(start({ secretsKey: 'another key of 30 characters!!' })).rejects.toMatchObject(
    refused(/^secretsKey: is not the key/),
  );
  await writeFile(file, 'another key\n');
  await expect(start()).rejects.toMatchObject(refused(/secrets\.key: is not the key/));
  await writeFile(file, '\n');
  await expect(start()).rejects.toMatchObject(refused(/secrets\.key: is missing or empty/));
  await rm(file);
  await expect(start()).rejects.toMatchObject(refused(/secrets\.key: is missing or empty/));
  await expect(stat(file)).rejects.toThrow();
});

it('starts again after a start that died before it had written the key', async () => {
  await writeFile(join(dataDir, 'secrets.key'), '', { mode: 0o600 });
  expect((await start()).keyFor('x')).toEqual((await start()).keyFor('x'));
});

it('needs the key in the config where there may be several nodes, the same on all of them', async () => {
  await expect(start({ isAlone: false })).rejects.toMatchObject(refused(/^secretsKey: is required/));
  const key = { secretsKey: 'the key of all the nodes', isAlone: false };
  const [one, other] = await Promise.all([start(key), start(key)]);
  expect(other?.open(one?.seal('a secret', 'x') ?? '', 'x')).toBe('a secret');
  await expect(start({ ...key, secretsKey: 'the key of one node alone' })).rejects.toMatchObject(
    refused(/^secretsKey: is not the key/),
  );
});

it('has in the store nothing that opens a secret', async () => {
  const secrets = await start();
  const row = await store.resources.get('secrets', 'check');
  const { check } = JSON.parse(row?.body ?? '') as { check: string };
  expect(check).toHaveLength(32);
  expect(Buffer.from(secrets.keyFor('sealed values')).toString('hex')).not.toContain(check);
});
