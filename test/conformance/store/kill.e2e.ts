import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { expectWhole, run, runUntil } from './kills.ts';

const rounds = 10;

/**
 * SIGKILL at random moments: what was acknowledged is there, each step is there whole or not at all, and the
 * next process opens the file with nothing to clean up. A kill spares the kernel's cache; that the disk is
 * synced before each answer is shown by the system call trace of `bench/store.ts`.
 */
test(`everything acknowledged survives a kill, ${rounds} rounds`, { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-kill-'));
  const file = join(folder, 'store.db');
  try {
    for (let round = 0; round < rounds; round++) {
      const acknowledged = await runUntil(file, {
        after: 20 + Math.random() * 150,
        kill: (child) => child.kill('SIGKILL'),
      });
      expect(acknowledged.size).toBeGreaterThan(0);
      const store = sqliteStore({ file });
      await expectWhole(store, acknowledged);
      await store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a second process is refused until the first one dies, however it dies', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-lock-'));
  const file = join(folder, 'store.db');
  const child = run(file);
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  const refused = sqliteStore({ file });
  const message = expect.stringContaining(file);
  await expect(refused.acquire(1)).rejects.toMatchObject({ name: 'Fault', code: 'store.locked', message });
  await expect(refused.orders()).rejects.toMatchObject({ code: 'store.locked' });
  await refused.close();
  child.kill('SIGKILL');
  await closed;
  const next = sqliteStore({ file });
  expect(await next.acquire(1)).toMatchObject([{ epoch: 2 }]);
  await next.close();
  rmSync(folder, { recursive: true, force: true });
});
