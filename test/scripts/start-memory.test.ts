import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** What a program that the start script runs sees. */
function settings(env: Record<string, string>): string {
  const script = 'console.log(process.env.MIMALLOC_PURGE_DELAY, process.env.MIMALLOC_PURGE_HOLES)';
  const { PATH = '' } = process.env;
  const { stdout } = spawnSync('sh', ['scripts/bun.sh', '-e', script], { cwd: root, env: { PATH, ...env } });
  return String(stdout).trim();
}

test('the start script lets freed memory go back to the system, unless it is told otherwise', () => {
  expect(settings({})).toBe('10000 0');
  expect(settings({ MIMALLOC_PURGE_DELAY: '-1', MIMALLOC_PURGE_HOLES: '1' })).toBe('-1 1');
});
