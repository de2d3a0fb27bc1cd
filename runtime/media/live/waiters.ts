import type { Clock } from '../../../core/ports/clock.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';

/** A request that waits for something to be made. */
export interface Waiter {
  /** The answer once there is one. Asked after every change. */
  attempt(): LiveAnswer | undefined;
  /** The answer when its time is up. */
  expire(): LiveAnswer;
}

interface Waiting extends Waiter {
  due: number;
  cancel(): void;
  settle(answer: LiveAnswer): void;
}

/** Requests that wait. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits at most `timeout` milliseconds, and no longer than the viewer does. */
  wait(waiter: Waiter, options: { timeout: number; signal: AbortSignal | undefined }): Promise<LiveAnswer> {
    return new Promise((resolve) => {
      const { signal } = options;
      // Nobody reads the answer to a viewer who has gone.
      const onAbort = () => waiting.settle(waiter.expire());
      const due = this.#clock.now() + options.timeout;
      const waiting: Waiting = {
        attempt: () => waiter.attempt(),
        expire: () => waiter.expire(),
        due,
        cancel: () => {},
        settle: (answer) => {
          if (!this.#waiting.delete(waiting)) return;
          waiting.cancel();
          signal?.removeEventListener('abort', onAbort);
          resolve(answer);
        },
      };
      this.#waiting.add(waiting);
      this.#arm(waiting);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort);
    });
  }

  /** Something has changed. */
  wake(): void {
    for (const waiting of this.#waiting) {
      const answer = waiting.attempt();
      if (answer !== undefined) waiting.settle(answer);
    }
  }

  /** From now on nobody waits longer than `timeout` milliseconds. */
  shorten(timeout: number): void {
    const due = this.#clock.now() + timeout;
    for (const waiting of this.#waiting) {
      if (waiting.due <= due) continue;
      waiting.due = due;
      waiting.cancel();
      this.#arm(waiting);
    }
  }

  #arm(waiting: Waiting): void {
    waiting.cancel = this.#clock.at(waiting.due, () => waiting.settle(waiting.expire()));
  }
}
