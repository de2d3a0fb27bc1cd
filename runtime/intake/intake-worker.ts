import { createHash, type Hash } from 'node:crypto';
import { closeSync, fdatasync, openSync, unlinkSync, writeSync } from 'node:fs';
import type { FromWorker, ToWorker } from './protocol.ts';

/** The thread that writes and hashes what is sent. */
interface Growing {
  readonly path: string;
  readonly file: number;
  readonly md5: Hash;
  readonly sha256: Hash;
  readonly sync: number;
  /** Bytes since the last sync began. */
  unsynced: number;
  syncing: Promise<void> | undefined;
  /** What went wrong; nothing more is written. */
  error?: Error;
}

const port = globalThis as unknown as Worker;
const growing = new Map<number, Growing>();

port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const { id } = data;
  if ('begin' in data) return attempt(id, () => begin(id, data.begin));
  const one = growing.get(id);
  if (one === undefined) {
    // It could not be begun, which was told.
    if ('drop' in data) say({ id, dropped: true });
    return;
  }
  if ('bytes' in data) return attempt(id, () => write(id, { one, bytes: data.bytes }));
  if ('end' in data) return void finish(id, one);
  return void drop(id, one);
};

function begin(id: number, { path, sync }: { path: string; sync: number }): void {
  const file = openSync(path, 'wx', 0o600);
  const hashes = { md5: createHash('md5'), sha256: createHash('sha256') };
  growing.set(id, { path, file, ...hashes, sync, unsynced: 0, syncing: undefined });
}

function write(id: number, { one, bytes }: { one: Growing; bytes: Uint8Array }): void {
  if (one.error) throw one.error;
  for (let at = 0; at < bytes.length; ) at += writeSync(one.file, bytes, at);
  one.md5.update(bytes);
  one.sha256.update(bytes);
  one.unsynced += bytes.length;
  if (one.unsynced >= one.sync && one.syncing === undefined) {
    one.unsynced = 0;
    one.syncing = synced(one).finally(() => {
      one.syncing = undefined;
    });
  }
  say({ id, written: bytes.length });
}

/** Never rejects: what the disk says is told with the next piece, or at the end. */
function synced(one: Growing): Promise<void> {
  return new Promise((resolve) => {
    fdatasync(one.file, (error) => {
      if (error) one.error = error;
      resolve();
    });
  });
}

async function finish(id: number, one: Growing): Promise<void> {
  await one.syncing;
  await synced(one);
  if (growing.get(id) !== one) return;
  if (one.error) return fail(id, one.error);
  growing.delete(id);
  closeSync(one.file);
  say({ id, done: { md5: one.md5.digest('hex'), sha256: one.sha256.digest('hex') } });
}

async function drop(id: number, one: Growing): Promise<void> {
  growing.delete(id);
  await one.syncing;
  closeSync(one.file);
  try {
    unlinkSync(one.path);
  } catch {
    // The next start removes it.
  }
  say({ id, dropped: true });
}

function attempt(id: number, work: () => void): void {
  try {
    work();
  } catch (error) {
    fail(id, error as Error);
  }
}

function fail(id: number, error: Error): void {
  const one = growing.get(id);
  if (one) one.error ??= error;
  say({ id, failed: { message: error.message, code: (error as NodeJS.ErrnoException).code ?? '' } });
}

function say(message: FromWorker): void {
  port.postMessage(message);
}
