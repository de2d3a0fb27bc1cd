import type { Clock } from '../../../core/ports/clock.ts';

/** Who waits for a playlist to appear. */
export class Arrivals {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<(came: boolean) => void>>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait. */
  get size(): number {
    let size = 0;
    for (const waiting of this.#waiting.values()) size += waiting.size;
    return size;
  }

  announce(playbackId: string): void {
    for (const settle of this.#waiting.get(playbackId) ?? []) settle(true);
  }

  /** Resolves true when it was announced, false after `timeout` ms, when the viewer leaves, or at `end`. */
  wait(playbackId: string, options: { timeout: number; signal: AbortSignal }): Promise<boolean> {
    const { timeout, signal } = options;
    // A viewer who has gone already tells nobody any more.
    if (this.#isOver || signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(playbackId) ?? new Set();
      const onAbort = () => settle(false);
      const cancel = this.#clock.at(this.#clock.now() + timeout, () => settle(false));
      const settle = (came: boolean) => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        waiting.delete(settle);
        if (waiting.size === 0) this.#waiting.delete(playbackId);
        resolve(came);
      };
      signal.addEventListener('abort', onAbort);
      waiting.add(settle);
      this.#waiting.set(playbackId, waiting);
    });
  }

  /** Nothing will appear any more. */
  end(): void {
    this.#isOver = true;
    for (const waiting of this.#waiting.values()) for (const settle of waiting) settle(false);
  }
}
