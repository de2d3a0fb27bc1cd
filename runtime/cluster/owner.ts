import { every } from '../../core/base/timing.ts';
import type { LogRange, LogRecord, PartitionOwner } from '../../core/ports/bus.ts';
import type { Duties } from './duties.ts';
import { type Broken, Partition, type PartitionParts } from './partition.ts';

/** Wait before a partition is taken again that the bus gives to this node and another node has taken, ms. */
const fencedWait = 5000;
/** Wait before a partition begins again that could not go on, ms. */
const brokenWait = 500;
/** How often it is looked whether timers are due, ms. */
const lookInterval = 250;
/** How long a node that stops waits for the steps it has begun, ms; what is left is for the next owners. */
const finishTime = 3000;

/** The partitions that the bus gives to this node. */
export class Owner implements PartitionOwner {
  readonly #options: OwnerOptions;
  readonly #partitions = new Map<number, Partition>();
  /** Why those are not consumed that the bus gives to this node. */
  readonly #refused = new Map<number, string>();
  readonly #restarts = new Map<number, () => void>();
  readonly #stopLooking: () => void;
  #restarted = 0;
  #buried = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
    const work = () => {
      for (const partition of this.#partitions.values()) partition.look();
    };
    this.#stopLooking = every(lookInterval, { clock: options.clock, work });
  }

  /** Those that are consumed here. */
  get owned(): readonly number[] {
    return [...this.#partitions.keys()];
  }

  /** Partition → why it is not consumed although this node has it. */
  get refused(): ReadonlyMap<number, string> {
    return this.#refused;
  }

  /** How often a partition began again. */
  get restarted(): number {
    return this.#restarted;
  }

  /** Commands that nobody could make sense of. */
  get buried(): number {
    return this.#buried;
  }

  /** Of all its partitions: actors that are kept in memory, their pending timers, steps that wait for the store. */
  sum(what: 'actors' | 'timers' | 'inFlight'): number {
    return [...this.#partitions.values()].reduce((sum, { [what]: value }) => sum + value, 0);
  }

  async assigned(partition: number, range: LogRange): Promise<number> {
    this.#partitions.get(partition)?.drop();
    const onBuried = () => {
      this.#buried += 1;
    };
    const own: Partition = new Partition({ ...this.#options, partition, onBuried }, (broken) =>
      this.#broken(partition, { own, broken }),
    );
    this.#partitions.set(partition, own);
    try {
      const from = await own.open(range);
      this.#refused.delete(partition);
      this.#options.duties.owns(partition, true);
      return from;
    } catch (error) {
      own.drop();
      if (this.#partitions.get(partition) === own) {
        this.#partitions.delete(partition);
        this.#refused.set(partition, error instanceof Error ? error.message : String(error));
      }
      throw error;
    }
  }

  revoked(partition: number): void {
    this.#restarts.get(partition)?.();
    this.#restarts.delete(partition);
    this.#refused.delete(partition);
    this.#partitions.get(partition)?.drop();
    this.#partitions.delete(partition);
    this.#options.duties.owns(partition, false);
  }

  async records(partition: number, records: readonly LogRecord[]): Promise<void> {
    await this.#partitions.get(partition)?.records(records);
  }

  /** Takes nothing more. Resolves when what was taken is stored, or when it has had the time to. */
  async finish(): Promise<void> {
    this.#stopLooking();
    await Promise.all([...this.#partitions.values()].map((own) => this.#finish(own)));
  }

  /** The store may have lost what it acknowledged: all begin again from what it has, once what was taken is finished. */
  async renew(): Promise<void> {
    await Promise.all(
      [...this.#partitions].map(async ([partition, own]) => {
        await this.#finish(own);
        if (this.#partitions.get(partition) === own) this.#options.bus.restart(partition);
      }),
    );
  }

  async #finish(own: Partition): Promise<void> {
    const { clock } = this.#options;
    const late = Promise.withResolvers<void>();
    const cancel = clock.at(clock.now() + finishTime, late.resolve);
    await Promise.race([late.promise, own.finish()]);
    cancel();
  }

  #broken(partition: number, { own, broken }: { own: Partition; broken: Broken }): void {
    if (this.#partitions.get(partition) !== own) return;
    const { clock, log, bus } = this.#options;
    if (broken.why === 'fenced') log.info('another node has taken a partition', { partition });
    else log.error('a partition begins again from what is stored', { partition, ...broken });
    this.#restarted += 1;
    const wait = broken.why === 'fenced' ? fencedWait : brokenWait;
    this.#restarts.set(
      partition,
      clock.at(clock.now() + wait, () => bus.restart(partition)),
    );
  }
}

type OwnerOptions = Omit<PartitionParts, 'partition' | 'onBuried'> & { readonly duties: Duties };
