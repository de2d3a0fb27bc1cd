import type { Clock } from '../../../core/ports/clock.ts';
import { locked } from './faults.ts';

/** Requests of one tus upload that may wait. */
const mostWaiting = 4;
/** How long each of them waits, ms. */
export const turnWait = 10_000;

/**
 * Runs the requests of one upload one at a time. A newer request interrupts the running one if possible: a client notices a broken
 * connection long before the server, and its next request must not wait for that. (tusd and @tus/server do the same.)
 */
export class Turn {
  readonly #clock: Clock;
  #holder: { readonly left: Promise<void>; interrupt(): void } | undefined;
  #waiting = 0;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  get isTaken(): boolean {
    return this.#holder !== undefined;
  }

  /** Resolves with a function that ends the turn. `interrupt`: called when another request waits. Fault `upload.locked` (423). */
  async take(interrupt: () => void): Promise<() => void> {
    if (this.#waiting >= mostWaiting) throw locked;
    this.#waiting += 1;
    const due = this.#clock.now() + turnWait;
    try {
      while (this.#holder) {
        this.#holder.interrupt();
        await this.#until(this.#holder.left, due);
      }
    } finally {
      this.#waiting -= 1;
    }
    const { promise: left, resolve } = Promise.withResolvers<void>();
    this.#holder = { left, interrupt };
    return () => {
      this.#holder = undefined;
      resolve();
    };
  }

  async #until(left: Promise<void>, due: number): Promise<void> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#clock.at(due, () => late.reject(locked));
    try {
      await Promise.race([left, late.promise]);
    } finally {
      cancel();
    }
  }
}
