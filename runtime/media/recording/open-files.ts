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
  readonly #direct: number | undefined;
  /** The one used longest ago comes first. */
  readonly #open = new Map<string, OpenFile>();

  /** @param options.flags those of open(2) that not every system has: macOS has no `O_DIRECT` */
  constructor(options: { clock: Clock; most: number; flags?: { readonly O_DIRECT?: number } }) {
    this.#clock = options.clock;
    this.#most = options.most;
    this.#direct = (options.flags ?? constants).O_DIRECT;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Opens it, or makes it. Throws what the disk says. It is good until the next call here: that may close it.
   *
   * @param options.isDirect its bytes go past the cache of the system (`O_DIRECT` in open(2)); a second opening, beside the ordinary one
   */
  get(path: string, { isDirect = false } = {}): OpenFile {
    const key = keyOf(path, isDirect);
    let file = this.#open.get(key);
    if (file) this.#open.delete(key);
    else {
      const how = this.#how(isDirect);
      for (const [other, { pins }] of this.#open) {
        if (this.#open.size < this.#most) break;
        if (pins === 0) this.#close(other);
      }
      file = { fd: openSync(path, how, 0o640), pins: 0, usedAt: 0, tail: undefined };
    }
    file.usedAt = this.#clock.now();
    this.#open.set(key, file);
    return file;
  }

  #how(isDirect: boolean): number {
    const how = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    if (!isDirect) return how;
    if (this.#direct !== undefined) return how | this.#direct;
    // As a file system says it that knows no such files.
    throw Object.assign(new Error('this system has no O_DIRECT'), { code: 'EOPNOTSUPP' });
  }

  /** Resolves when its bytes are on disk. A thread of the pool does it: nothing waits for it here. */
  async sync(path: string): Promise<void> {
    // Either opening brings all of the file to the disk.
    const isDirect = !this.#open.has(keyOf(path, false)) && this.#open.has(keyOf(path, true));
    const file = this.get(path, { isDirect });
    file.pins += 1;
    try {
      await new Promise<void>((resolve, reject) => {
        fdatasync(file.fd, (error) => (error ? reject(error) : resolve()));
      });
    } finally {
      file.pins -= 1;
    }
  }

  /** What is kept of its last block is not true any more. */
  forgetTail(path: string): void {
    const file = this.#open.get(keyOf(path, true));
    if (file) file.tail = undefined;
  }

  close(path: string): void {
    for (const isDirect of [false, true]) this.#close(keyOf(path, isDirect));
  }

  closeIdle(idle: number): void {
    const before = this.#clock.now() - idle;
    for (const [key, { usedAt, pins }] of this.#open) if (usedAt <= before && pins === 0) this.#close(key);
  }

  #close(key: string): void {
    const file = this.#open.get(key);
    if (!file) return;
    this.#open.delete(key);
    closeSync(file.fd);
  }
}

export interface OpenFile {
  readonly fd: number;
  /** It may not be closed. */
  pins: number;
  usedAt: number;
  /** Of a direct one: the block in which the file ends, as its next write begins. Undefined: it is to be read. */
  tail: Uint8Array | undefined;
}

/** No path has a zero in it. */
function keyOf(path: string, isDirect: boolean): string {
  return isDirect ? `${path}\0direct` : path;
}

/** A file of `files` as a take sees it. */
export function fileIo(files: OpenFiles, path: string): TakeIo {
  const read = (at: number, into: Uint8Array) => {
    const { fd } = files.get(path);
    let done = 0;
    while (done < into.length) {
      const count = readSync(fd, into, done, into.length - done, at + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  };
  return {
    get size() {
      return fstatSync(files.get(path).fd).size;
    },
    read,
    readOnce: read,
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
    settle() {},
    close: () => files.close(path),
  };
}
