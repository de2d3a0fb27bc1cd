import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Store, StoredResource } from '../../../core/ports/store.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { create, row, write } from './fixtures.ts';

const golden = new URL('../../golden/0.1.0.db.gz', import.meta.url);
/** What the file holds, by kind. Version 0.1.0 made the row numbers of most kinds out of ids. */
const kinds = { account: 2, 'api-token': 1, asset: 2, recording: 1, stream: 4, task: 2, webhook: 1 };

let folder: string;
let store: Store;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-golden-'));
  const file = join(folder, 'millrace.db');
  writeFileSync(file, gunzipSync(readFileSync(golden)));
  store = sqliteStore({ file });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const all = (kind: string): Promise<StoredResource[]> => store.resources.list(kind, { limit: 100 });

test('rows of 0.1.0 are listed, and found by id and by index', async () => {
  for (const [kind, count] of Object.entries(kinds)) {
    const rows = await all(kind);
    expect(rows, kind).toHaveLength(count);
    for (const one of rows) expect(await store.resources.get(kind, one.id)).toEqual(one);
  }
  for (const { id, body } of await all('stream')) {
    const { streamKey, parentId } = JSON.parse(body) as { streamKey: string; parentId: string | null };
    if (parentId !== null) continue;
    expect((await store.resources.find('stream', 'streamKey', streamKey))?.id).toBe(id);
  }
});

test('rows of 0.1.0 are changed and removed beside new ones', async () => {
  const [changed] = await all('webhook');
  const [removed] = await all('task');
  if (!changed || !removed) throw new Error('the file holds both');
  const { outcome } = await store.write(
    write({
      rows: [
        { ...changed, kind: 'webhook', body: '"changed"', indexes: {} },
        { ...removed, kind: 'task', body: null, indexes: {} },
      ],
    }),
  );
  expect(outcome).toBe('ok');
  expect((await store.resources.get('webhook', changed.id))?.body).toBe('"changed"');
  expect(await store.resources.get('task', removed.id)).toBeUndefined();
  await create(store, [row({ id: 'new', indexes: { own: 'new' } })]);
  expect((await store.resources.find('stream', 'own', 'new'))?.id).toBe('new');
  expect(await all('stream')).toHaveLength(kinds.stream + 1);
});
