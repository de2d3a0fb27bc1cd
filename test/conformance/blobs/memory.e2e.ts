import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { engineFor } from '../../kit/engines.ts';

/** MiB. `BLOB_SIZE=1024 npm run e2e -- test/conformance/blobs/memory` for the figures of docs/performance.md#files. */
const size = Number(process.env.BLOB_SIZE ?? 384);
/** Parts under way, and what the collector lets lie. It does not grow with the blob. */
const most = 220;

const server = await engineFor('s3');

/** Memory is measured in a process that does nothing else. */
async function measure(options: object): Promise<Record<'put' | 'read' | 'slow', { memory: number }>> {
  const script = fileURLToPath(new URL('./memory-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify({ options, size })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  expect((await once(child, 'close'))[0]).toBe(0);
  console.log(`${size} MiB: ${output.trim()}`);
  return JSON.parse(output);
}

describe('a blob of any size takes the same memory', () => {
  test('in a folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-memory-'));
    try {
      for (const { memory } of Object.values(await measure({ folder }))) expect(memory).toBeLessThan(most);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.skipIf(server.isMissing)('in S3', async () => {
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = await server.shared();
    const options = { endpoint, bucket, region, accessKeyId, secretAccessKey };
    for (const { memory } of Object.values(await measure(options))) expect(memory).toBeLessThan(most);
  });
});
