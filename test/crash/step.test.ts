import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { stepCrashes } from './step-crashes.ts';

stepCrashes('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
  const file = join(folder, 'store.db');
  return {
    open: async () => sqliteStore({ file }),
    remove: () => rm(folder, { recursive: true }),
  };
});
