import { copyFile, rm } from 'node:fs/promises';
import { milliseconds } from '../../core/base/config-fields.ts';
import { jsonLog } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import type { Actors } from '../../core/plugin/actor.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { BatchOutcome, LoggedEvent, Order, StepBatch, Store } from '../../core/ports/store.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { EventHub } from '../../runtime/actors/events.ts';
import type { HostOptions } from '../../runtime/actors/host.ts';
import type { JobQueue } from '../../runtime/actors/jobs/queue.ts';
import { Cluster } from '../../runtime/cluster/cluster.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { memoryVolatile } from '../../runtime/drivers/volatile/memory.ts';
import { bareBroadcast } from '../kit/broadcast-actor.ts';
import { memoryBroker } from '../kit/bus/broker.ts';
import { memoryBus } from '../kit/bus/memory-bus.ts';
import { trackedStore } from '../kit/tracked-store.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { mortal } from './mortal.ts';
import { tally } from './tally.ts';

export const partitions = 4;
const began = Date.UTC(2026, 0, 1);

/**
 * Nodes that run actors on one store and one bus, without plugins, in virtual time. A node can die at any moment, and the
 * store can be made to fail.
 */
export async function clusterNodes({
  file = ':memory:',
  broker: given,
}: {
  file?: string;
  broker?: ReturnType<typeof memoryBroker>;
} = {}) {
  let current = sqliteStore({ file });
  const tracked = trackedStore(new Proxy(current, { get: (_, name) => Reflect.get(current, name) }));
  const clock = virtualClock({ start: began, idle: tracked.idle });
  const broker = given ?? memoryBroker({ clock });
  const lines: string[] = [];
  const log = jsonLog({ level: 'debug', now: () => clock.now(), write: (line) => lines.push(line) });
  const volatile = memoryVolatile({ clock });
  const whole = tracked.store;
  /** What a test does to commits; by default nothing. */
  const faults = {
    commit: (_: StepBatch, run: () => Promise<BatchOutcome>): Promise<BatchOutcome> => run(),
    load: (): Promise<void> => Promise.resolve(),
  };
  const restarts = new Set<() => void>();
  const store: Store = Object.assign(Object.create(whole) as Store, {
    // Batches without steps are beside what tests look at.
    commitAll: (batch: StepBatch) =>
      batch.steps.length > 0 ? faults.commit(batch, () => whole.commitAll(batch)) : whole.commitAll(batch),
    load: async (actor: string) => {
      await faults.load();
      return whole.load(actor);
    },
    loadAll: async (...asked: Parameters<Store['loadAll']>) => {
      await faults.load();
      return whole.loadAll(...asked);
    },
    onRestart(listener: () => void) {
      restarts.add(listener);
      return () => void restarts.delete(listener);
    },
  });
  const alive = new Map<string, ClusterNode>();

  const start = async (name: string, options: StartOptions = {}): Promise<ClusterNode> => {
    const life = mortal(clock);
    const events: LoggedEvent[] = [];
    const orders: Order[] = [];
    const own = memoryBus({ broker, node: name, partitions, clock: life.clock, log });
    const bus: Bus = life.bound(own, ['restart', 'lags']);
    const bound = life.bound(store);
    const hub = new EventHub(bound, { log });
    hub.subscribe((event) => events.push(event));
    const { log: logId } = await bus.open();
    await bound.acquire(partitions, { partitions: [], log: logId });
    const metrics = new Metrics();
    const cluster = new Cluster({
      ...{
        store: bound,
        bus,
        logId,
        clock: life.clock,
        log: log.with({ node: name }),
        metrics,
        hub,
        partitions,
      },
      volatile: life.bound(volatile),
      self: { node: name, incarnation: `${name}.1` },
      own: new EventHub(bound, { log }),
      types: new ActorTypes([
        { type: bareBroadcast as never, tools: undefined },
        { type: tally as never, tools: undefined },
        ...(options.types ?? []).map((type) => ({ type: type as never, tools: undefined })),
      ]),
      work: {
        ...queuedOnly,
        prepare: (wanted, steps) => {
          if (options.isFull?.()) throw options.isFull();
          return queuedOnly.prepare(wanted, steps);
        },
      },
      hotActors: options.hotActors ?? 100,
      runOrders(given) {
        orders.push(...given);
        void bound.acknowledge(given.map(({ id }) => id));
      },
      takeOrder: (order) => orders.push(order),
      probe: (point, actor) => {
        if (!life.isDead) options.probe?.(point, actor, node);
      },
    });
    const node: ClusterNode = {
      ...{ name, cluster, events, orders, metrics },
      bus: own,
      actors: life.bound(cluster.actors),
      kill() {
        life.die();
        alive.delete(name);
        broker.cut(name, { sleeps: true });
      },
      async stop() {
        alive.delete(name);
        const stopped = cluster.stop().then(() => own.close());
        await clock.advance(0);
        await clock.advance(15_000);
        await stopped;
      },
    };
    alive.set(name, node);
    await cluster.start();
    if (options.owns !== false) await cluster.own();
    await clock.advance(0);
    return node;
  };

  return {
    ...{ clock, broker, store, lines, start, faults, volatile },
    get jobs() {
      return whole.jobs;
    },
    advance: (duration: string) => clock.advance(milliseconds(duration)),
    settle: () => clock.advance(0),
    /** The store's engine was started anew. */
    storeRestarted() {
      for (const listener of [...restarts]) listener();
    },
    /** What the store has now, in a file, is what it has again after `rollBack`. */
    async keep() {
      await tracked.idle();
      // It is opened by its first call.
      await current.events.last();
      await current.close();
      await copyFile(file, `${file}.kept`);
      current = sqliteStore({ file });
    },
    async rollBack() {
      await tracked.idle();
      await current.close();
      for (const end of ['-wal', '-shm']) await rm(file + end, { force: true });
      await copyFile(`${file}.kept`, file);
      current = sqliteStore({ file });
      for (const listener of [...restarts]) listener();
    },
    async events() {
      return (await whole.events.after(0, { limit: 1000 })).map(({ id, type, body }) => ({ id, type, body }));
    },
    async tally(id: string) {
      const stored = await whole.load(`tally/${id}`);
      return stored && (JSON.parse(stored.state) as { context: { entries: string[]; rung: number } }).context;
    },
    async [Symbol.asyncDispose]() {
      faults.commit = (_, run) => run();
      faults.load = async () => {};
      for (const node of [...alive.values()]) await node.stop();
      await clock.advance(10_000);
      const left = clock.pending();
      await whole.close();
      if (left > 0) throw new Error(`${left} timers were left behind`);
    },
  };
}

export type Nodes = Awaited<ReturnType<typeof clusterNodes>>;

export interface ClusterNode {
  readonly name: string;
  readonly cluster: Cluster;
  /** Of a node that died no answer comes. */
  readonly actors: Actors;
  readonly bus: Bus;
  /** What its subscribers heard. */
  readonly events: LoggedEvent[];
  readonly orders: Order[];
  readonly metrics: Metrics;
  kill(): void;
  stop(): Promise<void>;
}

interface StartOptions {
  readonly owns?: boolean;
  readonly hotActors?: number;
  /** Besides those that all nodes have. */
  readonly types?: readonly unknown[];
  readonly isFull?: () => Error | undefined;
  readonly probe?: (
    point: Parameters<NonNullable<HostOptions['probe']>>[0],
    actor: string,
    node: ClusterNode,
  ) => void;
}

/** The work of a host whose jobs are all due at once, and run by nobody. */
export const queuedOnly: JobQueue = {
  prepare: (wanted, { at }) =>
    wanted.map(({ id, kind, child, input }) => ({ id, kind, child, input: JSON.stringify(input), due: at })),
  committed: () => {},
};
