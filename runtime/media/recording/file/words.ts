/** A growing list of big-endian 32-bit numbers, in pieces: as it will stand in a box, and never copied to grow. */
export class Words {
  readonly #pieces: Uint8Array[] = [];
  #piece = new Uint8Array(FIRST);
  #view = new DataView(this.#piece.buffer);
  #at = 0;
  #count = 0;

  /** How many numbers there are. */
  get count(): number {
    return this.#count;
  }

  /** @param value −2^31..2^32 − 1 */
  push(value: number): void {
    if (this.#at === this.#piece.length) {
      this.#pieces.push(this.#piece);
      this.#piece = new Uint8Array(Math.min(this.#piece.length * 2, LARGEST));
      this.#view = new DataView(this.#piece.buffer);
      this.#at = 0;
    }
    this.#view.setUint32(this.#at, value);
    this.#at += 4;
    this.#count += 1;
  }

  /** @param value 0..2^53 − 1, in two of them */
  pushLong(value: number): void {
    this.push(Math.floor(value / 0x1_0000_0000));
    this.push(value % 0x1_0000_0000);
  }

  pieces(): readonly Uint8Array[] {
    return [...this.#pieces, this.#piece.subarray(0, this.#at)];
  }
}

/** Sizes of pieces, bytes. */
const FIRST = 0x400;
const LARGEST = 0x40000;
