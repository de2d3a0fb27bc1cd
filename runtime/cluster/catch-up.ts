import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { retried } from './retried.ts';

/**
 * Whether the store has all that is on the log. One that was started anew may lack what was acknowledged until the owners of
 * the partitions have read their commands again, and a row that is not found may be there all the same. So a mark is put on the
 * log of each partition; when its owner answers, all before it is stored.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #behind = new Set<number>();
  /** Aborted with the next beginning: what was marked for an earlier one says nothing of a later one. */
  #round = new AbortController();

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /** Partitions of which nobody knows yet. */
  get size(): number {
    return this.#behind.size;
  }

  /** From now on nothing is known, until each owner has said so. */
  begin(): void {
    this.#round.abort();
    this.#round = new AbortController();
    for (let partition = 0; partition < this.#options.partitions; partition += 1) {
      this.#behind.add(partition);
      void this.#see(partition, this.#round.signal);
    }
  }

  stop(): void {
    this.#round.abort();
  }

  /**
   * What `read` finds. When it finds nothing where something may yet come, Fault `store.behind`. `partition`: the one
   * that is read, where that is known.
   */
  async certain<T>(read: () => Promise<T | undefined>, partition?: number): Promise<T | undefined> {
    const round = this.#round;
    const isBehind = () => (partition === undefined ? this.#behind.size > 0 : this.#behind.has(partition));
    const wasBehind = isBehind();
    const found = await read();
    // Also when it began, or ended, while it was read.
    if (found === undefined && (wasBehind || isBehind() || round !== this.#round)) throw behind();
    return found;
  }

  async #see(partition: number, signal: AbortSignal): Promise<void> {
    const { clock, log, mark } = this.#options;
    const work = async () => {
      await mark(partition);
      if (!signal.aborted) this.#behind.delete(partition);
    };
    const failure = 'it is not known yet whether the store has all of a partition';
    await retried(work, { clock, signal, failure, log: log.with({ partition }) });
  }
}

interface CatchUpOptions {
  readonly partitions: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves when all that is on the log of the partition by now is stored. */
  mark(partition: number): Promise<void>;
}

function behind(): Fault {
  const message = 'The store is being brought up to date; whether this exists is not known yet. Try again.';
  return new Fault('store.behind', { status: 503, message, retryAfter: 1 });
}
