import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, realpath, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pulledStream } from '../../../../core/base/pulled-stream.ts';
import { endings } from '../../../../core/blobs/endings.ts';
import { closed, startFault, unavailable } from '../../../../core/blobs/faults.ts';
import { piecesOf } from '../../../../core/blobs/source.ts';
import { checkBlobKeys, rangeOf } from '../../../../core/plugin/blob-key.ts';
import type {
  Blobs,
  BlobUploads,
  GetOptions,
  GetOutcome,
  PutOptions,
  PutOutcome,
} from '../../../../core/ports/blobs.ts';
import { codeOf } from '../../../base/disk.ts';
import { ownMark } from '../../../base/process-mark.ts';
import { adoptedFile } from '../adopted-file.ts';
import { onDisk } from './disk.ts';
import { factsOf } from './etag.ts';
import { piece, Scratch, type ScratchFile } from './scratch.ts';
import { syncFolder, Tree } from './tree.ts';
import { filesAtOnce, listTree } from './walk.ts';

export interface FsBlobsOptions {
  /** Made when it is missing. `.scratch` in it is the driver's own. */
  readonly folder: string;
}

/**
 * Blobs in a directory: each is the file that its key names. Several processes may share it. The runtime's threads for files
 * do the work: the main thread never waits for the disk.
 */
