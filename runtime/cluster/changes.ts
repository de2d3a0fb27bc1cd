/** Lets waits go on when something has changed; each looks again whether it is what it waits for. */
export class Changes {
  #waiting: (() => void)[] = [];

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.happened(), { once: true });
  }

  /** Resolves at the next change, and when the signal is aborted. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  happened(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }
}
