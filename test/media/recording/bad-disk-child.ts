import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { diskFile } from '../../../runtime/media/recording/thread/file-io.ts';
import { recorderThread } from '../../../runtime/media/recording/thread/recorder-thread.ts';

/** The writing thread before a disk that is as bad as `.trouble` beside the spools says. */
export interface Trouble {
  /** Of this session alone. */
  readonly session?: string;
  /** Each write fails with it, after half of its bytes. */
  readonly code?: string;
  /** Each write takes so many ms. */
  readonly slow?: number;
  /** The thread ends. */
  readonly crash?: boolean;
}

recorderThread(globalThis as unknown as Parameters<typeof recorderThread>[0], {
  clock: systemClock(),
  open(path) {
    const io = diskFile(path);
    const spool = dirname(path);
    const flag = join(spool, '..', '.trouble');
    const trouble = (): Trouble => {
      const its = existsSync(flag) ? (JSON.parse(readFileSync(flag, 'utf8')) as Trouble) : {};
      return its.session === undefined || spool.endsWith(its.session) ? its : {};
    };
    return {
      get size() {
        return io.size;
      },
      read: (at, into) => io.read(at, into),
      truncate: (size) => io.truncate(size),
      sync: () => io.sync(),
      close: () => io.close(),
      write(at, bytes) {
        const { code, slow = 0, crash } = trouble();
        if (crash) process.exit(1);
        if (slow > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, slow);
        if (code === undefined) return io.write(at, bytes);
        io.write(at, bytes.subarray(0, bytes.length >> 1));
        throw Object.assign(new Error(`${code}: written by a test`), { code });
      },
    };
  },
});
