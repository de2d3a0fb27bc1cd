/**
 * Durable steps of actors, as one process alone and as a node on real Kafka and Redis that it starts itself: steps a second
 * of one partition, and how long an ask takes at 200/s; held against a bare synced commit of one row and a bare call of
 * Lua that writes as much, measured by turns in the same run.
 * Goals: on several nodes at least half of the bare calls at the same depth; 99 of 100 asks within 40 ms at 200/s.
 * Exit code 1 when a goal is missed. Run: npm run bench -- steps [rounds]
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assign, setup } from 'xstate';
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
import { kafka } from '../test/kit/engines/kafka.ts';
import { redis } from '../test/kit/engines/redis.ts';
import { atDepth, bareCommits, bareLua } from './harness/bare-calls.ts';
import { machine, median, percentile, printTable, spread } from './harness/figures.ts';

const rounds = Number(process.argv[2] ?? 3);
const seconds = 3;
const rate = 200;
const partitions = 16;
const goals = { ratio: 0.5, p99: 40 };
/** Commits of the bare calls at one time; asks wait for the bus too, so there are more of those. */
const depth = 64;
const asksAtOnce = depth * 8;
const clock = systemClock();
const log = jsonLog({ level: 'error', now: clock.now, write: (line) => console.error(line) });

const counterMachine = setup({
  types: { context: {} as { n: number; text: string }, events: {} as { type: 'count'; at: number } },
}).createMachine({
  id: 'counter',
  context: { n: 0, text: 'x'.repeat(900) },
  on: { count: { actions: assign(({ context }) => ({ n: context.n + 1 })) } },
});
const counter: ActorType<typeof counterMachine> = {
  type: 'counter',
  machine: counterMachine,
  version: 1,
  rows: ({ n }) => [
    { kind: 'counter', id: 'c', account: 'a', createdAt: 0, name: '', indexes: {}, body: `${n}` },
  ],
  describe: () => ({ account: 'a', stream: '', body: {} }),
};
const types = new ActorTypes([{ type: counter as never, tools: undefined }]);
const work = { prepare: () => [], committed: () => {} };

/** Actors of one partition. */
const neighbours = Array.from({ length: 100_000 }, (_, n) => `n${n}`)
  .filter((id) => partitionOf(id, partitions) === 0)
  .slice(0, asksAtOnce);
/** Actors of all. */
const many = Array.from({ length: 1000 }, (_, n) => `m${n}`);

interface Subject {
  readonly actors: Actors;
  stop(): Promise<void>;
}

async function embedded(folder: string): Promise<Subject> {
  const store = sqliteStore({ file: join(folder, `${randomUUID()}.db`) });
  const leases = await store.acquire(partitions);
  const ignored = { onEvent: () => {}, onOrders: () => {}, onFenced: () => {} };
  const host = new ActorHost({ store, clock, log, leases, types, hotActors: 10_000, ...ignored });
  return { actors: host, stop: () => host.stop().then(() => store.close()) };
}

async function clustered({ url, brokers }: { url: string; brokers: string[] }): Promise<Subject> {
  const namespace = `s-${randomUUID()}`;
  const store = redisStore({ url, namespace, log });
  const volatile = redisVolatile({ url, namespace, log });
  const bus = kafkaBus({ brokers, namespace, node: 'a', partitions, clock, log });
  const { log: logId } = await bus.open();
  await store.acquire(partitions, { partitions: [], log: logId });
  const hub = new EventHub(store, { log });
  const cluster = new Cluster({
    ...{ store, volatile, bus, logId, clock, log, types, work, partitions, hub, own: hub },
    ...{ hotActors: 10_000, metrics: new Metrics(), self: { node: 'a', incarnation: '1' } },
    runOrders: () => {},
    takeOrder: () => {},
  });
  await cluster.start();
  await cluster.own();
  while (cluster.owned.length < partitions) await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    actors: cluster.actors,
    async stop() {
      await cluster.stop();
      await bus.close();
      await Promise.all([store.close(), volatile.close()]);
    },
  };
}

/** Steps a second of one partition, when there is always another command. */
async function stepRate({ actors }: Subject, atOnce: number): Promise<number> {
  const ids = neighbours.slice(0, atOnce);
  await Promise.all(ids.map((id) => actors.spawn(counter, id, undefined)));
  return atDepth(atOnce, { seconds, call: (index) => actors.ask(counter, ids[index]!, { type: 'count' }) });
}

/** How long asks take at a fixed rate, whatever the answers do, in ms. */
async function latencies({ actors }: Subject): Promise<number[]> {
  for (let at = 0; at < many.length; at += 100)
    await Promise.all(many.slice(at, at + 100).map((id) => actors.spawn(counter, id, undefined)));
  const taken: number[] = [];
  const asks: Promise<void>[] = [];
  const from = performance.now();
  for (let n = 0; n < rate * seconds; n++) {
    const due = from + (n * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    // From when it was due: a late start is waiting too.
    const id = many[(n * 7919) % many.length]!;
    asks.push(
      actors.ask(counter, id, { type: 'count' }).then(() => void taken.push(performance.now() - due)),
    );
  }
  await Promise.all(asks);
  return taken;
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
await using redisEngine = await redis();
await using kafkaEngine = await kafka();
const { url } = redisEngine;
const { brokers } = kafkaEngine;

const figures = { commits: [], lua: [], alone: [], nodes: [] } as Record<string, number[]>;
const asks = { alone: [] as number[], nodes: [] as number[] };
console.log(machine());
for (let round = 0; round < rounds; round += 1) {
  figures.commits!.push(bareCommits(join(folder, `bare-${round}.db`), { seconds }));
  const alone = await embedded(folder);
  figures.alone!.push(await stepRate(alone, depth));
  asks.alone.push(...(await latencies(alone)));
  await alone.stop();
  figures.lua!.push(await bareLua(url, { seconds, depth, partitions: 1 }));
  const nodes = await clustered({ url, brokers });
  figures.nodes!.push(await stepRate(nodes, asksAtOnce));
  asks.nodes.push(...(await latencies(nodes)));
  await nodes.stop();
}
rmSync(folder, { recursive: true });

const ratio = (of: string, to: string) =>
  median(figures[of]!.map((value, round) => value / (figures[to]![round] ?? Number.NaN)));
const row = (name: string, of: string, to?: string) => [
  ...[name, spread(figures[of]!, 0), to ? ratio(of, to).toFixed(2) : ''],
];
printTable(
  ['a second, one partition', 'rate', 'ratio'],
  [
    row('bare synced commits of one row', 'commits'),
    row(`steps alone, ${depth} asks at once`, 'alone', 'commits'),
    row(`bare Lua, ${depth} at once`, 'lua'),
    row(`steps over the bus, ${asksAtOnce} asks at once`, 'nodes', 'lua'),
  ],
);
const times = (values: number[]) => [50, 99].map((percent) => percentile(values, percent).toFixed(1));
printTable(
  [`an ask at ${rate}/s, ms`, 'p50', 'p99'],
  [
    ['alone', ...times(asks.alone)],
    ['over the bus', ...times(asks.nodes)],
  ],
);
const missed = [
  ...(ratio('nodes', 'lua') >= goals.ratio ? [] : [`less than ${goals.ratio} of the bare calls`]),
  ...(percentile(asks.nodes, 99) <= goals.p99 ? [] : [`p99 of an ask above ${goals.p99} ms`]),
];
for (const goal of missed) console.log(`missed: ${goal}`);
process.exit(missed.length > 0 ? 1 : 0);
