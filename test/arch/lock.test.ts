import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('package-lock.json names the packages of every platform, or `npm ci` refuses it (mend it with `npm run lock`)', () => {
  const check = spawnSync(process.execPath, ['scripts/complete-lock.mjs', '--check'], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  expect(check.stdout).toBe('');
  expect(check.status).toBe(0);
});
