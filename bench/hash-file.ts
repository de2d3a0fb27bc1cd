/** Reads a file and makes both hashes of an upload on one thread: prints how many ms that took. */
import { createHash } from 'node:crypto';
import { openSync, readSync } from 'node:fs';

const [path = ''] = process.argv.slice(2);
const file = openSync(path, 'r');
const piece = new Uint8Array(1_048_576);
const hashes = [createHash('md5'), createHash('sha256')];
const began = performance.now();
for (let count = readSync(file, piece); count > 0; count = readSync(file, piece))
  for (const hash of hashes) hash.update(piece.subarray(0, count));
for (const hash of hashes) hash.digest();
console.log(performance.now() - began);
