import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import type { Clock } from '../../../core/ports/clock.ts';
import type { TakeIo } from './take-file.ts';

/** Files of takes, open while they are used: many wait for hours, and a process may have few open. */
export class OpenFiles {
  readonly #clock: Clock;
  readonly #most: number;
  /** The one used longest ago comes first. */
  readonly #open = new Map<string, OpenFile>();

  constructor(options: { clock: Clock; most: number }) {
    this.#clock = options.clock;
    this.#most = options.most;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Opens it, or makes it. Throws what the disk says. It is good until the next call here: that may close it. */
  get(path: string): OpenFile {
    let file = this.#open.get(path);
    if (file) this.#open.delete(path);
    else {
      for (const [other, { pins }] of this.#open) {
        if (this.#open.size < this.#most) break;
        if (pins === 0) this.close(other);
      }
      file = { fd: openSync(path, readWrite, 0o640), pins: 0, usedAt: 0 };
    }
    file.usedAt = this.#clock.now();
    this.#open.set(path, file);
    return file;
  }

  /** Resolves when its bytes are on disk. A thread of the pool does it: nothing waits for it here. */
  async sync(path: string): Promise<void> {
    const file = this.get(path);
    file.pins += 1;
    try {
      await new Promise<void>((resolve, reject) => {
        fdatasync(file.fd, (error) => (error ? reject(error) : resolve()));
      });
    } finally {
      file.pins -= 1;
    }
  }

  closeIdle(idle: number): void {
    const before = this.#clock.now() - idle;
    for (const [path, { usedAt, pins }] of this.#open) if (usedAt <= before && pins === 0) this.close(path);
  }

  close(path: string): void {
    const file = this.#open.get(path);
    if (!file) return;
    this.#open.delete(path);
    closeSync(file.fd);
  }
}

interface OpenFile {
  readonly fd: number;
  /** It may not be closed. */
  pins: number;
  usedAt: number;
}

const readWrite = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/** A file of `files` as a take sees it. */
export function fileIo(files: OpenFiles, path: string): TakeIo {
  return {
    get size() {
      return fstatSync(files.get(path).fd).size;
    },
    read(at, into) {
      const { fd } = files.get(path);
      let done = 0;
      while (done < into.length) {
        const count = readSync(fd, into, done, into.length - done, at + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    },
    write(at, bytes) {
      const { fd } = files.get(path);
      // A disk that is nearly full takes less than it was given, and says why at the next try.
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(fd, bytes, done, bytes.length - done, at + done);
      }
    },
    truncate(size) {
      ftruncateSync(files.get(path).fd, size);
    },
    close: () => files.close(path),
  };
}
