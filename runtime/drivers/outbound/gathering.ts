/**
 * Puts small pieces of a body together: of one in chunks of a byte each there would be a hundred thousand at one turn. Large pieces
 * are handed on as they are; the order stays.
 */
export class Gathering {
  readonly #most: number;
  readonly #hand: (bytes: Buffer) => void;
  #block: Buffer | undefined;
  #length = 0;

  /** @param most bytes of what is put together; a sixteenth of that is small */
  constructor(most: number, hand: (bytes: Buffer) => void) {
    this.#most = most;
    this.#hand = hand;
  }

  /** Those of `bytes` from `at` up to `until`. */
  take(bytes: Buffer, at: number, until: number): void {
    const size = until - at;
    if (size * 16 > this.#most) {
      this.flush();
      this.#hand(bytes.subarray(at, until));
      return;
    }
    if (this.#block && this.#length + size > this.#block.length) this.flush();
    // Of all that came at this turn no more than this can follow.
    this.#block ??= Buffer.allocUnsafe(Math.min(this.#most, bytes.length - at));
    for (let from = at; from < until; from += 1) this.#block[this.#length++] = bytes[from];
  }

  /** Hands on what was put together: at the end of a turn, so that nothing waits here. */
  flush(): void {
    if (!this.#block) return;
    const block = this.#block;
    this.#block = undefined;
    this.#hand(block.subarray(0, this.#length));
    this.#length = 0;
  }
}
