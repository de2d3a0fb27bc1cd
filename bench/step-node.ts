import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { assign, emit, setup } from 'xstate';
import { jsonLog } from '../core/base/log.ts';
import { Metrics } from '../core/base/metrics.ts';
import type { Actors, ActorType } from '../core/plugin/actor.ts';
import { partitionOf } from '../runtime/actors/actor-name.ts';
import { ActorTypes } from '../runtime/actors/actor-types.ts';
import { EventHub } from '../runtime/actors/events.ts';
import { ActorHost } from '../runtime/actors/host.ts';
import { Cluster } from '../runtime/cluster/cluster.ts';
import { kafkaBus } from '../runtime/drivers/bus/kafka/index.ts';
import { systemClock } from '../runtime/drivers/clock/system.ts';
import { redisStore } from '../runtime/drivers/store/redis/index.ts';
import { sqliteStore } from '../runtime/drivers/store/sqlite/index.ts';
import { redisVolatile } from '../runtime/drivers/volatile/redis/index.ts';
import { atDepth } from './harness/bare-calls.ts';

/**
 * The node that `bench/steps.ts` measures, in a process of its own, so that its CPU is known: it runs all actors and asks them
 * itself. Its one argument is a `StepPlan`; it prints a line of JSON when a measurement begins and when it ends.
 */
export interface StepPlan {
  /** Absent: it is alone, with SQLite in this folder. */
  readonly engines?: { readonly url: string; readonly brokers: readonly string[] };
  readonly folder: string;
  readonly loads: readonly { readonly callers: number; readonly partitions: number }[];
  /** Of each load, and before it to get warm. */
  readonly seconds: number;
  readonly warmUp: number;
  /** Asks a second whose time is measured at the end. */
  readonly rate: number;
}

export type StepLine =
  | { readonly is: 'begin' }
  | { readonly is: 'end'; readonly steps: number; readonly seconds: number }
  | { readonly is: 'asks'; readonly taken: readonly number[] };

interface Subject {
  readonly actors: Actors;
  stop(): Promise<void>;
}

const partitions = 16;
/** Steps that make a node warm, and the most seconds that they may take. */
const warmSteps = 20_000;
const mostWarm = 20;
const clock = systemClock();
const log = jsonLog({ level: 'error', now: clock.now, write: (line) => console.error(line) });
const say = (line: StepLine) => console.log(JSON.stringify(line));

/** A step writes 1 KiB of state, a row, an event and a timer. */
const machine = setup({
  types: { context: {} as { n: number; text: string }, events: {} as { type: 'count'; at: number } },
  delays: { long: 3_600_000 },
}).createMachine({
  id: 'counter',
  context: { n: 0, text: 'x'.repeat(900) },
  initial: 'counting',
  states: {
    counting: {
      on: {
        count: {
          target: 'counting',
          reenter: true,
          actions: [
            assign(({ context }) => ({ n: context.n + 1 })),
            emit({ type: 'counter.counted' } as never),
          ],
        },
      },
      after: { long: 'still' },
    },
    still: {},
  },
});
const counter: ActorType<typeof machine> = {
  type: 'counter',
  machine,
  version: 1,
  kinds: { counter: 'any' },
  rows: ({ n }) => [
    {
      ...{ kind: 'counter', id: 'c', account: 'a', createdAt: 0, name: '', indexes: { role: 'one' } },
      body: JSON.stringify({ n, text: 'x'.repeat(80) }),
    },
  ],
  describe: (_, { n }) => ({ account: 'a', stream: '', body: { n } }),
};

const types = new ActorTypes([{ type: counter as never, tools: undefined }]);

async function alone(folder: string): Promise<Subject> {
  const store = sqliteStore({ file: join(folder, `${randomUUID()}.db`) });
  const leases = await store.acquire(partitions);
  const ignored = { onEvent: () => {}, onOrders: () => {}, onFenced: () => {} };
  const work = { prepare: () => [], committed: () => {} };
  const host = new ActorHost({ store, clock, log, leases, types, work, hotActors: 10_000, ...ignored });
  await host.start();
  return { actors: host, stop: () => host.stop().then(() => store.close()) };
}

