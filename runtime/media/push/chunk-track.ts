/**
 * Knows where in the messages that `writeChunks` wrote a stream of bytes is: what is said beside the media, such as the
 * answer to a ping, may only stand between two of them, and the network takes bytes by its own measure.
 */
export class ChunkTrack {
  readonly #chunkSize: number;
  /** Bytes of the current message that are still to come, behind its header. */
  #left = 0;
  /** Bytes of its header that have come. */
  #header = 0;
  #short = 0;
  #length = 0;

  constructor(chunkSize: number) {
    this.#chunkSize = chunkSize;
  }

  /** Whether the last byte was the last of a message. */
  get isBetween(): boolean {
    return this.#left === 0 && this.#header === 0;
  }

  /** `bytes[from, to)` come next. */
  advance(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (this.#left > 0) {
        const count = Math.min(this.#left, to - at);
        this.#left -= count;
        at += count;
      } else this.#readHeader(bytes[at++]);
    }
  }

  /** A header of fmt 0: chunk stream, three bytes of time, three of length, type, four of message stream. */
  #readHeader(byte: number): void {
    const index = this.#header++;
    if (index >= 1 && index <= 3) this.#short = this.#short * 256 + byte;
    else if (index >= 4 && index <= 6) this.#length = this.#length * 256 + byte;
    else if (index === 11) {
      const further = Math.max(0, Math.ceil(this.#length / this.#chunkSize) - 1);
      const extended = this.#short === 0xffffff ? 4 * (further + 1) : 0;
      this.#left = this.#length + further + extended;
      this.#header = this.#short = this.#length = 0;
    }
  }
}
