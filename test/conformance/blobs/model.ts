import { readFile, unlink } from 'node:fs/promises';
import { checkBlobKeys, missingParts, rangeOf } from '../../../core/plugin/blob-key.ts';
import {
  type BlobFacts,
  type Blobs,
  type BlobUpload,
  type BlobUploads,
  type PutOutcome,
  typeOf,
} from '../../../core/ports/blobs.ts';

/**
 * The port in memory, as simply as it can be said: what the drivers are compared with.
 * @param now epoch ms, for tests in virtual time
 */
export function modelBlobs(now: () => number = Date.now): Blobs {
  const kept = new Map<string, { bytes: Uint8Array; etag: string; modified: number }>();
  let count = 0;

  const factsOf = (key: string): BlobFacts | undefined => {
    const found = kept.get(key);
    if (!found) return undefined;
    return { key, size: found.bytes.length, etag: found.etag, modified: found.modified, type: typeOf(key) };
  };
  const place = (key: string, { bytes, ifAbsent }: { bytes: Uint8Array; ifAbsent?: boolean }): PutOutcome => {
    if (ifAbsent && kept.has(key)) return { outcome: 'conflict' };
    count += 1;
    const etag = `m${count}`;
    kept.set(key, { bytes: bytes.slice(), etag, modified: now() });
    return { outcome: 'ok', etag, size: bytes.length };
  };

  return {
    adopting: 'copy',
    async open() {},
    async close() {},
    async put(key, source, options = {}) {
      checkBlobKeys([key]);
      const pieces =
        source instanceof Uint8Array ? [source] : await Array.fromAsync(source, (piece) => piece.slice());
      return place(key, { bytes: new Uint8Array(Buffer.concat(pieces)), ...options });
    },
    async adopt(key, file, options = {}) {
      checkBlobKeys([key]);
      const outcome = await place(key, { bytes: new Uint8Array(await readFile(file)), ...options });
      if (outcome.outcome === 'ok') await unlink(file);
      return outcome;
    },
    async head(key) {
      return factsOf(key);
    },
    async get(key, { range } = {}) {
      const found = kept.get(key);
      const blob = factsOf(key);
      if (!found || !blob) return { outcome: 'absent' };
      const part = rangeOf(range, blob.size);
      if (part === 'beyond') return { outcome: 'beyond', size: blob.size };
      const bytes = found.bytes.slice(part.from, part.to);
      return { outcome: 'ok', blob, ...part, body: new Blob([bytes as never]).stream() as never };
    },
    async list(prefix, { limit, after = '' }) {
      const keys = [...kept.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
      const blobs = keys.slice(0, limit).flatMap((key) => factsOf(key) ?? []);
      return keys.length > limit ? { blobs, next: keys[limit - 1] } : { blobs };
    },
    async delete(keys) {
      for (const key of keys) kept.delete(key);
    },
    uploads: modelUploads({
      now,
      head: async (key) => factsOf(key),
      put: async (key, bytes, options) => place(key, { bytes: bytes as Uint8Array, ...options }),
    }),
  };
}

/** Uploads in parts before a store that has none: what is complete is put there. */
export function modelUploads({
  put,
  head,
  now = Date.now,
}: Pick<Blobs, 'put' | 'head'> & { now?: () => number }): BlobUploads {
  const uploads = new Map<
    string,
    { key: string; begun: number; parts: Map<number, Uint8Array>; etag?: string; size: number }
  >();
  let count = 0;
  const open = ({ id }: Pick<BlobUpload, 'id'>) => {
    const found = uploads.get(id);
    return found?.etag === undefined ? found : undefined;
  };

  return {
    async begin(key, { partSize }) {
      count += 1;
      uploads.set(`${count}`, { key, begun: now(), parts: new Map(), size: 0 });
      return { key, id: `${count}`, partSize };
    },
    async part(upload, { number, bytes }) {
      const found = open(upload);
      found?.parts.set(number, bytes.slice());
      return found ? 'ok' : 'gone';
    },
    async parts(upload) {
      const found = open(upload);
      if (!found) return 'gone';
      return [...found.parts]
        .map(([number, bytes]) => ({ number, size: bytes.length }))
        .sort((a, b) => a.number - b.number);
    },
    async complete({ id, key, partSize }, { size, ...condition }) {
      const found = uploads.get(id);
      if (!found) return { outcome: 'gone' };
      if (found.etag !== undefined)
        return (await head(key))?.etag === found.etag
          ? { outcome: 'ok', etag: found.etag, size: found.size }
          : { outcome: 'gone' };
      const parts = [...found.parts].map(([number, bytes]) => ({ number, size: bytes.length }));
      const missing = missingParts(parts, { size, partSize });
      if (missing.length > 0) return { outcome: 'incomplete', missing };
      const numbers = Array.from({ length: Math.ceil(size / partSize) }, (_, index) => index + 1);
      const all = Buffer.concat(numbers.map((number) => found.parts.get(number) as Uint8Array));
      const outcome = await put(key, new Uint8Array(all), condition);
      if (outcome.outcome === 'ok') Object.assign(found, { etag: outcome.etag, size });
      return outcome;
    },
    async abort({ id }) {
      if (uploads.get(id)?.etag === undefined) uploads.delete(id);
    },
    async unfinished({ before, limit }) {
      const found = [...uploads].filter(([, one]) => one.etag === undefined && one.begun < before);
      return found.slice(0, limit).map(([id, { key, begun }]) => ({ key, id, begun }));
    },
  };
}
