import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';
import { bytesOf, hashOf, inPieces, mebibyte } from './fixtures.ts';

/** Runs on a disk of 16 MiB, and one line of JSON says what came of filling it. */
const [disk = '', elsewhere = ''] = process.argv.slice(2);
const folder = join(disk, 'blobs');
mkdirSync(folder);
const blobs = fsBlobs({ folder });
await blobs.open();
const codeOf = (work: Promise<unknown>) =>
  work.then(
    (outcome) => (outcome as { outcome?: string }).outcome ?? outcome,
    (error) => error.code,
  );
const small = bytesOf(4 * mebibyte);
const before = await codeOf(blobs.put('a/a.bin', small));
const put = await codeOf(blobs.put('a/a.bin', inPieces(bytesOf(20 * mebibyte))));
const scratch = readdirSync(join(folder, '.scratch')).length;
const kept = await blobs.get('a/a.bin');
const isWhole = kept.outcome === 'ok' && hashOf(await new Response(kept.body).bytes()) === hashOf(small);
const after = await codeOf(blobs.put('a/c.bin', inPieces(bytesOf(8 * mebibyte))));
// From another disk a file cannot be given another name: it is copied.
const file = join(elsewhere, 'spool');
writeFileSync(file, small);
await blobs.delete(['a/c.bin']);
const adopted = await codeOf(blobs.adopt('a/d.bin', file));
const listed = (await blobs.list('', { limit: 10 })).blobs.map(({ key, size }) => [key, size]);
await blobs.close();
const left = readdirSync(join(folder, '.scratch')).length;
console.log(JSON.stringify({ before, put, scratch, isWhole, after, adopted, listed, left }));
