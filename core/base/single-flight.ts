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
  wait(
    key: string,
    options: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<T> },
  ): Promise<T | 'full' | 'left'> {
    const { signal, work } = options;
    if (signal.aborted) return Promise.resolve('left');
    const known = this.#running.get(key);
    if (this.#waiting >= this.#waitingLimit || (!known && this.#running.size >= this.#limit)) {
      return Promise.resolve('full');
    }
    const shared = known ?? this.#begin(key, work);
    shared.wanted += 1;
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = () => {
        if (isOver) return false;
        isOver = true;
        this.#waiting -= 1;
        signal.removeEventListener('abort', leave);
        return true;
      };
      const leave = () => {
        if (!end()) return;
        shared.wanted -= 1;
        if (shared.wanted === 0) {
          // Who comes now must not get what was given up.
          if (this.#running.get(key) === shared) this.#running.delete(key);
          shared.abort.abort();
        }
        resolve('left');
      };
      signal.addEventListener('abort', leave);
      shared.outcome.then(
        (outcome) => end() && resolve(outcome),
        (error: unknown) => end() && reject(error),
      );
    });
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
