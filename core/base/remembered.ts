import type { Clock } from '../ports/clock.ts';

/**
 * What was read elsewhere a moment ago, by key, so that thousands of requests cost one read. While reading fails, the last answer
 * counts; what was never read fails with it.
 */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #fresh: number;
  readonly #most: number;
  readonly #known = new Map<string, Entry<T>>();

  /**
   * @param options `fresh`: for how long an answer counts without another look, ms. For as long again it counts while the next one
   * is read. `most`: keys in memory; of more, those read longest ago go
   */
  constructor({ clock, fresh, most }: { clock: Clock; fresh: number; most: number }) {
    this.#clock = clock;
    this.#fresh = fresh;
    this.#most = most;
  }

  /** No promise for what is known. */
  get(key: string, read: () => Promise<T>): T | Promise<T> {
    const entry = this.#known.get(key);
    const age = entry?.known ? this.#clock.now() - entry.known.at : Number.POSITIVE_INFINITY;
    if (entry?.known && age < this.#fresh) return entry.known.value;
    const reading = entry?.reading ?? this.#read(key, { read, before: entry?.known });
    if (!entry?.known || age >= 2 * this.#fresh) return reading;
    // Whoever waits for the next answer hears of a failure.
    reading.catch(() => {});
    return entry.known.value;
  }

  /** The next `get` reads again. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  #read(key: string, { read, before }: { read: () => Promise<T>; before: Known<T> | undefined }): Promise<T> {
    const begun = this.#clock.now();
    const reading = read().then(
      (value) => {
        this.#keep(key, { known: { at: begun, value } }, reading);
        return value;
      },
      (error: unknown) => {
        if (before) {
          // The next look is not before this one would have been old.
          this.#keep(key, { known: { at: this.#clock.now(), value: before.value } }, reading);
          return before.value;
        }
        if (this.#known.get(key)?.reading === reading) this.#known.delete(key);
        throw error;
      },
    );
    this.#known.delete(key);
    this.#known.set(key, { reading, ...(before && { known: before }) });
    const [oldest = ''] = this.#known.keys();
    if (this.#known.size > this.#most) this.#known.delete(oldest);
    return reading;
  }

  /** Unless it was forgotten meanwhile. */
  #keep(key: string, entry: Entry<T>, reading: Promise<T>): void {
    if (this.#known.get(key)?.reading === reading) this.#known.set(key, entry);
  }
}

interface Known<T> {
  /** When it was asked for, epoch ms. */
  readonly at: number;
  readonly value: T;
}

interface Entry<T> {
  readonly known?: Known<T>;
  readonly reading?: Promise<T>;
}
