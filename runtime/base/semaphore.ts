/** How many do something at one time; others wait for their turn, in the order of asking. */
export class Semaphore {
  readonly #most: number;
  readonly #waitingMost: number;
  readonly #waiting = new Set<{ begin(): void; refuse(reason: unknown): void }>();
  #running = 0;

  constructor(limits: { readonly running: number; readonly waiting: number }) {
    this.#most = limits.running;
    this.#waitingMost = limits.waiting;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves when there is a place; the answer gives it back. `full`: too many wait. Throws the reason of an aborted signal. */
  async take(signal: AbortSignal): Promise<(() => void) | 'full'> {
    signal.throwIfAborted();
    if (this.#running >= this.#most) {
      if (this.#waiting.size >= this.#waitingMost) return 'full';
      await this.#turn(signal);
    } else this.#running += 1;
    return () => this.#leave();
  }

  /** Nobody who waits gets a place any more. */
  refuse(reason: unknown): void {
    for (const one of this.#waiting) one.refuse(reason);
    this.#waiting.clear();
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { begin: resolve, refuse: reject };
    const leave = () => {
      this.#waiting.delete(one);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave);
    this.#waiting.add(one);
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** The place goes to whoever waits longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (!next) this.#running -= 1;
    else {
      this.#waiting.delete(next);
      next.begin();
    }
  }
}
