import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Blobs, BlobUpload } from '../../../core/ports/blobs.ts';
import { bytesOf, hashOf, keysBelow, read, unfinishedBelow } from './fixtures.ts';

/**
 * A process that writes is killed at some moment; another then finds all that was acknowledged, everything whole, and
 * what was not finished among the unfinished, where it can go on.
 * @param options as the driver takes them
 */
export async function killWhileWriting(
  open: () => Promise<Blobs>,
  { folder, options, after }: { folder: string; options: object; after: number },
): Promise<void> {
  const said = await runAndKill({ folder, options }, after);
  const blobs = await open();
  for (const key of new Set(said.flatMap(({ puts }) => puts ?? []))) {
    const acknowledged = Math.max(0, ...said.map(({ put, version = 0 }) => (put === key ? version : 0)));
    const bytes = await read(blobs, key);
    const hash = typeof bytes === 'string' ? bytes : hashOf(bytes);
    const version =
      hash === 'absent' ? 0 : said.find((one) => one.puts === key && one.hash === hash)?.version;
    expect([key, hash, version ?? -1]).toEqual([key, hash, expect.any(Number)]);
    expect(version ?? -1).toBeGreaterThanOrEqual(acknowledged);
  }
  const unfinished = await unfinishedBelow(blobs, folder);
  for (const { upload, size = 0, seed = 0 } of said) {
    if (!upload) continue;
    const { id, key, partSize } = upload;
    const bytes = bytesOf(size, seed);
    const isCompleted = said.some(({ completed }) => completed === id);
    const parts = await blobs.uploads.parts(upload);
    if (!isCompleted && parts !== 'gone') {
      // Only a completion that was not acknowledged can have left it, and then it is whole.
      const found = await read(blobs, key);
      if (found !== 'absent') expect(hashOf(found as Uint8Array)).toBe(hashOf(bytes));
      expect(unfinished.some((one) => one.key === key && id.endsWith(one.id))).toBe(true);
      const acknowledged = said.flatMap(({ part, of }) => (part !== undefined && of === id ? [part] : []));
      expect(parts.map(({ number }) => number)).toEqual(expect.arrayContaining(acknowledged));
      for (const number of [1, 2, 3].filter((one) => !parts.some((part) => part.number === one)))
        await blobs.uploads.part(upload, {
          number,
          bytes: bytes.subarray((number - 1) * partSize, number * partSize),
        });
    }
    expect(await blobs.uploads.complete(upload, { size, ifAbsent: true })).toMatchObject({
      outcome: 'ok',
      size,
    });
    expect(hashOf((await read(blobs, key)) as Uint8Array)).toBe(hashOf(bytes));
  }
  // Of the puts that were cut off S3 has parts, and an upload of which nobody heard may have begun.
  for (const one of await unfinishedBelow(blobs, folder)) await blobs.uploads.abort(one);
  expect(await unfinishedBelow(blobs, folder)).toEqual([]);
  await blobs.delete(await keysBelow(blobs, folder));
  await blobs.close();
}

interface Said {
  readonly puts?: string;
  readonly put?: string;
  readonly version?: number;
  readonly hash?: string;
  readonly upload?: BlobUpload;
  readonly size?: number;
  readonly seed?: number;
  readonly part?: number;
  readonly of?: string;
  readonly completed?: string;
}

async function runAndKill(config: object, after: number): Promise<Said[]> {
  const script = fileURLToPath(new URL('./crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let output = '';
  child.stdout.on('data', (chunk) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), after);
    output += chunk;
  });
  const [, signal] = await closed;
  expect(signal).toBe('SIGKILL');
  // The last line may be cut short by the kill.
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Said);
}
