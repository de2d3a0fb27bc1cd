import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
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
import { Duties } from './duties.ts';
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
  readonly duties: Duties;
  readonly owner: Owner;
  readonly #options: ClusterOptions;
  readonly #tail: EventTail;
  readonly #publisher: EventPublisher;
  #leave: (() => Promise<void>) | undefined;
  #unlisten: (() => void) | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.actors = new ClusterActors({
      ...options,
      certain: (read, partition) => this.catchUp.certain(read, partition),
    });
    this.catchUp = new CatchUp({ ...options, mark: (partition) => this.actors.mark(partition) });
    this.mail = new Mail({
      ...options,
      onAnswer: (id, answer) => this.actors.hear(id, answer),
      onOrder: (order) => options.takeOrder(order),
    });
    this.duties = new Duties(options);
    this.#tail = new EventTail(options);
    this.#publisher = new EventPublisher(options);
    const hotActors = Math.ceil(options.hotActors / options.partitions);
    this.owner = new Owner({ ...options, mail: this.mail, tail: this.#tail, duties: this.duties, hotActors });
    measureCluster(options.metrics, { ...options, ...this, publisher: this.#publisher });
  }

  /** From now on answers, orders and events are heard. */
  async start(): Promise<void> {
    await this.mail.start();
    await this.#tail.start();
    this.#unlisten = this.#options.store.onRestart?.(() => {
      this.#options.log.warn('the store was started anew: what it may have lost is done again', {});
      this.catchUp.begin();
      void this.owner.renew();
    });
  }

  /** From now on this node runs its share of the actors. */
  async own(): Promise<void> {
    await this.duties.add('event publisher', async () => this.#publisher.start());
    this.#leave = await this.#options.bus.own(this.owner);
  }

  /** Hands over the partitions: what was taken is finished first, the rest is the next owner's. */
  async stop(): Promise<void> {
    this.catchUp.stop();
    await this.actors.stop();
    this.#unlisten?.();
    await this.owner.finish();
    await this.#leave?.();
    await this.duties.stop();
    this.#tail.stop();
    await this.mail.stop();
  }

  /** Events of plain resources are written. */
  wrote(...[events]: Parameters<EventTail['committed']>): void {
    this.#tail.committed(events);
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
