import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';

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
      const acknowledged = await runAndKill(file, 20 + Math.random() * 150);
      expect(acknowledged.size).toBeGreaterThan(0);
      const store = sqliteStore({ file });
      const timers = new Map((await store.timers()).map((timer) => [timer.actor, timer.due]));
      const orders = new Set((await store.orders()).map((order) => order.id));
      for (const [index, sequence] of acknowledged) {
        const actor = `a/${index}`;
        const stored = (await store.load(actor))?.sequence ?? 0;
        expect(stored).toBeGreaterThanOrEqual(sequence);
        expect(await store.resources.get('stream', `s${index}`)).toMatchObject({ body: String(stored) });
        expect((await store.resources.find('stream', 'at', String(stored)))?.body).toBe(String(stored));
        expect(timers.get(actor)).toBe(stored);
        for (let step = 1; step <= stored; step++) expect(orders.has(`${actor}@${step}`)).toBe(true);
        expect(orders.has(`${actor}@${stored + 1}`)).toBe(false);
        expect(await store.events.position(`${actor}@${stored}`)).toBeDefined();
        expect(await store.events.position(`${actor}@${stored + 1}`)).toBeUndefined();
      }
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

/** The last acknowledged sequence of each worker, as far as the child got to say it. */
async function runAndKill(file: string, milliseconds: number): Promise<Map<number, number>> {
  const child = run(file);
  const closed = once(child, 'close');
  let output = '';
  child.stdout.on('data', (chunk) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), milliseconds);
    output += chunk;
  });
  const [, signal] = await closed;
  expect(signal).toBe('SIGKILL');
  const acknowledged = new Map<number, number>();
  // The last line may be cut short by the kill.
  for (const line of output.split('\n').slice(0, -1)) {
    const [index, sequence] = line.split(' ').map(Number);
    acknowledged.set(index ?? -1, sequence ?? -1);
  }
  return acknowledged;
}

function run(file: string) {
  const script = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
  return spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
}
