import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import type { OpenedStore } from './check.ts';
import { modelStore } from './model.ts';
import { storeConformance } from './suite.ts';

storeConformance('sqlite, file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-store-'));
  const file = join(folder, 'data', 'store.db');
  let current = sqliteStore({ file });
  return {
    store: current,
    async reopen() {
      await current.close();
      current = sqliteStore({ file });
      return current;
    },
    async close() {
      await current.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

storeConformance('sqlite, memory', async () => {
  const store = sqliteStore({ file: ':memory:' });
  return { store, reopen: async () => store, close: () => store.close() };
});

// The model passes what it is the measure of; otherwise the generated sequences would compare two mistakes.
storeConformance('model', async (): Promise<OpenedStore> => {
  const store = modelStore();
  return { store, reopen: async () => store, close: () => store.close() };
});
