/**
 * An LRU cache bounded by bytes, for values that can be made again. A value that is being made counts too. Values are shared by
 * all callers: do not change them.
 */
export class ByteLru<T> {
  readonly #limit: number;
  readonly #kept = new Map<string, Entry<T>>();
  #bytes = 0;

  /** @param options.bytes the most that all of them hold together */
  constructor(options: { bytes: number }) {
    this.#limit = options.bytes;
  }

  /** Held now, kept or about to be. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param now epoch ms; what never ends needs none */
  get(key: string, now = 0): T | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    if (found.until <= now) {
      this.#bytes -= found.bytes;
      return undefined;
    }
    this.#kept.set(key, found);
    return found.value;
  }

  /** Room for what is about to be made; undefined when there is none however much is thrown out. */
  reserve(bytes: number): Room<T> | undefined {
    for (const [key, old] of this.#kept) {
      if (this.#bytes + bytes <= this.#limit) break;
      this.#kept.delete(key);
      this.#bytes -= old.bytes;
    }
    if (this.#bytes + bytes > this.#limit) return undefined;
    this.#bytes += bytes;
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#bytes -= bytes;
      isOpen = false;
    };
    return {
      release: close,
      keep: (key, value, { until = Number.POSITIVE_INFINITY, bytes: used = bytes } = {}) => {
        close();
        const before = this.#kept.get(key);
        if (before) this.#bytes -= before.bytes;
        this.#kept.delete(key);
        this.#kept.set(key, { value, until, bytes: used });
        this.#bytes += used;
      },
    };
  }
}

export interface Room<T> {
  /** Gives the value to others, until then (epoch ms; default: for ever). `bytes`: what it takes, when that is less than was reserved. */
  keep(key: string, value: T, options?: { until?: number; bytes?: number }): void;
  release(): void;
}

interface Entry<T> {
  readonly value: T;
  readonly until: number;
  readonly bytes: number;
}
