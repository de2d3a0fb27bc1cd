import type { Clock } from '../ports/clock.ts';
import { pause } from './timing.ts';

/** Waits between two tries of one thing, ms: doubling from the one to the other. */
const firstWait = 500;
const longestWait = 5000;

interface KeyedQueuesOptions<T> {
  readonly clock: Clock;
  /** Aborted when the program begins to stop: everything is then tried once more, and given up if that fails. */
  readonly signal: AbortSignal;
  work(item: T): Promise<void>;
  /** Called after the first failure of an item, and then ever more rarely: an outage may last for hours, for thousands of keys. */
  failed(item: T, details: { readonly tries: number; readonly error: unknown }): void;
  /** Adds an item to those that wait behind the one under way. It may replace or drop some, so that the queue stays short. */
  put(waiting: T[], item: T): void;
}

/** Does each thing until it succeeds: those of one key in order, those of different keys side by side. */
export class KeyedQueues<T> {
  readonly #options: KeyedQueuesOptions<T>;
  readonly #queues = new Map<string, { readonly waiting: T[]; readonly end: Promise<void> }>();

  constructor(options: KeyedQueuesOptions<T>) {
    this.#options = options;
  }

  add(key: string, item: T): void {
    const known = this.#queues.get(key);
    if (known) {
      this.#options.put(known.waiting, item);
      return;
    }
    const waiting: T[] = [];
    const drain = async () => {
      for (let next: T | undefined = item; next !== undefined; next = waiting.shift())
        await this.#untilDone(next);
      this.#queues.delete(key);
    };
    this.#queues.set(key, { waiting, end: drain() });
  }

  /** Things that are not done yet. */
  get size(): number {
    return [...this.#queues.values()].reduce((sum, { waiting }) => sum + waiting.length + 1, 0);
  }

  /** Resolves when everything added so far is done or given up. */
  async settled(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(({ end }) => end));
  }

  async #untilDone(item: T): Promise<void> {
    const { clock, signal, work, failed } = this.#options;
    for (let tries = 1, wait = firstWait; ; tries += 1, wait = Math.min(2 * wait, longestWait)) {
      try {
        await work(item);
        return;
      } catch (error) {
        if ((tries & (tries - 1)) === 0) failed(item, { tries, error });
        if (signal.aborted) return;
        await pause(clock.now() + wait, { clock, signal });
      }
    }
  }
}
