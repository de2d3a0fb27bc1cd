import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { jsonLog } from '../../core/base/log.ts';
import type { LogRecord } from '../../core/ports/bus.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost } from '../../runtime/actors/host.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { mulberry } from '../conformance/store/operations.ts';
import { trackedStore } from '../kit/tracked-store.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { type ClusterNode, clusterNodes, partitions, queuedOnly } from './nodes.ts';
import { tally } from './tally.ts';

const began = Date.UTC(2026, 0, 1);
const seeds = Array.from({ length: 12 }, (_, index) => index + 1);
const ids = Array.from({ length: 6 }, (_, index) => `t${index}`);
const commands = ['add', 'add', 'add', 'wind', 'unwind', 'chime', 'work', 'end'] as const;

/** What a run leaves of each actor: its state, and its events in order. */
interface Left {
  readonly states: unknown[];
  readonly events: Record<string, { id: string; body: string }[]>;
  readonly jobs: number;
}

/**
 * Random commands while nodes die, are cut off and come back, and the store loses commits or their answers, is started anew, or
 * rolled back to what it had some time ago. The log that comes of it, given to one node without faults, must leave the same.
 */
async function severalNodes(seed: number): Promise<{ left: Left; records: LogRecord[]; faults: number }> {
  const random = mulberry(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  const chance = (share: number) => random() < share;
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  await using folder = await temporaryFolder();
  await using nodes = await clusterNodes({ file: join(folder.path, 'store.db') });
  await nodes.keep();
  const asker = await nodes.start('api', { owns: false });
  const owners: ClusterNode[] = [];
  let made = 0;
  let isCalm = false;
  let faults = 0;
  const begin = async () => owners.push(await nodes.start(`n${++made}`, { hotActors: 1 + below(3) * 8 }));
  await begin();
  await begin();
  nodes.faults.commit = async (_, run) => {
    if (isCalm || !chance(0.2)) return run();
    faults += 1;
    // Lost, or done and not answered.
    if (chance(0.5)) await run();
    throw new Fault('store.unknown', { status: 503, message: 'no answer' });
  };

  let asked = 0;
  const surely = async (ask: () => Promise<unknown>): Promise<void> => {
    for (let tries = 0; tries < 100; tries += 1) {
      const outcome = await ask().then(
        () => 200,
        (error: unknown) => (error as Fault).status,
      );
      if (outcome !== 503) return;
    }
    throw new Error('no answer');
  };
  const anyAsk = (): Promise<void> => {
    const id = pick(ids);
    const cause = `c:tally/${id}:${++asked}`;
    if (chance(0.2)) return surely(() => asker.actors.spawn(tally, id, undefined, { cause }));
    const type = pick(commands);
    const command = type === 'add' ? ({ type, entry: String(asked) } as const) : { type };
    return surely(() => asker.actors.ask(tally, id, command, { cause }));
  };
  const anyFault = async () => {
    faults += 1;
    const some = below(7);
    if (some === 0 && owners.length > 1) owners.splice(below(owners.length), 1)[0]?.kill();
    if (some === 1 && owners.length < 4) await begin();
    if (some === 2) nodes.broker.rebalance();
    if (some === 3) {
      const { name } = pick(owners);
      nodes.broker.cut(name, { sleeps: chance(0.5), arrives: chance(0.5) });
      await nodes.advance(`${1 + below(9)}s`);
      nodes.broker.mend(name);
    }
    if (some === 4) nodes.storeRestarted();
    if (some === 5) await nodes.keep();
    if (some === 6) await nodes.rollBack();
  };

  const answers: Promise<void>[] = ids.map((id) =>
    surely(() => asker.actors.spawn(tally, id, undefined, { cause: `c:tally/${id}:0` })),
  );
  for (let round = 0; round < 60; round += 1) {
    for (let count = below(5); count > 0; count -= 1) answers.push(anyAsk());
    if (chance(0.25)) await anyFault();
    await nodes.advance(`${below(1500)}ms`);
  }
  isCalm = true;
  await nodes.advance('60s');
  await Promise.all(answers);
  await nodes.advance('60s');
  const records = Array.from({ length: partitions }, (_, partition) =>
    nodes.broker.records(partition),
  ).flat();
  return { left: await leftIn(nodes.store, nodes.jobs), records, faults };
}

async function oneNode(records: readonly LogRecord[]): Promise<Left> {
  const { store, idle } = trackedStore(sqliteStore({ file: ':memory:' }));
  const clock = virtualClock({ start: began, idle });
  const host = new ActorHost({
    ...{ store, clock, leases: await store.acquire(partitions), hotActors: 100 },
    log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
    types: new ActorTypes([{ type: tally as never, tools: undefined }]),
    work: queuedOnly,
    onEvent: () => {},
    onOrders: () => {},
    onFenced: () => {},
  });
  for (const { key, value, at } of records.toSorted((one, other) => one.at - other.at)) {
    const { type, command, cause } = JSON.parse(value);
    if (type === 'mark' || type === 'tick') continue;
    await clock.advance(at - clock.now());
    const name = key.slice('tally/'.length);
    const done =
      type === 'spawn'
        ? host.spawn(tally, name, undefined, { cause })
        : host.ask(tally, name, command, { cause });
    await done.catch(() => {});
  }
  await clock.advance(60_000);
  const left = await leftIn(store, store.jobs);
  await host.stop();
  await store.close();
  return left;
}

async function leftIn(
  store: Pick<ReturnType<typeof sqliteStore>, 'load' | 'events'>,
  jobs: ReturnType<typeof sqliteStore>['jobs'],
): Promise<Left> {
  const events: Left['events'] = {};
  for (let last = 0, page = await store.events.after(0, { limit: 1000 }); page.length > 0; ) {
    for (const { id, body } of page) {
      const actor = /tally\/t\d+/.exec(id)?.[0] ?? '';
      events[actor] = [...(events[actor] ?? []), { id, body }];
    }
    last = page.at(-1)?.position ?? last;
    page = await store.events.after(last, { limit: 1000 });
  }
  return {
    states: await Promise.all(ids.map((id) => store.load(`tally/${id}`))),
    events,
    jobs: (await jobs.totals())[0]?.count ?? 0,
  };
}

async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

describe('whatever fails, several nodes do what one does', () => {
  it.each(seeds)(
    'seed %i',
    async (seed) => {
      const { left, records, faults } = await severalNodes(seed);
      expect(faults).toBeGreaterThan(5);
      expect(records.length).toBeGreaterThan(80);
      expect(left).toEqual(await oneNode(records));
    },
    60_000,
  );
});
