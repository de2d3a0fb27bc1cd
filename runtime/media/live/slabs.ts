import { copyBytes, freeBytes } from '../../base/copy-bytes.ts';
import { LentStream } from '../../base/lent-stream.ts';

/** Bytes of a slab. */
export const slabSize = 65_536;
/** How often `trim` is to be called, ms: about as often as segments of 2 s come and go. */
export const trimInterval = 2000;
/** Slabs that one `trim` frees, because each takes about a microsecond. */
const mostTrimmed = 2048;

/** `bytes` are used again as soon as nobody uses them. */
export interface Slab {
  readonly bytes: Uint8Array;
  /** The line that it is in, and streams that read it. */
  users: number;
}

/**
 * Memory for the media of all live windows of a node, in pieces of one size, so that what one window gives back fits any other.
 * What is not needed for some seconds goes back to the system.
 */
export class Slabs {
  readonly #idle: Slab[] = [];
  /** The fewest that were idle at any time since the last `trim`: nobody needed those. */
  #unneeded = 0;

  /** Bytes that lie idle now. */
  get idle(): number {
    return this.#idle.length * slabSize;
  }

  /** The one that came back last, because its pages are the warmest; its content is whatever was there. */
  take(): Slab {
    const slab = this.#idle.pop() ?? { bytes: new Uint8Array(slabSize), users: 0 };
    this.#unneeded = Math.min(this.#unneeded, this.#idle.length);
    slab.users = 1;
    return slab;
  }

  /** One user less. Who calls it does not touch the bytes after that. */
  release(slab: Slab): void {
    slab.users -= 1;
    if (slab.users === 0) this.#idle.push(slab);
  }

  /** Frees what was not needed since the last call. */
  trim(): void {
    for (const { bytes } of this.#idle.splice(0, Math.min(this.#unneeded, mostTrimmed))) freeBytes(bytes);
    this.#unneeded = this.#idle.length;
  }
}

/**
 * The bytes of a live window in slabs: added at the end, let go of from the front. A place in it is the number of bytes that were ever
 * added before. Nobody else sees the slabs: who reads gets copies, because a slab holds other media as soon as it is released.
 */
export class SlabLine {
  readonly #source: Slabs;
  readonly #slabs: Slab[] = [];
  /** Where the first slab begins. */
  #begin = 0;
  #end = 0;

  constructor(source: Slabs) {
    this.#source = source;
  }

  /** The place where the next bytes go. */
  get end(): number {
    return this.#end;
  }

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const at = this.#end % slabSize;
      if (at === 0) this.#slabs.push(this.#source.take());
      const count = Math.min(bytes.length - from, slabSize - at);
      copyBytes(bytes, from, this.#slabs[this.#slabs.length - 1].bytes, at, count);
      this.#end += count;
      from += count;
    }
  }

  /** A copy of `[start, end)`, which is still there. */
  copy(start: number, end: number): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(end - start);
    for (let place = start; place < end; ) {
      const at = place % slabSize;
      const count = Math.min(end - place, slabSize - at);
      copyBytes(
        this.#slabs[Math.floor((place - this.#begin) / slabSize)].bytes,
        at,
        copy,
        place - start,
        count,
      );
      place += count;
    }
    return copy;
  }

  /**
   * `[start, end)`, which is still there, for who takes it at a speed of their own: it stays until it is read to its end or cancelled,
   * though it is let go of meanwhile. What is neither is left to the garbage collector.
   */
  stream(start: number, end: number): LentStream {
    const first = Math.floor((start - this.#begin) / slabSize);
    const slabs = this.#slabs.slice(first, Math.ceil((end - this.#begin) / slabSize));
    for (const slab of slabs) slab.users += 1;
    let at = start - this.#begin - first * slabSize;
    const last = at + end - start;
    return new LentStream({
      next: () => {
        if (at === last || slabs.length === 0) return undefined;
        const from = at % slabSize;
        const count = Math.min(last - at, slabSize - from);
        const { bytes } = slabs[Math.floor(at / slabSize)];
        at += count;
        return bytes.subarray(from, from + count);
      },
      end: () => {
        for (const slab of slabs.splice(0)) this.#source.release(slab);
      },
    });
  }

  /** Lets go of what lies before this place. */
  drop(place: number): void {
    while (this.#slabs.length > 0 && this.#begin + slabSize <= place) {
      this.#source.release(this.#slabs.shift() as Slab);
      this.#begin += slabSize;
    }
  }

  /** Lets go of everything. */
  clear(): void {
    this.#end = Math.ceil(this.#end / slabSize) * slabSize;
    this.drop(this.#end);
    this.#begin = this.#end;
  }
}
