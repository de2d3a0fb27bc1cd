/**
 * Work that many callers want at the same time and that is done once. A caller that gives up leaves the work to the others;
 * when the last one gives up it is aborted.
 */
export class SingleFlight<T> {
  readonly #limit: number;
  readonly #waitingLimit: number;
  readonly #running = new Map<string, Shared<T>>();
  #waiting = 0;

  /** @param options `running`: different pieces at one time; `waiting`: who waits for any of them */
  constructor(options: { running: number; waiting: number }) {
    this.#limit = options.running;
    this.#waitingLimit = options.waiting;
  }

  /** Pieces of work being done. */
  get running(): number {
    return this.#running.size;
  }

  /** Who waits. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The outcome of the work of this key, begun unless it is under way. `full`: too much is, or too many wait. `left`:
   * the signal was aborted first.
   */
  async wait(
    key: string,
    { signal, work }: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
  ): Promise<T | 'full' | 'left'> {
    if (signal.aborted) return 'left';
    const known = this.#running.get(key);
    if (this.#waiting >= this.#waitingLimit || (!known && this.#running.size >= this.#limit)) return 'full';
    const shared = known ?? this.#begin(key, work);
    const left = Promise.withResolvers<'left'>();
    const leave = () => left.resolve('left');
    shared.wanted += 1;
    this.#waiting += 1;
    signal.addEventListener('abort', leave);
    try {
      return await Promise.race([shared.outcome, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      this.#waiting -= 1;
      shared.wanted -= 1;
      // Nobody wants it any more, and a later caller must not get what was given up.
      if (shared.wanted === 0 && this.#running.get(key) === shared) {
        this.#running.delete(key);
        shared.abort.abort();
      }
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Shared<T> {
    const abort = new AbortController();
    const shared: Shared<T> = { wanted: 0, abort, outcome: work(abort.signal) };
    this.#running.set(key, shared);
    const done = () => {
      if (this.#running.get(key) === shared) this.#running.delete(key);
    };
    shared.outcome.then(done, done);
    return shared;
  }
}

interface Shared<T> {
  wanted: number;
  readonly abort: AbortController;
  readonly outcome: Promise<T>;
}
