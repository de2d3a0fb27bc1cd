import type { Clock } from '../../../core/ports/clock.ts';

/** A request that waits for something to be made. */
export interface Waiter<T> {
  /** The answer once there is one. Asked after every change. */
  attempt(): T | undefined;
  /** The answer when its time is up. */
  expire(): T;
}

interface Waiting<T> {
  readonly waiter: Waiter<T>;
  due: number;
  cancel(): void;
  settle(answer: T): void;
}

/** Requests that wait. */
export class Waiters<T> {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits at most `timeout` milliseconds, and no longer than the viewer does. */
  wait(waiter: Waiter<T>, options: { timeout: number; signal: AbortSignal | undefined }): Promise<T> {
    const { signal } = options;
    const { promise, resolve } = Promise.withResolvers<T>();
    const waiting: Waiting<T> = {
      waiter,
      due: this.#clock.now() + options.timeout,
      cancel: () => {},
      settle: (answer) => {
        if (!this.#waiting.delete(waiting)) return;
        waiting.cancel();
        signal?.removeEventListener('abort', onAbort);
        resolve(answer);
      },
    };
    // Nobody reads the answer to a viewer who has gone.
    const onAbort = () => waiting.settle(waiter.expire());
    this.#waiting.add(waiting);
    this.#arm(waiting);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort);
    return promise;
  }

  /** Something has changed. */
  wake(): void {
    for (const waiting of this.#waiting) {
      const answer = waiting.waiter.attempt();
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

  #arm(waiting: Waiting<T>): void {
    waiting.cancel = this.#clock.at(waiting.due, () => waiting.settle(waiting.waiter.expire()));
  }
}
