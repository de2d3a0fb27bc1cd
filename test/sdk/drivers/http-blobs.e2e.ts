/** The real server on a driver for blobs that a plugin brings, which the config names by its path. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { root, startServer } from '../../e2e/harness/server.ts';
import { upload } from '../../e2e/harness/uploads.ts';
import { httpBlobServer } from './http-blob-server.ts';
import { httpBlobs } from './http-blobs.ts';

const store = httpBlobServer();
const folder = mkdtempSync(join(tmpdir(), 'millrace-driver-'));
afterAll(async () => {
  await store.stop();
  rmSync(folder, { recursive: true });
});
const plugin = join(import.meta.dirname, 'http-blobs.ts');

function configOf(blobs: string): string {
  const file = join(folder, 'config.json');
  const plugins = { [plugin]: { url: store.url } };
  writeFileSync(file, JSON.stringify({ drivers: { blobs }, plugins }));
  return file;
}

describe('a driver for blobs of a plugin', () => {
  it('has the files of uploads, and gives them back', async () => {
    await using server = await startServer({ env: { MILLRACE_CONFIG: configOf(plugin) } });
    const clip = join(folder, 'clip.mp4');
    const words = ['-v', 'error', '-i', join(root, 'demo/clip.flv'), '-t', '4', '-c', 'copy', clip];
    expect(spawnSync('ffmpeg', words).status).toBe(0);
    const { assetId, body } = await upload(server, clip);
    const answer = await fetch(body.downloadUrl);
    expect(Buffer.from(await answer.arrayBuffer()).equals(await readFile(clip))).toBe(true);
    const blobs = httpBlobs(store.url);
    const { blobs: kept } = await blobs.list(`assets/${assetId}/`, { limit: 100 });
    expect(kept.length).toBeGreaterThan(0);
    await blobs.close();
  });

  it('is refused by name where no plugin has it', () => {
    const { status, stderr } = spawnSync(process.execPath, ['runtime/main.ts'], {
      cwd: root,
      encoding: 'utf8',
      env: {
        ...{ PATH: process.env.PATH ?? '', MILLRACE_CONFIG: configOf('@acme/gcs') },
        ...{ MILLRACE_DATA_DIR: join(folder, 'data') },
      },
    });
    expect(status).toBe(78);
    expect(stderr).toContain('drivers.blobs: no plugin @acme/gcs is enabled; name it under plugins too');
  });
});
