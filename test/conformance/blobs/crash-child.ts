import { writeSync } from 'node:fs';
import type { Blobs } from '../../../core/ports/blobs.ts';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { s3Blobs } from '../../../runtime/drivers/blobs/s3/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { bytesOf, hashOf, inPieces, mebibyte } from './fixtures.ts';

/** Puts and uploads without end, and says at once what it begins and what was acknowledged. Killed by its parent. */
const { folder, options } = JSON.parse(process.argv[2] ?? '');
const blobs: Blobs = 'folder' in options ? fsBlobs(options) : s3Blobs({ ...options, clock: systemClock() });
const say = (message: object) => writeSync(1, `${JSON.stringify(message)}\n`);
const partSize = 5 * mebibyte;

await blobs.open();
say({ ready: true });

async function putAgainAndAgain(key: string, length: number): Promise<never> {
  for (let version = 1; ; version++) {
    const bytes = bytesOf(length + version, version + length);
    say({ puts: key, version, hash: hashOf(bytes) });
    await blobs.put(key, inPieces(bytes));
    say({ put: key, version });
  }
}

async function uploadAgainAndAgain(): Promise<never> {
  for (let round = 1; ; round++) {
    const bytes = bytesOf(3 * partSize - round, round);
    const upload = await blobs.uploads.begin(`${folder}u/${round}.bin`, { partSize });
    say({ upload, size: bytes.length, seed: round });
    for (const number of [2, 1, 3]) {
      const part = { number, bytes: bytes.subarray((number - 1) * partSize, number * partSize) };
      await blobs.uploads.part(upload, part);
      say({ part: number, of: upload.id });
    }
    await blobs.uploads.complete(upload, { size: bytes.length, ifAbsent: true });
    say({ completed: upload.id });
  }
}

await Promise.all([
  putAgainAndAgain(`${folder}small.bin`, 1000),
  putAgainAndAgain(`${folder}middle.bin`, mebibyte),
  putAgainAndAgain(`${folder}large.bin`, 20 * mebibyte),
  ...(blobs.adopting === 'copy' ? [uploadAgainAndAgain()] : []),
]);
