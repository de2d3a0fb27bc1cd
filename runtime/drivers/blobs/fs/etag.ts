import type { BigIntStats } from 'node:fs';
import type { BlobFacts } from '../../../../core/ports/blobs.ts';
import { typeOf } from '../../../../core/ports/blobs.ts';

/**
 * A file is never changed once it has its name, so its inode, its size and the time that was set when it was complete
 * tell two versions of a key apart, for the price of a `stat`: nothing beside the file has to be kept and nothing hashed. An
 * inode is used again at once after a deletion, which is why that time must differ: see `stamps`.
 */
export function etagOf(stats: BigIntStats): string {
  return [stats.ino, stats.size, stats.mtimeNs].map((number) => number.toString(36)).join('-');
}

export function factsOf(key: string, stats: BigIntStats): BlobFacts {
  return {
    key,
    size: Number(stats.size),
    etag: etagOf(stats),
    modified: Number(stats.mtimeNs / 1_000_000n),
    type: typeOf(key),
  };
}

/**
 * Times for files, in seconds: the wall clock, with the microseconds of another clock, and never the same twice in this process. Two
 * processes would have to reuse one inode for as many bytes within one microsecond.
 */
export function stamps(): () => number {
  let last = 0;
  return () => {
    const now = Date.now() * 1000 + (Math.floor(performance.now() * 1000) % 1000);
    last = Math.max(now, last + 1);
    return last / 1_000_000;
  };
}
