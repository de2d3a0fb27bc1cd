import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order, Store } from '../../core/ports/store.ts';
import type { CommittedJobs } from '../actors/jobs/queue.ts';
import { Changes } from './changes.ts';
import type { HandedOn } from './hand-on.ts';
import { clusterLimits } from './limits.ts';
import { isWorthTelling, retried } from './retried.ts';

/** What a step that is stored leads to outside of the store. */
export interface Handed extends HandedOn {
  readonly orders: readonly Order[];
  /** Number of its outbox entry; undefined when it left none, or (`isNumberUnknown`) nobody knows. */
  readonly number: number | undefined;
  readonly isNumberUnknown?: boolean;
}

/**
 * Hands on what the steps of one partition lead to, in their order: first what a former owner left. It is tried until it
 * succeeds; what is waiting is in the store as well, so that whoever follows can go on with it.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #queue: Handed[] = [];
  /** The store may hold entries that are not in the queue. */
  #isDrainDue = true;
  /** Number of the last entry that was read from the store. */
  #drainedTo = Number.NEGATIVE_INFINITY;
  #isRunning = false;
  readonly #changes: Changes;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#changes = new Changes(options.signal);
  }

  /** Steps whose effects wait. */
  get size(): number {
    return this.#queue.length;
  }

  start(): void {
    void this.#run();
  }

  push(handed: Handed): void {
    // Whoever runs them sees to it that they are told, and acknowledges them: they wait for no other engine.
    if (handed.orders.length > 0) this.#options.runOrders(handed.orders);
    if (handed.isNumberUnknown && this.#options.store.outbox) this.#isDrainDue = true;
    this.#queue.push(handed);
    void this.#run();
  }

  /** Resolves when there is a place, or nobody wants one any more. */
  async room(): Promise<void> {
    while (this.#queue.length >= clusterLimits.backlog && !this.#options.signal.aborted)
      await this.#changes.next();
  }

  /** Resolves when everything is handed on, or nothing will be. */
  async idle(): Promise<void> {
    while (this.#isRunning && !this.#options.signal.aborted) await this.#changes.next();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { signal } = this.#options;
    while (!signal.aborted && (this.#isDrainDue || this.#queue.length > 0)) {
      if (this.#isDrainDue) {
        this.#isDrainDue = false;
        await this.#drain();
      } else {
        await this.#hand(this.#queue.slice(0, clusterLimits.relayed));
      }
    }
    this.#isRunning = false;
    this.#changes.happened();
  }

  async #drain(): Promise<void> {
    const { store, partition, runOrders } = this.#options;
    // Those that are being seen to already are known by their ids.
    runOrders((await this.#surely(() => store.orders([partition]))) ?? []);
    if (!store.outbox) return;
    for (;;) {
      const limit = clusterLimits.relayed;
      const entries = (await this.#surely(() => store.outbox!.pending(partition, { limit }))) ?? [];
      await this.#handOn(entries);
      this.#drainedTo = entries.at(-1)?.number ?? this.#drainedTo;
      if (entries.length < limit) return;
    }
  }

  async #hand(batch: readonly Handed[]): Promise<void> {
    await this.#handOn(batch.filter((handed) => !this.#wasDrained(handed)));
    if (this.#options.signal.aborted) return;
    this.#queue.splice(0, batch.length);
    this.#changes.happened();
  }

  /** Its entry was read from the store meanwhile. */
  #wasDrained({ number, isNumberUnknown = false }: Handed): boolean {
    if (!this.#options.store.outbox) return false;
    return isNumberUnknown || (number !== undefined && number <= this.#drainedTo);
  }

  async #handOn(entries: readonly (HandedOn & { readonly number: number | undefined })[]): Promise<void> {
    const { store, partition, handOn, work, signal } = this.#options;
    const { outbox } = store;
    if (outbox && entries.length > 0) {
      const numbers = entries.flatMap(({ number }) => number ?? []);
      await this.#surely(() => handOn(entries));
      if (numbers.length > 0) await this.#surely(() => outbox.settle(partition, numbers));
    }
    if (signal.aborted) return;
    for (const { at, jobs, cancels } of entries) {
      if (jobs.length + cancels.length > 0) work?.({ at, jobs, cancels });
    }
  }

  #surely<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { clock, signal, log, partition } = this.#options;
    return retried(work, {
      clock,
      signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries)) {
          log.error('what a step leads to could not be handed on; it is tried again', {
            partition,
            tries,
            error,
          });
        }
      },
    });
  }
}

interface RelayOptions {
  readonly partition: number;
  readonly store: Pick<Store, 'orders' | 'outbox'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the partition is another node's. */
  readonly signal: AbortSignal;
  handOn(entries: readonly HandedOn[]): Promise<void>;
  runOrders(orders: readonly Order[]): void;
  /** Jobs are in their queue, or gone from it. */
  readonly work?: (step: CommittedJobs) => void;
}
