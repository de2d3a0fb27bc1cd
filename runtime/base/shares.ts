/** A bounded amount that is given out in shares. Those who wait get theirs in the order of asking, so a large one is not passed over. */
export class Shares {
  readonly total: number;
  readonly #waiting = new Set<{ readonly amount: number; begin(): void }>();
  #given = 0;

  constructor(total: number) {
    this.total = total;
  }

  get given(): number {
    return this.#given;
  }

  /**
   * Resolves when there is so much; the answer gives it back. More than there is in all counts as all. Throws the reason of an aborted
   * signal.
   */
  async take(asked: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const amount = Math.min(asked, this.total);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { amount, begin: resolve };
    const leave = () => {
      this.#waiting.delete(one);
      reject(signal.reason);
      // Those behind it may have been waiting for it alone.
      this.#giveOut();
    };
    signal.addEventListener('abort', leave);
    this.#waiting.add(one);
    this.#giveOut();
    await promise.finally(() => signal.removeEventListener('abort', leave));
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      this.#given -= amount;
      this.#giveOut();
    };
  }

  #giveOut(): void {
    for (const one of this.#waiting) {
      if (this.#given + one.amount > this.total) return;
      this.#waiting.delete(one);
      this.#given += one.amount;
      one.begin();
    }
  }
}
