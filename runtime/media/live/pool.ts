import { freeBytes } from '../../base/copy-bytes.ts';

/**
 * Buffers that are used again. Sizes come in classes, four to an octave (1, 1.25, 1.5, 1.75 × 2ⁿ), so that a buffer is seldom
 * much larger than what was asked for.
 */
export class BufferPool {
  readonly #free = new Map<number, Uint8Array[]>();
  readonly #limit: number;
  #idle = 0;

  /** @param limit most bytes that lie idle; what comes back beyond is freed at once. */
  constructor(options: { limit: number }) {
    this.#limit = options.limit;
  }

  /** Bytes that lie idle now. */
  get idle(): number {
    return this.#idle;
  }

  /** A buffer of at least `size` bytes; its content is whatever was there. */
  take(size: number): Uint8Array {
    const smallest = classOf(size);
    // One of the next two classes rather than none, so that what a falling bitrate left behind is used up.
    for (let capacity = smallest, i = 0; i < 3; capacity = classOf(capacity + 1), i += 1) {
      const buffer = this.#free.get(capacity)?.pop();
      if (buffer === undefined) continue;
      this.#idle -= capacity;
      return buffer;
    }
    return new Uint8Array(smallest);
  }

  /** Gives back what `take` gave, once. Its bytes are not to be touched after that. */
  give(buffer: Uint8Array): void {
    const capacity = buffer.length;
    if (this.#idle + capacity > this.#limit) {
      freeBytes(buffer);
      return;
    }
    if (classOf(capacity) !== capacity) return;
    this.#idle += capacity;
    const list = this.#free.get(capacity);
    if (list === undefined) this.#free.set(capacity, [buffer]);
    else list.push(buffer);
  }
}

const SMALLEST = 4096;

function classOf(size: number): number {
  if (size <= SMALLEST) return SMALLEST;
  const step = 2 ** (Math.floor(Math.log2(size - 1)) - 2);
  return Math.ceil(size / step) * step;
}
