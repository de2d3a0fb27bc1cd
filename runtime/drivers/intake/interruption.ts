/** What may end something that waits, again and again, for other things. */
export class Interruption {
  #isOver = false;
  #reason: unknown;
  #stop: (reason: unknown) => void = () => {};

  /** Ends what waits now, or else the next wait. The first reason counts. */
  end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#stop(reason);
  }

  /**
   * The promise, or the reason when that comes first. Unlike a race with a promise that lives long it leaves nothing
   * behind: the wait of each piece of a large file would.
   */
  async over<T>(promise: Promise<T>): Promise<T> {
    if (this.#isOver) {
      promise.catch(() => {});
      throw this.#reason;
    }
    return new Promise<T>((resolve, reject) => {
      this.#stop = reject;
      promise.then(resolve, reject);
    });
  }
}
