import { readFileSync, unlinkSync } from 'node:fs';
import type { Blobs } from '../../core/ports/blobs.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';

/** Blobs in memory that outlive a crash. Files are taken in one go: virtual time does not wait for a disk. */
export function worldBlobs(now?: () => number): Blobs {
  const blobs = modelBlobs(now);
  return {
    ...blobs,
    async adopt(key, file, options) {
      const outcome = await blobs.put(key, readFileSync(file), options);
      if (outcome.outcome === 'ok') unlinkSync(file);
      return outcome;
    },
    close: async () => {},
  };
}
