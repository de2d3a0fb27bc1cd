import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PackedFile, Packer, PackOptions, PackSource } from '../../../core/ports/packer.ts';
import { diskReason, isDiskFull } from '../../base/disk.ts';
import { ownMemory, ownThread } from '../../base/own-thread.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { FromWorker, Packed, ToWorker } from './pack-worker.ts';

const defaults = {
  /** Files that are packed at a time. One takes up to 50 MiB of memory with the older CID profile. */
  running: 2,
  /** Files that wait for those; further ones are `packing.unavailable`. */
  waiting: 1000,
  /** Bytes that were read of one file and are not packed yet. */
  perFile: 4 * 1_048_576,
};
/** Bytes of one file after which the free disk space is checked again. */
const checkStep = 64 * 1_048_576;
/** How long, ms, a thread may take to close a file that is not wanted any more, before it is terminated. */
const dropTime = 10_000;

/** Packs files to `folder`, each in a thread of its own, and makes blobs of them. `reserve`: bytes of the disk to leave free. */
export function packer(options: {
  readonly folder: string;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly reserve: number;
  /** Of tests: another thread, other limits. */
  readonly worker?: URL;
  readonly limits?: Partial<typeof defaults>;
}): Packer {
  const { folder, blobs, reserve } = options;
  const limits = { ...defaults, ...options.limits };
  const running = new Map<Job, Promise<PackedFile>>();
  const turns = new Semaphore(limits);
  const closing = new AbortController();

  const checkRoom = async () => {
    const { bavail, bsize } = await statfs(folder).catch((error: Error) => {
      throw unavailable(diskReason(error), error);
    });
    const promised = [...running.keys()].reduce((sum, { left }) => sum + left, 0);
    if (bavail * bsize - promised < reserve) throw noRoom();
  };

  /** To a file of this machine, and from there to its place. */
  const packed = async (job: Job, given: PackOptions): Promise<PackedFile> => {
    const path = join(folder, `${uuid()}${ending}`);
    const signal = AbortSignal.any([given.signal, closing.signal]);
    // Where storing the CAR is a copy, packing is half of the work.
    const share = blobs.adopting === 'copy' ? 0.5 : 1;
    const progress = (fraction: number) => given.progress?.(fraction * share);
    try {
      await checkRoom();
      const reader = await readerOf(job.source, { blobs, signal });
      const how = { ...options, path, profile: given.profile, signal, progress, checkRoom };
      const { cid, name, size, places } = await inThread(job, reader, { ...how, perFile: limits.perFile });
      const key = `${given.folder}${name}.car`;
      // A CAR that is there already holds the same file: its readers are not disturbed.
      await blobs.adopt(key, path, { size, ifAbsent: true, signal: given.signal });
      return { cid, key, size, places };
    } finally {
      // What the disk does not remove now, the next start does.
      await rm(path, { force: true }).catch(() => {});
    }
  };

  return {
    async open() {
      await mkdir(folder, { recursive: true });
      const left = (await readdir(folder)).filter((name) => name.endsWith(ending));
      for (const name of left) await rm(join(folder, name), { force: true });
    },
    async pack(source, given) {
      if (closing.signal.aborted) throw closing.signal.reason;
      const leave = await turns.take(given.signal);
      if (leave === 'full') throw unavailable(`${limits.waiting} files wait to be packed`);
      const job: Job = { source, size: sizeOf(source), left: sizeOf(source) };
      try {
        const run = packed(job, given);
        running.set(job, run);
        return await run;
      } finally {
        running.delete(job);
        leave();
      }
    },
    async close() {
      const reason = unavailable('the server is stopping');
      closing.abort(reason);
      turns.refuse(reason);
      await Promise.allSettled(running.values());
    },
  };
}

/** A file that is being packed. */
interface Job {
  readonly source: PackSource;
  readonly size: number;
  /** Bytes by which its CAR is still going to grow, about. */
  left: number;
}

interface Packing {
  readonly path: string;
  readonly profile: PackOptions['profile'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly perFile: number;
  readonly worker?: URL;
  progress(fraction: number): void;
  checkRoom(): Promise<void>;
}

/** After this the thread is gone, and after a throw nobody writes to the path any more. */
async function inThread(job: Job, reader: Reader, how: Packing): Promise<Packed> {
  const { path, profile, clock, signal, perFile, progress, checkRoom, worker = ownWorker } = how;
  const done = Promise.withResolvers<Packed>();
  const closed = Promise.withResolvers<void>();
  let unpacked = 0;
  let packed = 0;
  let wake = () => {};
  const thread = ownThread<ToWorker, FromWorker>(worker, {
    hear(message) {
      if ('done' in message) return done.resolve(message.done);
      if ('failed' in message) {
        closed.resolve();
        return done.reject(faultOf(message.failed));
      }
      unpacked -= message.taken;
      packed += message.taken;
      progress(packed / job.size);
      wake();
    },
    ended(reason) {
      closed.resolve();
      done.reject(unavailable(reason));
    },
  });
  const feed = async () => {
    let read = 0;
    let checkedAt = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const bytes = ownMemory(next.value);
      if (bytes.byteLength === 0) continue;
      read += bytes.byteLength;
      unpacked += bytes.byteLength;
      job.left = Math.max(0, job.size - read);
      thread.send({ bytes }, [bytes.buffer]);
      while (unpacked > perFile)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (read - checkedAt < checkStep) continue;
      checkedAt = read;
      await checkRoom();
    }
    if (!signal.aborted) thread.send({ end: true });
  };
  const abort = () => done.reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    thread.send({ begin: { path, profile } });
    feed().catch(done.reject);
    return await done.promise;
  } catch (error) {
    reader.cancel().catch(() => {});
    thread.send({ drop: true });
    const cancel = clock.at(clock.now() + dropTime, closed.resolve);
    await closed.promise;
    cancel();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    thread.end();
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function readerOf(
  source: PackSource,
  { blobs, signal }: { blobs: Blobs; signal: AbortSignal },
): Promise<Reader> {
  // A copy: the thread takes the memory of what it is given.
  if ('bytes' in source) return new Blob([new Uint8Array(source.bytes)]).stream().getReader();
  const found = await blobs.get(source.key, { signal });
  if (found.outcome === 'ok' && found.blob.size === source.size) return found.body.getReader();
  if (found.outcome === 'ok') found.body.cancel().catch(() => {});
  const message = 'The file was replaced or deleted before it could be packed for IPFS.';
  throw new Fault('packing.changed', { status: 409, message });
}

function sizeOf(source: PackSource): number {
  return 'bytes' in source ? source.bytes.byteLength : source.size;
}

function faultOf(error: { message: string; code: string }): Fault {
  return isDiskFull(error) ? noRoom() : unavailable(diskReason(error), new Error(error.message));
}

function noRoom(): Fault {
  const message = 'This node has no disk space left to pack the file for IPFS.';
  return new Fault('packing.full', { status: 507, message });
}

function unavailable(reason: string, cause?: unknown): Fault {
  const message = `The file could not be packed for IPFS: ${reason}.`;
  return new Fault('packing.unavailable', { status: 503, message, retryAfter: 5, cause });
}

const ownWorker = new URL('./pack-worker.ts', import.meta.url);
const ending = '.car';
