import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { mebibyte } from './fixtures.ts';

test('a full disk is a Fault, nothing half-done stays, and with room it goes on', async () => {
  const place = mkdtempSync(join(tmpdir(), 'millrace-full-'));
  const [disk, elsewhere] = [join(place, 'disk'), join(place, 'elsewhere')];
  for (const folder of [disk, elsewhere]) mkdirSync(folder);
  try {
    const script = fileURLToPath(new URL('./full-child.ts', import.meta.url));
    // A disk of its own, in a name space of its own: it is gone with the process.
    const mount = 'mount -t tmpfs -o size=16m tmpfs "$1" && exec "$0" "$2" "$1" "$3"';
    const command = ['-Urm', 'sh', '-c', mount, process.execPath, disk, script, elsewhere];
    const child = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(JSON.parse(output)).toEqual({
      before: 'ok',
      put: 'blobs.full',
      scratch: 0,
      isWhole: true,
      after: 'ok',
      adopted: 'ok',
      listed: [
        ['a/a.bin', 4 * mebibyte],
        ['a/d.bin', 4 * mebibyte],
      ],
      left: 0,
    });
    expect(existsSync(join(elsewhere, 'spool'))).toBe(false);
  } finally {
    rmSync(place, { recursive: true });
  }
});
