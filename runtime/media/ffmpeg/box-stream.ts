import { copyBytes } from '../../base/copy-bytes.ts';
import { typeAt } from '../mp4/inspect/boxes.ts';

/** Bytes of the head of a box (ISO/IEC 14496-12 4.2). Sizes of 64 bits are for more than ffmpeg ever writes at once here. */
const headBytes = 8;
/** Room that is kept from one box to the next. */
const keptBytes = 1_048_576;

export interface BoxStreamOptions {
  /** Types of boxes that are collected, and how many bytes each may have. */
  readonly collected: Readonly<Record<string, number>>;
  /** How many bytes any other box may have: those are skipped. Default: any number. */
  readonly skipped?: number;
  /** A collected box is complete. Its bytes, head included, are valid during the call. */
  onBox(type: string, bytes: Uint8Array): void;
}

/** Splits the mp4 that ffmpeg writes into its top-level boxes, however the pipe cuts it. */
export class BoxStream {
  readonly #options: BoxStreamOptions;
  #bytes = new Uint8Array(4096);
  #held = 0;
  #wanted = headBytes;
  #skipped = 0;

  constructor(options: BoxStreamOptions) {
    this.#options = options;
  }

  /** Throws RangeError for a box that is too large, and what `onBox` throws. */
  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const count = Math.min(this.#skipped || this.#wanted - this.#held, bytes.length - at);
      if (this.#skipped > 0) this.#skipped -= count;
      else this.#collect(bytes, at, count);
      at += count;
    }
  }

  #collect(bytes: Uint8Array, at: number, count: number): void {
    const needed = this.#held + count;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#held));
      this.#bytes = grown;
    }
    copyBytes(bytes, at, this.#bytes, this.#held, count);
    this.#held = needed;
    if (needed === this.#wanted) this.#next();
  }

  /** The head of a box is here, or all of it. */
  #next(): void {
    const { collected, skipped = Number.POSITIVE_INFINITY, onBox } = this.#options;
    const view = new DataView(this.#bytes.buffer);
    const size = view.getUint32(0);
    const type = typeAt(view, 4);
    const most: number | undefined = collected[type];
    if (size < headBytes || size > (most ?? skipped)) throw new RangeError(`a ${type} box has ${size} bytes`);
    if (most !== undefined && this.#held < size) {
      this.#wanted = size;
      return;
    }
    this.#held = 0;
    this.#wanted = headBytes;
    if (most === undefined) this.#skipped = size - headBytes;
    else onBox(type, this.#bytes.subarray(0, size));
    // One large picture is not held for the rest of the run.
    if (this.#bytes.length > keptBytes) this.#bytes = new Uint8Array(headBytes);
  }
}
