import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { JobResult } from '../../core/plugin/step.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Job } from '../../core/ports/jobs.ts';
import type { Order, Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { partitionOf } from '../actors/actor-name.ts';
import type { ActorTypes } from '../actors/actor-types.ts';
import type { EventHub } from '../actors/events.ts';
import type { HostOptions } from '../actors/host.ts';
import type { JobQueue } from '../actors/jobs/queue.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import { CatchUp } from './catch-up.ts';
import { ClusterActors } from './cluster-actors.ts';
import { measureCluster } from './cluster-metrics.ts';
import type { NodeAddress } from './command.ts';
import { duty } from './duty.ts';
import { EventTail } from './event-tail.ts';
import { Mail } from './mail.ts';
import { Owner } from './owner.ts';
import { EventPublisher } from './publisher.ts';

/**
 * One node of several: its actors are asked over the bus, and where it has the role it runs those of the partitions that
 * the bus gives it.
 */
export class Cluster {
  readonly actors: ClusterActors;
  readonly mail: Mail;
  readonly catchUp: CatchUp;
  readonly #options: ClusterOptions;
  readonly #tail: EventTail;
  readonly #owner: Owner;
  #buried = 0;
  #buriedEvents = 0;
  #leave: (() => Promise<void>) | undefined;
  #unlisten: (() => void) | undefined;
  #publisher: EventPublisher | undefined;
  #stopPublishing: () => Promise<void> | void = () => {};

  constructor(options: ClusterOptions) {
    const { store, bus, clock, log, self, types, partitions } = options;
    this.#options = options;
    this.actors = new ClusterActors({
      ...{ bus, store, clock, log, types, partitions, self },
      certain: (read, partition) => this.catchUp.certain(read, partition),
    });
    this.catchUp = new CatchUp({
      ...{ partitions, clock, log },
      mark: (partition) => this.actors.mark(partition),
    });
    this.mail = new Mail({
      ...{ bus, self, clock, log },
      onAnswer: (id, answer) => this.actors.hear(id, answer),
      onOrder: (order) => options.takeOrder(order),
    });
    this.#tail = new EventTail(options);
    this.#owner = new Owner({
      ...{ clock, log },
      partsOf: (partition) => ({
        ...options,
        ...{ partition, mail: this.mail, tail: this.#tail },
        hotActors: Math.ceil(options.hotActors / partitions),
        onBuried: () => {
          this.#buried += 1;
        },
      }),
      restart: (partition) => bus.restart(partition),
    });
    measureCluster(options.metrics, {
      ...{ actors: this.actors, mail: this.mail, owner: this.#owner, catchUp: this.catchUp, bus, clock },
      buried: () => this.#buried,
      unpublished: () => this.#publisher?.backlog ?? 0,
      buriedEvents: () => this.#buriedEvents,
    });
  }

  /** Actors that are kept in memory, and their pending timers. */
  get hotActors(): number {
    return this.#sum(({ actors }) => actors);
  }

  get pendingTimers(): number {
    return this.#sum(({ timers }) => timers);
  }

  /** Partition → why it is not consumed, although the bus gives it to this node. */
  get refused(): ReadonlyMap<number, string> {
    return this.#owner.refused;
  }

  /** Partitions that this node consumes. */
  get owned(): readonly number[] {
    return [...this.#owner.owned.keys()];
  }

  /** From now on answers, orders and events are heard. */
  async start(): Promise<void> {
    await this.mail.start();
    await this.#tail.start();
    this.#unlisten = this.#options.store.onRestart?.(() => {
      this.#options.log.warn('the store was started anew: what it may have lost is done again', {});
      this.catchUp.begin();
      void this.#owner.renew();
    });
  }

  /** From now on this node runs its share of the actors. */
  async own(): Promise<void> {
    this.#leave = await this.#options.bus.own(this.#owner);
    this.#stopPublishing = await this.onDuty('event publisher', async () => {
      const publisher = new EventPublisher({
        ...this.#options,
        onBuried: () => {
          this.#buriedEvents += 1;
        },
      });
      this.#publisher = publisher;
      publisher.start();
      return async () => {
        this.#publisher = undefined;
        await publisher.stop();
      };
    });
  }

  /** Hands over the partitions: what was taken is finished first, the rest is the next owner's. */
  async stop(): Promise<void> {
    this.catchUp.stop();
    await this.actors.stop();
    this.#unlisten?.();
    await this.#owner.finish();
    await this.#leave?.();
    await this.#stopPublishing();
    this.#tail.stop();
    await this.mail.stop();
  }

  /** Does something on one node at a time, see `duty`. */
  onDuty(name: string, begin: Parameters<typeof duty>[1]['begin']): Promise<() => Promise<void>> {
    return duty(name, { ...this.#options, begin });
  }

  /** Events of plain resources are written. */
  wrote(...[events]: Parameters<EventTail['committed']>): void {
    if (events.length > 0) this.#tail.committed(events);
  }

  /**
   * The row that `read` finds, see `CatchUp.certain`. One that is found by the id of its actor waits for its own partition, any
   * other for all. Plain rows come from no log: those that were lost do not come again.
   */
  certain<T>(
    { kind, id }: { readonly kind: string; readonly id?: string },
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { types, partitions } = this.#options;
    const ids = types.idsOf(kind);
    if (!ids) return read();
    const isKnown = ids === 'own' && id !== undefined;
    return this.catchUp.certain(read, isKnown ? partitionOf(id, partitions) : undefined);
  }

  /** See `ClusterActors.conclude`. */
  conclude(
    job: Pick<Job, 'id' | 'actor' | 'child'>,
    options: { owner: string; result: JobResult },
  ): Promise<'ok' | 'stale' | 'lost'> {
    return this.actors.conclude(job, options);
  }

  #sum(value: (partition: { actors: number; timers: number }) => number): number {
    let sum = 0;
    for (const partition of this.#owner.owned.values()) sum += value(partition);
    return sum;
  }
}

export interface ClusterOptions {
  readonly self: NodeAddress;
  readonly store: Store;
  readonly bus: Bus;
  /** Identity of the bus's log. */
  readonly logId: string;
  readonly volatile: Volatile;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly types: ActorTypes;
  readonly hub: EventHub;
  /** Of what this node commits. */
  readonly own: EventHub;
  readonly work: JobQueue;
  readonly partitions: number;
  /** Actors of all partitions that are kept in memory. */
  readonly hotActors: number;
  readonly counts?: StepCounts;
  readonly probe?: HostOptions['probe'];
  /** Sees to the orders of committed steps, wherever they are to be carried out. */
  runOrders(orders: readonly Order[]): void;
  /** Another node sent it. */
  takeOrder(order: Order): void;
}
