import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import type { Role } from '../../core/plugin/nodes.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import type { JobResult } from '../../core/plugin/step.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Job } from '../../core/ports/jobs.ts';
import type { Lease, LoggedEvent, Order, Store } from '../../core/ports/store.ts';
import type { Volatile } from '../../core/ports/volatile.ts';
import { patiently } from '../boot/patience.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { NodeAddress } from '../cluster/command.ts';
import type { ActorTypes } from './actor-types.ts';
import { EventHub } from './events.ts';
import { ActorHost, type HostOptions } from './host.ts';
import type { JobQueue } from './jobs/queue.ts';
import type { StepCounts } from './step-counts.ts';

/** Who runs the actors, and what of their lives others have to do with. */
export interface ActorRuntime {
  readonly actors: Actors;
  /** Actors kept in memory, and the pending timers of those that run here. */
  readonly hotActors: number;
  readonly pendingTimers: number;
  /** What this process commits; the hub has what all do. */
  readonly ownEvents: Pick<EventHub, 'subscribe'>;
  /** Gives the result of a job to the actor that asked for it, see `ActorHost.conclude`. */
  conclude(
    job: Pick<Job, 'id' | 'actor' | 'child'>,
    options: { owner: string; result: JobResult },
  ): Promise<'ok' | 'stale' | 'lost'>;
  /** Before the plugins, who let commands in: what was due meanwhile comes before them. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The row that `read` finds; Fault `store.behind` when it finds none and that is not certain, see `Cluster.certain`. */
  certain<T>(
    row: { readonly kind: string; readonly id?: string },
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** Events of plain resources are written. */
  wrote(events: readonly LoggedEvent[]): void;
  /** Does something on one node at a time: `begin` returns its end. Returns the stop. */
  onDuty(name: string, begin: () => Promise<Stop>): Promise<Stop>;
  /** Hands an order to another process. */
  sendOrder(order: Order, to: NodeAddress): Promise<void>;
}

/**
 * Takes over the data, or with a bus checks that data, log and config belong together. Returns what makes the runtime.
 * Faults: `store.*`, `bus.*`.
 */
export async function actorRuntime(data: TakenData): Promise<(options: RuntimeOptions) => ActorRuntime> {
  const { store, bus, partitions, clock, log, signal } = data;
  const patience = { clock, log, signal };
  if (!bus) {
    const leases = await patiently('store', { ...patience, attempt: () => store.acquire(partitions) });
    return (options) => embedded({ ...data, ...options, leases });
  }
  const opened = await patiently('bus', { ...patience, attempt: () => bus.open() });
  const { log: logId } = opened;
  // No partition yet: those come from the bus.
  const none = { partitions: [], log: logId };
  await patiently('store', { ...patience, attempt: () => store.acquire(partitions, none) });
  return (options) => clustered({ ...data, ...options, bus, logId });
}

/** All actors run in this process, and nothing else writes to the data. */
function embedded(options: TakenData & RuntimeOptions & { leases: readonly Lease[] }): ActorRuntime {
  const { store, hub } = options;
  const host = new ActorHost({
    ...options,
    onEvent: (event) => hub.publish(event),
    onOrders: (orders) => options.runOrders(orders),
    onFenced: (partition) =>
      options.onFatal(`another process has taken over the data (partition ${partition})`),
  });
  return {
    actors: host,
    get hotActors() {
      return host.hotActors;
    },
    get pendingTimers() {
      return host.pendingTimers;
    },
    ownEvents: hub,
    conclude: (job, result) => host.conclude(job, result),
    async start() {
      // Orders of a former process: its connections are gone, so carrying them out again is harmless.
      options.runOrders(await store.orders());
      await host.start();
    },
    stop: () => host.stop(),
    certain: (_, read) => read(),
    wrote(events) {
      for (const event of events) hub.publish(event);
    },
    onDuty: (_, begin) => begin(),
    async sendOrder() {
      throw new Error('there is no other node');
    },
  };
}

/** The actors run on the nodes of the deployment that have the role, this one perhaps among them. */
function clustered(options: TakenData & RuntimeOptions & { bus: Bus; logId: string }): ActorRuntime {
  const own = new EventHub(options.store, { log: options.log });
  const cluster = new Cluster({ ...options, own });
  return {
    actors: cluster.actors,
    get hotActors() {
      return cluster.owner.sum('actors');
    },
    get pendingTimers() {
      return cluster.owner.sum('timers');
    },
    ownEvents: own,
    conclude: (job, result) => cluster.actors.conclude(job, result),
    async start() {
      await cluster.start();
      if (options.roles.includes('actors')) await cluster.own();
      // It may have been started anew a moment before this process.
      if (options.store.onRestart) cluster.catchUp.begin();
    },
    stop: () => cluster.stop(),
    certain: (row, read) => cluster.certain(row, read),
    wrote: (events) => cluster.wrote(events),
    onDuty: (name, begin) => cluster.duties.add(name, begin),
    sendOrder: (order, to) => cluster.mail.order(order, to),
  };
}

/** What the actors' lives are kept in. */
export interface TakenData {
  readonly store: Store;
  /** Absent where this process is the only one. */
  readonly bus?: Bus;
  /** Fixed for the life of the data. */
  readonly partitions: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the program is to end while it starts. */
  readonly signal: AbortSignal;
}

export interface RuntimeOptions {
  readonly self: NodeAddress;
  readonly roles: readonly Role[];
  readonly volatile: Volatile;
  readonly metrics: Metrics;
  readonly hub: EventHub;
  readonly types: ActorTypes;
  /** Actors kept restored in memory. */
  readonly hotActors: number;
  readonly counts: StepCounts;
  readonly work: JobQueue;
  readonly probe?: HostOptions['probe'];
  /** Sees to the orders of committed steps, wherever they are to be carried out. */
  runOrders(orders: readonly Order[]): void;
  /** Another node sent it. */
  takeOrder(order: Order): void;
  /** This process must end. */
  onFatal(reason: string): void;
}
