import type { TakeIo } from '../take-file.ts';
import { takeFileLimits } from './limits.ts';

/** A look at a file through a buffer that is used again: nothing is allocated for a read, and few reads ask the disk. */
export class FileWindow {
  bytes = new Uint8Array(LARGE);
  view = new DataView(this.bytes.buffer);
  readonly #io: TakeIo;
  #from = 0;
  #length = 0;

  constructor(io: TakeIo) {
    this.#io = io;
  }

  /** Where in `bytes` the `size` bytes of the file from `at` on lie, until the next call; -1: it does not reach so far. */
  load(at: number, size: number): number {
    if (at >= this.#from && at + size <= this.#from + this.#length) return at - this.#from;
    if (size > this.bytes.length) {
      this.bytes = new Uint8Array(size);
      this.view = new DataView(this.bytes.buffer);
    }
    // What lies near is read with it; behind a large part only what is asked for.
    const isNear = at >= this.#from && at - this.#from <= LARGE;
    const wanted = Math.max(size, isNear ? LARGE : SMALL);
    this.#from = at;
    this.#length = 0;
    this.#length = this.#io.read(at, this.bytes.subarray(0, wanted));
    return size <= this.#length ? 0 : -1;
  }
}

const LARGE = takeFileLimits.takeWindow.value;
const SMALL = LARGE / 16;
