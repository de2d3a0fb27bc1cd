import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fateOf } from '../../../base/process-mark.ts';
import { absent, onDisk, unless } from './disk.ts';
import { etagOf, stamps } from './etag.ts';

/** Bytes that are read from or written to a file in one call. */
export const piece = 256 * 1024;
/** Bytes of one file after which it is synced, so that the end of a large file does not wait for the disk to take all of it. */
const unsynced = 64 * 1_048_576;
/** After this time, ms, a half-written file of another machine is removed at the start. Those of this machine go at once. */
const strayAge = 3_600_000;

export interface ScratchFile {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
}

/** Files that are being written. Each belongs to one process, and its name says to which (`ownMark`). */
export class Scratch {
  readonly #folder: string;
  readonly #mark: string;
  readonly #stamp = stamps();

  constructor(folder: string, { mark }: { mark: string }) {
    this.#folder = folder;
    this.#mark = mark;
  }

  /** Writes the pieces to a new file and syncs it: when this resolves its bytes are on disk. A failure leaves nothing. */
  async write(pieces: AsyncIterable<Uint8Array>): Promise<ScratchFile> {
    const path = join(this.#folder, `${this.#mark}.${randomUUID()}`);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const handle = await onDisk(path, open(path, flags, 0o640));
    let isGood = false;
    try {
      let since = 0;
      for await (const bytes of pieces) {
        await writeAll(handle, { path, bytes });
        since += bytes.length;
        if (since < unsynced) continue;
        since = 0;
        await onDisk(path, handle.datasync());
      }
      const file = await this.#finish(handle, path);
      isGood = true;
      return file;
    } finally {
      await handle.close().catch(() => {});
      if (!isGood) await unlink(path).catch(() => {});
    }
  }

  /** The same for a complete file of the caller on the same disk: sets its time, and syncs it. */
  async seal(path: string): Promise<ScratchFile> {
    const handle = await onDisk(path, open(path, constants.O_RDWR | constants.O_NOFOLLOW));
    return this.#finish(handle, path).finally(() => handle.close().catch(() => {}));
  }

  /** Removes what dead processes left. */
  async sweep(): Promise<void> {
    for (const name of await onDisk(this.#folder, readdir(this.#folder))) {
      const path = join(this.#folder, name);
      const fate = await fateOf(name.split('.')[0]);
      if (fate === 'alive') continue;
      const stats = await unless(absent, { what: path, work: lstat(path) });
      if (stats === undefined) continue;
      if (fate === 'dead' || Date.now() - stats.mtimeMs > strayAge) await unlink(path).catch(() => {});
    }
  }

  async #finish(handle: FileHandle, path: string): Promise<ScratchFile> {
    const time = this.#stamp();
    await onDisk(path, handle.utimes(time, time));
    // Here the bytes become lasting.
    await onDisk(path, handle.sync());
    const stats = await onDisk(path, handle.stat({ bigint: true }));
    return { path, size: Number(stats.size), etag: etagOf(stats) };
  }
}

/** A write may take less than it was given. */
async function writeAll(
  handle: FileHandle,
  { path, bytes }: { path: string; bytes: Uint8Array },
): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const length = Math.min(piece, bytes.length - at);
    at += (await onDisk(path, handle.write(bytes, at, length))).bytesWritten;
  }
}
