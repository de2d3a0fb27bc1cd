import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { partitionOf } from '../actors/actor-name.ts';

/** Wait before a singleton task is begun again that could not be, ms. */
const retryWait = 2000;

type End = () => Promise<void> | void;

interface Duty {
  readonly name: string;
  readonly partition: number;
  begin(): Promise<End>;
  /** Undefined while it is not done here. */
  end: End | undefined;
  /** Resolves when it was last seen to. */
  work: Promise<void>;
  cancel(): void;
}

/**
 * Singleton tasks: each is done by the node that has the partition of its name. A node that is frozen may go on for a moment when
 * another has begun: what is done must stand that.
 */
export class Duties {
  readonly #options: { readonly partitions: number; readonly clock: Clock; readonly log: Log };
  readonly #all = new Set<Duty>();
  readonly #owned = new Set<number>();

  constructor(options: { partitions: number; clock: Clock; log: Log }) {
    this.#options = options;
  }

  /** `begin` is called when this node gets it, and what it returns when it loses it. Returns the stop. */
  async add(name: string, begin: () => Promise<End>): Promise<() => Promise<void>> {
    const partition = partitionOf(name, this.#options.partitions);
    const duty: Duty = { name, partition, begin, end: undefined, work: Promise.resolve(), cancel: () => {} };
    this.#all.add(duty);
    await this.#look(duty);
    return () => {
      this.#all.delete(duty);
      return this.#look(duty);
    };
  }

  /** This node has a partition now, or has it no more. */
  owns(partition: number, isOwned: boolean): void {
    if (isOwned) this.#owned.add(partition);
    else this.#owned.delete(partition);
    for (const duty of this.#all) if (duty.partition === partition) void this.#look(duty);
  }

  /** Resolves when none is done here any more. */
  async stop(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    await Promise.all(all.map((duty) => this.#look(duty)));
  }

  /** Begins it or ends it, one after the other. */
  #look(duty: Duty): Promise<void> {
    const { clock, log } = this.#options;
    duty.cancel();
    duty.work = duty.work
      .then(async () => {
        const isWanted = this.#all.has(duty) && this.#owned.has(duty.partition);
        const { end } = duty;
        if (isWanted === (end !== undefined)) return;
        duty.end = undefined;
        await end?.();
        if (!isWanted) return;
        duty.end = await duty.begin();
        log.info('this node has a duty now', { duty: duty.name });
      })
      .catch((error: unknown) => {
        log.error('a duty could not be begun or ended; it is looked at again', { duty: duty.name, error });
        if (this.#all.has(duty)) duty.cancel = clock.at(clock.now() + retryWait, () => void this.#look(duty));
      });
    return duty.work;
  }
}
