import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { start } from '../store/fixtures.ts';
import { modelStore } from '../store/model.ts';
import { jobsConformance } from './suite.ts';
import { virtualTime } from './time.ts';

jobsConformance('sqlite, file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-jobs-'));
  const file = join(folder, 'store.db');
  let current = sqliteStore({ file });
  const open = () => ({ store: current, jobs: current.jobs });
  const time = virtualTime(start);
  return {
    ...open(),
    time,
    async reopen() {
      await current.close();
      current = sqliteStore({ file });
      return open();
    },
    async close() {
      await current.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

jobsConformance('sqlite, memory', async () => {
  const store = sqliteStore({ file: ':memory:' });
  const opened = { store, jobs: store.jobs };
  const about = { time: virtualTime(start) };
  return { ...opened, ...about, reopen: async () => opened, close: () => store.close() };
});

// The model passes what it is the measure of; otherwise the generated sequences would compare two mistakes.
jobsConformance('model', async () => {
  const store = modelStore();
  const opened = { store, jobs: store.jobs };
  const about = { time: virtualTime(start) };
  return { ...opened, ...about, reopen: async () => opened, close: () => store.close() };
});
