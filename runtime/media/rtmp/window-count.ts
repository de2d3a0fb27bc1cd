/** Counts what happens in windows of fixed length and says when it becomes too much. */
export class WindowCount {
  readonly #most: number;
  readonly #window: number;
  #since = 0;
  #count = 0;

  /** @param options.window length, milliseconds. */
  constructor(options: { most: number; window: number }) {
    this.#most = options.most;
    this.#window = options.window;
  }

  /** One more at `now` (epoch milliseconds). False beyond `most` in this window. */
  admit(now: number): boolean {
    if (now - this.#since >= this.#window) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#most;
  }
}
