import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('a full disk costs a gap, and recording goes on by itself when there is room', async () => {
  expect(await recordOn({ reserve: 1 })).toEqual({
    issue: expect.stringContaining('The disk of the server is full'),
    others: 'ENOSPC',
    gaps: 1,
    isGap: true,
    isLasting: true,
  });
});

test('a reserve of the disk is left to others', async () => {
  expect(await recordOn({ reserve: 6 << 20 })).toEqual({
    issue: expect.stringContaining('nearly full'),
    others: 'ok',
    gaps: 1,
    isGap: true,
    isLasting: true,
  });
});

async function recordOn({ reserve }: { reserve: number }): Promise<unknown> {
  const disk = mkdtempSync(join(tmpdir(), 'millrace-full-'));
  try {
    const script = fileURLToPath(new URL('./full-disk-child.ts', import.meta.url));
    // A disk of its own, in a name space of its own: it is gone with the process.
    const mount = 'mount -t tmpfs -o size=48m tmpfs "$1" && exec "$0" "$2" "$1" "$3"';
    const command = ['-Urm', 'sh', '-c', mount, process.execPath, disk, script, `${reserve}`];
    const child = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    expect((await once(child, 'close'))[0]).toBe(0);
    return JSON.parse(output);
  } finally {
    rmSync(disk, { recursive: true });
  }
}
