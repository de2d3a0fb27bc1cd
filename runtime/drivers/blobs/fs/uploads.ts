import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkBlobKeys,
  checkBlobLimit,
  checkCondition,
  checkPart,
  checkPartSize,
  missingParts,
  partsOf,
} from '../../../../core/plugin/blob-key.ts';
import type {
  BlobPart,
  BlobUploads,
  PutCondition,
  PutOutcome,
  UnfinishedUpload,
} from '../../../../core/ports/blobs.ts';
import { unavailable } from '../faults.ts';
import { absent, onDisk, unless } from './disk.ts';
import { completedAge, piece } from './limits.ts';
import type { Scratch, ScratchFile } from './scratch.ts';
import { syncFolder } from './tree.ts';

export interface DirectoryUploads extends BlobUploads {
  /** Removes what is remembered of uploads that were completed long ago. */
  sweep(): Promise<void>;
}

/**
 * An upload is a folder: `upload.json`, and a file for each part, which gets its name when its bytes are on disk. Completing
 * copies them into one file, so that a part that is still being written by somebody who was given up can never change a blob. What
 * is large and of this machine is better adopted.
 */
export function directoryUploads(
  folder: string,
  options: {
    scratch: Scratch;
    commit(file: ScratchFile, to: { key: string } & PutCondition): Promise<PutOutcome>;
    etag(key: string): Promise<string | undefined>;
    inTurn<T>(name: string, work: () => Promise<T>): Promise<T>;
  },
): DirectoryUploads {
  const { scratch, commit, etag, inTurn } = options;
  const pathOf = (id: string) => {
    if (!idShape.test(id))
      throw new RangeError(`${JSON.stringify(String(id).slice(0, 100))} is no id of an upload`);
    return join(folder, id);
  };

  /** Undefined: there is none. */
  const read = async (path: string): Promise<Upload | undefined> => {
    const file = join(path, 'upload.json');
    const text = await unless(absent, { what: file, work: readFile(file, 'utf8') });
    return text === undefined ? undefined : (JSON.parse(text) as Upload);
  };
  const write = async (path: string, upload: Upload) => {
    const file = await scratch.write(once(Buffer.from(JSON.stringify(upload))));
    await onDisk(path, rename(file.path, join(path, 'upload.json')));
    await syncFolder(path);
  };
  const partsIn = async (path: string): Promise<BlobPart[]> => {
    const names = (await unless(absent, { what: path, work: readdir(path) })) ?? [];
    const parts = names
      .filter((name) => partShape.test(name))
      .map(async (name) => {
        const file = join(path, name);
        const stats = await unless(absent, { what: file, work: lstat(file) });
        return { number: Number(name), size: stats?.size ?? 0 };
      });
    return (await Promise.all(parts)).sort((a, b) => a.number - b.number);
  };
  const removeParts = async (path: string, parts: readonly BlobPart[]) => {
    for (const { number } of parts) await unlink(join(path, `${number}`)).catch(() => {});
  };

  return {
    async begin(key, { partSize }) {
      checkBlobKeys([key]);
      checkPartSize(partSize);
      const id = randomUUID();
      const path = pathOf(id);
      await onDisk(path, mkdir(path));
      await write(path, { key, begun: Date.now() });
      await syncFolder(folder);
      return { key, id, partSize };
    },

    async part({ id, partSize }, { number, bytes, signal }) {
      const path = pathOf(id);
      checkPart({ number, bytes }, partSize);
      signal?.throwIfAborted();
      const upload = await read(path);
      if (!upload || upload.blob !== undefined) return 'gone';
      const file = await scratch.write(once(bytes));
      const done = await unless(absent, {
        what: path,
        work: rename(file.path, join(path, `${number}`)).then(() => true),
      });
      if (done) await syncFolder(path);
      else await unlink(file.path).catch(() => {});
      return done ? 'ok' : 'gone';
    },

    async parts({ id }) {
      const path = pathOf(id);
      const upload = await read(path);
      return !upload || upload.blob !== undefined ? 'gone' : partsIn(path);
    },

    async complete({ key, id, partSize }, { size, ...condition }) {
      const path = pathOf(id);
      checkCondition(condition);
      const { count } = partsOf(size, partSize);
      return inTurn(id, async () => {
        const upload = await read(path);
        if (upload?.key !== key) return { outcome: 'gone' };
        if (upload.blob !== undefined) {
          const isThere = (await etag(key)) === upload.blob.etag;
          return isThere ? { outcome: 'ok', ...upload.blob } : { outcome: 'gone' };
        }
        const parts = await partsIn(path);
        const { placing } = upload;
        if (placing !== undefined && (await etag(key)) === placing.etag) {
          await write(path, { ...upload, blob: placing });
          await removeParts(path, parts);
          return { outcome: 'ok', ...placing };
        }
        const missing = missingParts(parts, { size, partSize });
        if (missing.length > 0) return { outcome: 'incomplete', missing };
        const numbers = parts.map(({ number }) => number).filter((number) => number <= count);
        const file = await scratch.write(contents(path, { numbers }));
        if (file.size !== size) {
          await unlink(file.path).catch(() => {});
          throw unavailable(`the parts of ${key} changed while they were put together`);
        }
        // A death before the blob has its name leaves the parts: the next call puts the same bytes together again. After a
        // death behind that it meets this etag, and knows the blob for its own.
        await write(path, { ...upload, placing: { etag: file.etag, size } }).catch(async (error) => {
          await unlink(file.path).catch(() => {});
          throw error;
        });
        const outcome = await commit(file, { key, ...condition });
        if (outcome.outcome === 'conflict') return outcome;
        await write(path, { ...upload, blob: { etag: outcome.etag, size } });
        await removeParts(path, parts);
        return outcome;
      });
    },

    async abort({ id }) {
      const path = pathOf(id);
      await inTurn(id, async () => {
        const upload = await read(path);
        if (upload?.blob !== undefined) return;
        await onDisk(path, rm(path, { recursive: true, force: true, maxRetries: 3 }));
        await syncFolder(folder);
      });
    },

    async unfinished({ before, limit }) {
      checkBlobLimit(limit);
      const uploads: UnfinishedUpload[] = [];
      for (const id of await onDisk(folder, readdir(folder))) {
        const upload = idShape.test(id) ? await read(join(folder, id)) : undefined;
        if (upload && upload.blob === undefined && upload.begun < before)
          uploads.push({ key: upload.key, id, begun: upload.begun });
        if (uploads.length === limit) break;
      }
      return uploads;
    },

    async sweep() {
      const now = Date.now();
      for (const id of await onDisk(folder, readdir(folder))) {
        if (!idShape.test(id)) continue;
        const path = join(folder, id);
        const upload = await read(path);
        const stats = await unless(absent, { what: path, work: lstat(path) });
        const isOld = stats !== undefined && now - stats.mtimeMs > completedAge;
        if (isOld && upload === undefined) await rmdir(path).catch(() => {});
        if (upload?.blob === undefined) continue;
        if (isOld) await rm(path, { recursive: true, force: true }).catch(() => {});
        // What a death left of one that was completed.
        else await removeParts(path, await partsIn(path));
      }
    },
  };
}

interface Upload {
  readonly key: string;
  /** Epoch ms. */
  readonly begun: number;
  /** What it was about to become. */
  readonly placing?: { readonly etag: string; readonly size: number };
  /** What it has become. */
  readonly blob?: { readonly etag: string; readonly size: number };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

async function* contents(
  path: string,
  { numbers }: { numbers: readonly number[] },
): AsyncGenerator<Uint8Array> {
  for (const number of numbers) {
    const file = join(path, `${number}`);
    const stream = createReadStream(file, { highWaterMark: piece });
    try {
      yield* stream as AsyncIterable<Uint8Array>;
    } catch (error) {
      await onDisk(file, Promise.reject(error));
    } finally {
      stream.destroy();
    }
  }
}

const idShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const partShape = /^[1-9]\d{0,4}$/;
