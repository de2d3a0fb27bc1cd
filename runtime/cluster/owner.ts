import type { LogRange, LogRecord, PartitionOwner } from '../../core/ports/bus.ts';
import { Judgements } from './judgements.ts';
import { clusterLimits } from './limits.ts';
import { Partition } from './partition.ts';
import type { PartitionParts, Trouble } from './parts.ts';
import { waitAfter } from './retried.ts';

/** The partitions that the bus gives to this node. */
export class Owner implements PartitionOwner {
  readonly #options: OwnerOptions;
  readonly #partitions = new Map<number, Partition>();
  readonly #judgements = new Map<number, Judgements>();
  /** Why those are not consumed that the bus gives to this node. */
  readonly #refused = new Map<number, string>();
  readonly #restarts = new Map<number, () => void>();
  #restarted = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
  }

  /** Those that are consumed here. */
  get owned(): ReadonlyMap<number, Partition> {
    return this.#partitions;
  }

  /** Partition → why it is not consumed although this node has it. */
  get refused(): ReadonlyMap<number, string> {
    return this.#refused;
  }

  /** How often a partition was begun anew. */
  get restarted(): number {
    return this.#restarted;
  }

  async assigned(partition: number, range: LogRange): Promise<number> {
    this.#partitions.get(partition)?.drop();
    const judgements = this.#judgements.get(partition) ?? new Judgements();
    this.#judgements.set(partition, judgements);
    const own: Partition = new Partition(this.#options.partsOf(partition), {
      verdict: (of) => judgements.verdict(of),
      condemn: (one, verdict) => judgements.condemn(one, verdict),
      onBroken: (trouble) => this.#broken(partition, { trouble, own, judgements }),
    });
    this.#partitions.set(partition, own);
    try {
      const from = await own.open(range);
      this.#refused.delete(partition);
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
  }

  async records(partition: number, records: readonly LogRecord[]): Promise<void> {
    await this.#partitions.get(partition)?.records(records);
  }

  reached(partition: number, at: number): void {
    this.#partitions.get(partition)?.reached(at);
  }

  /** Takes nothing more. Resolves when what was taken is stored and handed on, or when it has had the time to. */
  async finish(): Promise<void> {
    await Promise.all([...this.#partitions.values()].map((own) => this.#finish(own)));
  }

  /** The store may have lost what it acknowledged: all are begun anew from what it has, once what was taken is finished. */
  async renew(): Promise<void> {
    await Promise.all(
      [...this.#partitions].map(async ([partition, own]) => {
        await this.#finish(own);
        if (this.#partitions.get(partition) === own) this.#options.restart(partition);
      }),
    );
  }

  async #finish(own: Partition): Promise<void> {
    const { clock } = this.#options;
    const late = Promise.withResolvers<void>();
    const cancel = clock.at(clock.now() + clusterLimits.stop, late.resolve);
    await Promise.race([late.promise, own.finish()]);
    cancel();
  }

  #broken(
    partition: number,
    { trouble, own, judgements }: { trouble: Trouble; own: Partition; judgements: Judgements },
  ): void {
    if (this.#partitions.get(partition) !== own) return;
    const { clock, log, restart } = this.#options;
    const isFenced = trouble.why === 'fenced';
    const times = isFenced ? 1 : judgements.broke(trouble);
    const wait = isFenced ? clusterLimits.fencedRetry : waitAfter(times);
    const words = isFenced ? 'another node has taken a partition' : 'a partition is begun anew';
    const { why, at, error } = trouble;
    log[isFenced ? 'info' : 'error'](words, {
      partition,
      why,
      at,
      times,
      ...(error !== undefined && { error }),
    });
    this.#restarted += 1;
    this.#restarts.get(partition)?.();
    this.#restarts.set(
      partition,
      clock.at(clock.now() + wait, () => {
        this.#restarts.delete(partition);
        restart(partition);
      }),
    );
  }
}

interface OwnerOptions {
  readonly clock: PartitionParts['clock'];
  readonly log: PartitionParts['log'];
  partsOf(partition: number): PartitionParts;
  restart(partition: number): void;
}