async function clustered({ url, brokers }: NonNullable<StepPlan['engines']>): Promise<Subject> {
  const namespace = `s-${randomUUID()}`;
  const store = redisStore({ url, namespace, log });
  const volatile = redisVolatile({ url, namespace, log });
  const bus = kafkaBus({ brokers, namespace, node: 'a', partitions, clock, log });
  const { log: logId } = await bus.open();
  await store.acquire(partitions, { partitions: [], log: logId });
  const hub = new EventHub(store, { log });
  const cluster = new Cluster({
    ...{ store, volatile, bus, logId, clock, log, partitions, hub, own: hub },
    types,
    work: { prepare: () => [], committed: () => {} },
    ...{ hotActors: 10_000, metrics: new Metrics(), self: { node: 'a', incarnation: '1' } },
    runOrders: () => {},
    takeOrder: () => {},
  });
  await cluster.start();
  await cluster.own();
  while (cluster.owner.owned.length < partitions) await Bun.sleep(50);
  return {
    actors: cluster.actors,
    async stop() {
      await cluster.stop();
      await bus.close();
      await Promise.all([store.close(), volatile.close()]);
    },
  };
}

/** Ids of so many actors in the first so many partitions. */
async function spawned(actors: Actors, load: StepPlan['loads'][number]): Promise<string[]> {
  const { callers, partitions: used } = load;
  const name = `${callers}-${used}`;
  const ids: string[] = [];
  for (let n = 0; ids.length < callers; n += 1) {
    const id = `${name}-${n}`;
    if (partitionOf(id, partitions) < used) ids.push(id);
  }
  for (let at = 0; at < ids.length; at += 200) {
    await Promise.all(ids.slice(at, at + 200).map((id) => actors.spawn(counter, id, undefined)));
  }
  return ids;
}

/** Code that has run little is slow: a cold node takes twice the time of a warm one. */
async function warm(actors: Actors): Promise<void> {
  const ids = await spawned(actors, { callers: 500, partitions });
  const call = (index: number) => actors.ask(counter, ids[index]!, { type: 'count' });
  for (let steps = 0, seconds = 0; steps < warmSteps && seconds < mostWarm; seconds += 1)
    steps += await atDepth(ids.length, { seconds: 1, call });
}

/** How long asks take at a fixed rate, whatever the answers do, ms. */
async function latencies(actors: Actors, { rate, seconds }: StepPlan): Promise<number[]> {
  const ids = await spawned(actors, { callers: 1000, partitions });
  const taken: number[] = [];
  const asks: Promise<void>[] = [];
  const from = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    const due = from + (n * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const id = ids[(n * 7919) % ids.length]!;
    // From when it was due: a late start is waiting too.
    const ask = actors.ask(counter, id, { type: 'count' });
    asks.push(ask.then(() => void taken.push(performance.now() - due)));
  }
  await Promise.all(asks);
  return taken;
}

const plan = JSON.parse(process.argv[2] ?? '') as StepPlan;
const { actors, stop } = await (plan.engines ? clustered(plan.engines) : alone(plan.folder));
await warm(actors);
for (const load of plan.loads) {
  const ids = await spawned(actors, load);
  const call = (index: number) => actors.ask(counter, ids[index]!, { type: 'count' });
  await atDepth(load.callers, { seconds: plan.warmUp, call });
  say({ is: 'begin' });
  const begun = performance.now();
  const rate = await atDepth(load.callers, { seconds: plan.seconds, call });
  const seconds = (performance.now() - begun) / 1000;
  say({ is: 'end', steps: rate * seconds, seconds });
}
say({ is: 'asks', taken: await latencies(actors, plan) });
await stop();
process.exit(0);
