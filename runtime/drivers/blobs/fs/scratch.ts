import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { absent, onDisk, unless } from './disk.ts';
import { fateOf } from './process-mark.ts';

/** Bytes that are read from or written to a file in one call. */
export const piece = 256 * 1024;
/** Bytes of one file after which it is synced, so that the end of a large file does not wait for the disk to take all of it. */
const unsynced = 64 * 1_048_576;
/** After this time, ms, a half-written file of another machine is removed at the start. Those of this machine go at once. */
const strayAge = 3_600_000;

/** Files that are being written. Each belongs to one process, and its name says to which. */
export interface Scratch {
  /** Writes the pieces to a new file and syncs it: when this resolves its bytes are on disk. A failure leaves nothing. */
  write(pieces: AsyncIterable<Uint8Array>): Promise<ScratchFile>;
  /** Gives a file of the caller, on the same disk, the same: its time, and its bytes on disk. */
  seal(file: string): Promise<ScratchFile>;
  /** Removes what processes left that are gone. */
  sweep(): Promise<void>;
}

export interface ScratchFile {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
}

export function scratch(
  folder: string,
  options: { mark: string; stamp: () => number; etagOf: (handle: FileHandle) => Promise<string> },
): Scratch {
  const { mark, stamp, etagOf } = options;

  const finish = async (handle: FileHandle, path: string): Promise<ScratchFile> => {
    const time = stamp();
    await onDisk(path, handle.utimes(time, time));
    // Here the bytes become lasting.
    await onDisk(path, handle.sync());
    const { size } = await onDisk(path, handle.stat());
    return { path, size, etag: await onDisk(path, etagOf(handle)) };
  };

  return {
    async write(pieces) {
      const path = join(folder, `${mark}.${randomUUID()}`);
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
        const file = await finish(handle, path);
        isGood = true;
        return file;
      } finally {
        await handle.close().catch(() => {});
        if (!isGood) await unlink(path).catch(() => {});
      }
    },

    async seal(path) {
      const handle = await onDisk(path, open(path, constants.O_RDWR | constants.O_NOFOLLOW));
      try {
        return await finish(handle, path);
      } finally {
        await handle.close().catch(() => {});
      }
    },

    async sweep() {
      for (const name of await onDisk(folder, readdir(folder))) {
        const path = join(folder, name);
        const fate = await fateOf(name.split('.')[0]);
        if (fate === 'alive') continue;
        const stats = await unless(absent, { what: path, work: lstat(path) });
        if (stats === undefined) continue;
        if (fate === 'dead' || Date.now() - stats.mtimeMs > strayAge) await unlink(path).catch(() => {});
      }
    },
  };
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