export function fsBlobs({ folder }: FsBlobsOptions): Blobs {
  const running = new Set<Promise<unknown>>();
  const ends = endings();
  let isClosed = false;
  let opened: Promise<OpenedFolder> | undefined;

  const ready = (): Promise<OpenedFolder> => {
    if (isClosed) return Promise.reject(closed());
    opened ??= openFolder(folder).catch((error) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  /** `close` waits for what changes something. */
  const change = async <T>(work: (opened: OpenedFolder) => Promise<T>): Promise<T> => {
    const run = ready().then(work);
    running.add(run);
    return run.finally(() => running.delete(run));
  };

  return {
    adopting: 'rename',

    async open() {
      await ready();
    },

    async put(key, source, { size, signal, ...condition } = {}) {
      checkBlobKeys([key]);
      const own = ends.begin(signal);
      return change(async ({ scratch, tree }) => {
        const file = await scratch.write(piecesOf(source, { size, signal: own.signal }));
        return commit(file, { tree, key, ...condition });
      }).finally(own.end);
    },

    async adopt(key, path, { size, signal, ...condition } = {}) {
      checkBlobKeys([key]);
      signal?.throwIfAborted();
      return change((opened) => adoptFile(opened, { key, path, size, signal, ...condition }));
    },

    async head(key) {
      checkBlobKeys([key]);
      const { tree } = await ready();
      const stats = await tree.look(key);
      return stats && factsOf(key, stats);
    },

    async get(key, { range, signal } = {}) {
      checkBlobKeys([key]);
      signal?.throwIfAborted();
      const { tree } = await ready();
      return readBlob(tree, { key, range, signal, ends });
    },

    async list(prefix, options) {
      return listTree((await ready()).tree, { prefix, ...options });
    },

    async delete(keys) {
      checkBlobKeys(keys);
      await change(async ({ tree }) => {
        for (let at = 0; at < keys.length; at += filesAtOnce) {
          await Promise.all(keys.slice(at, at + filesAtOnce).map((key) => tree.remove(key)));
        }
      });
    },

    uploads: noUploads,

    async close() {
      isClosed = true;
      ends.endAll(closed());
      await Promise.allSettled(running);
    },
  };
}

/** Gives a complete file its name, or removes it. */
async function commit(
  file: ScratchFile,
  options: { tree: Tree; key: string; ifAbsent?: boolean; isCallers?: boolean },
): Promise<PutOutcome> {
  const { tree, key, ifAbsent = false, isCallers = false } = options;
  let isDone = false;
  try {
    isDone = await tree.place(file.path, { key, isNew: ifAbsent });
  } finally {
    if (!isDone && !isCallers) await unlink(file.path).catch(() => {});
  }
  return isDone ? { outcome: 'ok', etag: file.etag, size: file.size } : { outcome: 'conflict' };
}

async function adoptFile(
  { scratch, tree }: OpenedFolder,
  options: PutOptions & { key: string; path: string },
): Promise<PutOutcome> {
  const { key, path, size, signal, ...condition } = options;
  const its = await adoptedFile(path, { size });
  const root = await lstat(tree.root);
  const isCallers = root.dev === its.dev;
  const source = () => piecesOf(createReadStream(path, { highWaterMark: piece }), { size, signal });
  const file = isCallers ? await scratch.seal(path) : await scratch.write(source());
  const outcome = await commit(file, { tree, key, ...condition, isCallers });
  if (outcome.outcome === 'ok') await unlink(path).catch(() => {});
  return outcome;
}

async function readBlob(
  tree: Tree,
  options: GetOptions & { key: string; ends: ReturnType<typeof endings> },
): Promise<GetOutcome> {
  const { key, range, signal, ends } = options;
  const handle = await tree.open(key);
  if (!handle) return { outcome: 'absent' };
  let isRead = false;
  try {
    const blob = factsOf(key, await onDisk(key, handle.stat({ bigint: true })));
    const part = rangeOf(range, blob.size);
    if (part === 'beyond') return { outcome: 'beyond', size: blob.size };
    isRead = true;
    const own = ends.begin(signal);
    const body = fileStream(handle, { what: key, ...part, signal: own.signal, onEnd: own.end });
    return { outcome: 'ok', blob, ...part, body };
  } finally {
    if (!isRead) await handle.close();
  }
}

/** A file of this machine is adopted under a new name, so nothing is uploaded in parts. */
const noUploads: BlobUploads = {
  begin: () => Promise.reject(new RangeError('a directory takes no uploads in parts: adopt the file')),
  part: async () => 'gone',
  parts: async () => 'gone',
  complete: async () => ({ outcome: 'gone' }),
  async abort() {},
  unfinished: async () => [],
};

interface OpenedFolder {
  readonly tree: Tree;
  readonly scratch: Scratch;
}

/**
 * Makes the folder when it is missing and finds out whether the disk can do what blobs need: be written to, synced and
 * linked. Fault `blobs.folder` names what it cannot.
 */
async function openFolder(folder: string): Promise<OpenedFolder> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    const root = await realpath(folder);
    const scratchFolder = join(root, '.scratch');
    await mkdir(scratchFolder, { recursive: true, mode: 0o750 });
    await syncFolder(root);
    const temporary = new Scratch(scratchFolder, { mark: await ownMark() });
    const file = await temporary.write(piecesOf(new Uint8Array(1), {}));
    const second = `${file.path}.${randomUUID()}`;
    await link(file.path, second).finally(() => unlink(file.path));
    await unlink(second);
    await temporary.sweep();
    return { tree: new Tree(root), scratch: temporary };
  } catch (error) {
    const why = (error as { problems?: string[] }).problems?.[0] ?? codeOf(error);
    if (why === '') throw error;
    throw startFault('blobs.folder', {
      message: `the folder of blobs ${folder} cannot be used: ${why}; it must be a folder that this process may write to, on a disk that knows hard links`,
      cause: error,
    });
  }
}

/** Bytes `from` up to `to` of an open file, which is closed at the end. A file that ends before is a Fault, never a short body. */
export function fileStream(
  handle: FileHandle,
  options: { what: string; from: number; to: number; signal?: AbortSignal; onEnd?: () => void },
): ReadableStream<Uint8Array> {
  const { what, from, to, signal, onEnd } = options;
  let at = from;
  return pulledStream({
    ...(signal && { signal }),
    isDone: () => at >= to,
    async next() {
      const wanted = Math.min(piece, to - at);
      const { bytesRead, buffer } = await onDisk(what, handle.read(new Uint8Array(wanted), 0, wanted, at));
      if (bytesRead === 0) throw unavailable(`${what} ends at ${at}, before ${to}`);
      at += bytesRead;
      return bytesRead === wanted ? buffer : buffer.subarray(0, bytesRead);
    },
    async end() {
      onEnd?.();
      await handle.close().catch(() => {});
    },
  });
}
