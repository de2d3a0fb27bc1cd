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

  /** So many more at `now` (epoch milliseconds). False beyond `most` in this window. */
  admit(now: number, count = 1): boolean {
    if (now - this.#since >= this.#window) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count <= this.#most;
  }
}

/** The same for each of several keys, of which it remembers so many in a window. */
export class WindowCounts {
  readonly #options: { readonly most: number; readonly window: number; readonly keys: number };
  readonly #counts = new Map<string, number>();
  #since = 0;

  /** @param options.window length, milliseconds. Beyond `keys` keys nothing more is admitted in a window. */
  constructor(options: { most: number; window: number; keys: number }) {
    this.#options = options;
  }

  /** One more of this key at `now` (epoch milliseconds). False beyond `most` in this window. */
  admit(key: string, now: number): boolean {
    const { most, window, keys } = this.#options;
    if (now - this.#since >= window) {
      this.#since = now;
      this.#counts.clear();
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    if (count > most || (count === 1 && this.#counts.size >= keys)) return false;
    this.#counts.set(key, count);
    return true;
  }
}
