import { createReadStream } from 'node:fs';
import { type FileHandle, lstat, unlink } from 'node:fs/promises';
import {
  checkBlobKeys,
  checkCondition,
  checkEtag,
  checkListing,
  checkRange,
  rangeOf,
} from '../../../../core/plugin/blob-key.ts';
import type { Blobs, PutCondition, PutOutcome } from '../../../../core/ports/blobs.ts';
import { endings } from '../endings.ts';
import { closed, wrongLength } from '../faults.ts';
import { piecesOf } from '../source.ts';
import { onDisk } from './disk.ts';
import { factsOf } from './etag.ts';
import { piece, statAtOnce } from './limits.ts';
import { type OpenedFolder, openFolder } from './open.ts';
import { fileStream } from './read.ts';
import type { ScratchFile } from './scratch.ts';
import { turns } from './turns.ts';
import { type DirectoryUploads, directoryUploads } from './uploads.ts';
import { listTree } from './walk.ts';

export interface FsBlobsOptions {
  /** Made when it is missing. `.scratch`, `.uploads` and `.lock` in it are the driver's own. */
  readonly folder: string;
}

/**
 * Blobs in a directory, each the file that its key names. Several processes may share it. What takes time is done by the
 * runtime's threads for files: the main one never waits for the disk.
 */
export function fsBlobs({ folder }: FsBlobsOptions): Blobs {
  const inTurn = turns();
  const running = new Set<Promise<unknown>>();
  const ends = endings();
  let isClosed = false;
  let opened: Promise<Opened> | undefined;

  const open = async (): Promise<Opened> => {
    const parts = await openFolder(folder);
    const etag = (key: string) => parts.tree.etag(key);
    const uploads = directoryUploads(parts.uploads, { scratch: parts.scratch, commit, etag, inTurn });
    await uploads.sweep();
    return { ...parts, uploads };
  };
  const ready = (): Promise<Opened> => {
    if (isClosed) return Promise.reject(closed());
    opened ??= open().catch((error) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  /** What changes something is waited for by `close`. */
  const change = async <T>(work: (opened: Opened) => Promise<T>): Promise<T> => {
    const run = ready().then(work);
    running.add(run);
    return run.finally(() => running.delete(run));
  };

  /** Gives a complete file its name, or removes it. */
  const commit = async (
    file: ScratchFile,
    options: { key: string; isCallers?: boolean } & PutCondition,
  ): Promise<PutOutcome> => {
    const { key, ifAbsent = false, ifMatch, isCallers = false } = options;
    const { tree, lock } = (await opened) as Opened;
    const place = () => tree.place(file.path, { key, isNew: ifAbsent });
    const replace = async () => (await tree.etag(key)) === ifMatch && place();
    let isDone = false;
    try {
      isDone = await inTurn(key, () => (ifMatch === undefined ? place() : lock.hold(replace)));
    } finally {
      if (!isDone && !isCallers) await unlink(file.path).catch(() => {});
    }
    return isDone ? { outcome: 'ok', etag: file.etag, size: file.size } : { outcome: 'conflict' };
  };

  return {
    adopting: 'rename',

    async open() {
      await ready();
    },

    async put(key, source, { size, signal, ...condition } = {}) {
      checkBlobKeys([key]);
      checkCondition(condition);
      const own = ends.begin(signal);
      return change(async ({ scratch }) => {
        const file = await scratch.write(piecesOf(source, { size, signal: own.signal }));
        return commit(file, { key, ...condition });
      }).finally(own.end);
    },

    async adopt(key, path, { size, signal, ...condition } = {}) {
      checkBlobKeys([key]);
      checkCondition(condition);
      signal?.throwIfAborted();
      return change(async ({ scratch, tree }) => {
        const [root, its] = await Promise.all([lstat(tree.root), onDisk(path, lstat(path))]);
        if (!its.isFile()) throw new RangeError(`${path} is not a file`);
        if (size !== undefined && its.size !== size) {
          throw wrongLength(`${path} has ${its.size} bytes, not ${size}`);
        }
        const isCallers = root.dev === its.dev;
        const source = () => piecesOf(createReadStream(path, { highWaterMark: piece }), { size, signal });
        const file = isCallers ? await scratch.seal(path) : await scratch.write(source());
        const outcome = await commit(file, { key, ...condition, isCallers });
        if (outcome.outcome === 'ok') await unlink(path).catch(() => {});
        return outcome;
      });
    },

    async head(key) {
      checkBlobKeys([key]);
      const { tree } = await ready();
      return withFile(await tree.open(key), { key, use: async (_, facts) => facts });
    },

    async get(key, { range, ifMatch, signal } = {}) {
      checkBlobKeys([key]);
      if (range) checkRange(range);
      if (ifMatch !== undefined) checkEtag(ifMatch);
      signal?.throwIfAborted();
      const { tree } = await ready();
      const outcome = await withFile(await tree.open(key), {
        key,
        async use(handle, blob, keep) {
          if (ifMatch !== undefined && blob.etag !== ifMatch) return { outcome: 'changed' as const };
          const part = rangeOf(range, blob.size);
          if (part === 'beyond') return { outcome: 'beyond' as const, size: blob.size };
          keep();
          const own = ends.begin(signal);
          const body = fileStream(handle, { what: key, ...part, signal: own.signal, onEnd: own.end });
          return { outcome: 'ok' as const, blob, ...part, body };
        },
      });
      return outcome ?? { outcome: 'absent' };
    },

    async list(prefix, options) {
      checkListing(prefix, options);
      return listTree((await ready()).tree, { prefix, ...options });
    },

    async delete(keys) {
      checkBlobKeys(keys);
      await change(async ({ tree }) => {
        for (let at = 0; at < keys.length; at += statAtOnce) {
          const some = keys.slice(at, at + statAtOnce);
          await Promise.all(some.map((key) => inTurn(key, () => tree.remove(key))));
        }
      });
    },

    uploads: {
      begin: (key, options) => change(({ uploads }) => uploads.begin(key, options)),
      part: (upload, part) => change(({ uploads }) => uploads.part(upload, part)),
      parts: (upload) => change(({ uploads }) => uploads.parts(upload)),
      complete: (upload, options) => change(({ uploads }) => uploads.complete(upload, options)),
      abort: (upload) => change(({ uploads }) => uploads.abort(upload)),
      unfinished: (options) => change(({ uploads }) => uploads.unfinished(options)),
    },

    async close() {
      isClosed = true;
      ends.endAll(closed());
      await Promise.allSettled(running);
      (await opened?.catch(() => undefined))?.lock.close();
    },
  };
}

interface Opened extends Omit<OpenedFolder, 'uploads'> {
  readonly uploads: DirectoryUploads;
}

/** What `use` makes of an open file; undefined when there is none. It is closed afterwards, unless `keep` was called. */
async function withFile<T>(
  handle: FileHandle | undefined,
  options: {
    key: string;
    use(handle: FileHandle, facts: ReturnType<typeof factsOf>, keep: () => void): Promise<T>;
  },
): Promise<T | undefined> {
  if (!handle) return undefined;
  const { key, use } = options;
  let isKept = false;
  const keep = () => {
    isKept = true;
  };
  try {
    return await use(handle, factsOf(key, await onDisk(key, handle.stat({ bigint: true }))), keep);
  } finally {
    if (!isKept) await handle.close();
  }
}
