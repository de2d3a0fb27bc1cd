/**
 * Reads a bit string from the front, most significant bit first. Never reads beyond its end: past it
 * `isOver` is true and every value is 0, so a caller may check once, after all its reads.
 */
export class Bits {
  readonly #bytes: Uint8Array;
  #at = 0;
  #isOver = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** True once more was asked for than there was. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The next `count` bits, 0..32 of them, as an unsigned number. */
  read(count: number): number {
    if (this.#isOver || this.#at + count > this.#bytes.length * 8) {
      this.#isOver = true;
      return 0;
    }
    let value = 0;
    for (let i = 0; i < count; i += 1) {
      value = value * 2 + ((this.#bytes[this.#at >> 3] >> (7 - (this.#at & 7))) & 1);
      this.#at += 1;
    }
    return value;
  }

  /** Goes on at the next whole byte. */
  align(): void {
    this.#at = Math.ceil(this.#at / 8) * 8;
  }

  flag(): boolean {
    return this.read(1) === 1;
  }

  /** Unsigned Exp-Golomb, ue(v) of ISO/IEC 14496-10 9.1; at most 32 leading zeros. */
  unsigned(): number {
    let zeros = 0;
    while (!this.#isOver && !this.flag()) {
      zeros += 1;
      if (zeros > 32) {
        this.#isOver = true;
        return 0;
      }
    }
    return 2 ** zeros - 1 + this.read(zeros);
  }

  /** Signed Exp-Golomb, se(v) of ISO/IEC 14496-10 9.1.1. */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2;
  }
}

/** Drops each 3 of 00 00 03, ISO/IEC 14496-10 7.4.1 and ITU-T H.265 7.4.2. */
export function withoutEmulation(nal: Uint8Array): Uint8Array {
  const plain = new Uint8Array(nal.length);
  let length = 0;
  for (let i = 0; i < nal.length; i += 1) {
    if (nal[i] === 3 && i >= 2 && nal[i - 1] === 0 && nal[i - 2] === 0) continue;
    plain[length++] = nal[i];
  }
  return plain.subarray(0, length);
}
