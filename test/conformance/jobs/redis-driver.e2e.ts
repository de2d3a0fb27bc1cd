import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import type { Jobs } from '../../../core/ports/jobs.ts';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { lookInterval } from '../../../runtime/drivers/store/redis/jobs.ts';
import { until as waitUntil } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { step } from '../store/fixtures.ts';
import { idOf, kind, other, own } from './fixtures.ts';
import { type ChildOptions, type WorkerProcess, workerProcess } from './worker-process.ts';

const redis = await engineFor('redis');
/** In which a call has to be answered, ms: the driver's own bound of 5 s, and what this machine may add. */
const answered = 12_000;

/** What the port leaves to the engine, on the engine: outages, other processes, what is left behind. */
describe.skipIf(redis.isMissing)('jobs on Redis', () => {
  const opened: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
  const open = (url: string, namespace: string = randomUUID()) => {
    const store = redisStore({ url, namespace, log: silentLog });
    opened.push(() => store.close());
    let steps = 0;
    return {
      ...store.jobs,
      close: () => store.close(),
      /** With a step of an actor of their own. */
      async add(ids: readonly string[]) {
        const [lease] = await store.acquire(1);
        const jobs = ids.map((id) => ({ id, kind, child: 'delivery', input: '{"a":"é"}', due: Date.now() }));
        const actor = `a/${randomUUID()}`;
        return store.commit(step(lease!, { actor, cause: `${actor} ${++steps}`, at: Date.now(), jobs }));
      },
    };
  };
  const worker = (options: Omit<ChildOptions, 'kind'>): WorkerProcess => {
    const started = workerProcess({ kind, ...options });
    opened.push(() => started.kill());
    return started;
  };
  const raw = async (url: string) => {
    const client = createClient({ url });
    client.on('error', () => {});
    opened.push(async () => client.destroy());
    await client.connect();
    return client;
  };

  test('5,000 jobs before two processes: each is done exactly once, and nothing of them is left', async () => {
    const { url } = await redis.shared();
    const namespace = randomUUID();
    const jobs = open(url, namespace);
    const about = { url, namespace, lease: 60_000, work: 0, concurrency: 50 };
    const workers = [worker({ ...about, node: 'one' }), worker({ ...about, node: 'two' })];
    await Promise.all(workers.map(({ ready }) => ready));
    const ids = names(5000);
    for (let from = 0; from < ids.length; from += 1000) await jobs.add(ids.slice(from, from + 1000));
    await until('the last job', async () => (await jobs.totals()).length === 0);
    await until('the last line', () => workers.flatMap((one) => one.begun).length >= 5000);
    const begun = workers.flatMap((one) => one.begun);
    expect(workers.map((one) => one.begun.length > 100)).toEqual([true, true]);
    expect(begun.every(({ attempt }) => attempt === 1)).toBe(true);
    expect(begun.map(({ id }) => id).sort()).toEqual(ids.toSorted());

    const client = await raw(url);
    expect((await client.keys(`${namespace}:job*`)).sort()).toEqual([`${namespace}:job-kinds`]);
    expect(await client.keys(`${namespace}:ready*`)).toEqual([]);
    expect(await client.keys(`${namespace}:added*`)).toEqual([]);
  });

  test('a process that is killed: its jobs are another’s after the lease, and not before', async () => {
    const { url } = await redis.shared();
    const namespace = randomUUID();
    const jobs = open(url, namespace);
    const about = { url, namespace, lease: 3000, concurrency: 10 };
    const first = worker({ ...about, node: 'one', work: 600_000 });
    await first.ready;
    const ids = names(10);
    await jobs.add(ids);
    await until('all to be begun', () => first.begun.length === 10);
    const second = worker({ ...about, node: 'two', work: 0 });
    await second.ready;
    // For longer than a lease: it is kept.
    await Bun.sleep(4000);
    expect(second.begun).toEqual([]);
    await first.kill();
    await until('all to be done', async () => (await jobs.totals()).length === 0);
    await until('the last line', () => second.begun.length === 10);
    expect(second.begun.map(({ id, attempt }) => `${id} ${attempt}`).sort()).toEqual(
      ids.map((id) => `${id} 2`).sort(),
    );
  });

  test('a process that starts again begins at once with what its former self had', async () => {
    const { url } = await redis.shared();
    const namespace = randomUUID();
    const jobs = open(url, namespace);
    const about = { url, namespace, node: 'one', lease: 3_600_000, concurrency: 10 };
    const first = worker({ ...about, work: 600_000 });
    await first.ready;
    await jobs.add(names(10));
    await until('all to be begun', () => first.begun.length === 10);
    await first.kill();
    worker({ ...about, work: 0 });
    await until('all to be done', async () => (await jobs.totals()).length === 0);
  });

  test('a Redis that is frozen for longer than the leases: all is done, nothing more than twice', async () => {
    const engine = await redis.start();
    const namespace = randomUUID();
    const jobs = open(engine.url, namespace);
    const about = { url: engine.url, namespace, lease: 2000, work: 200, concurrency: 10 };
    const workers = [worker({ ...about, node: 'one' }), worker({ ...about, node: 'two' })];
    await Promise.all(workers.map(({ ready }) => ready));
    const ids = names(200);
    await jobs.add(ids);
    await until('some to be begun', () => begunBy(workers).length >= 40);
    await engine.freeze();
    await Bun.sleep(5000);
    engine.thaw();
    await until('the last job', async () => (await jobs.totals()).length === 0);
    await until('the last line', () => new Set(begunBy(workers)).size === ids.length);
    expect(mostOften(begunBy(workers))).toBeLessThanOrEqual(2);
  });

  test('a Redis that is killed and restarted: nothing that was added is lost', async () => {
    const engine = await redis.start();
    const namespace = randomUUID();
    const jobs = open(engine.url, namespace);
    const about = { url: engine.url, namespace, lease: 5000, work: 20, concurrency: 5 };
    const workers = [worker({ ...about, node: 'one' }), worker({ ...about, node: 'two' })];
    await Promise.all(workers.map(({ ready }) => ready));
    const ids = names(600);
    const added: string[] = [];
    // What is not known to be there is added again: the same ids, so the same jobs.
    const adding = (async () => {
      for (let from = 0; from < ids.length; from += 20) {
        const some = ids.slice(from, from + 20);
        await until('some to be added', () => succeeds(() => jobs.add(some)));
        added.push(...some);
      }
    })();
    await until('some to be begun', () => begunBy(workers).length >= 100);
    await engine.kill();
    await engine.restart();
    await adding;
    expect(added).toEqual(ids);
    await until('the last job', async () => (await jobs.totals()).length === 0);
    await until('the last line', () => new Set(begunBy(workers)).size === ids.length);
  });

  test('without Redis every call fails with 503 within the bound, and goes on by itself afterwards', async () => {
    const engine = await redis.start();
    const jobs = open(engine.url);
    await jobs.add(names(1));
    const outages = [
      { begin: () => engine.freeze(), end: async () => engine.thaw() },
      { begin: () => engine.kill(), end: () => engine.restart() },
    ];
    for (const { begin, end } of outages) {
      await begin();
      const began = Date.now();
      const outcomes = await Promise.allSettled(calls(jobs).map((call) => call()));
      expect(Date.now() - began).toBeLessThan(answered);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ reason: { status: 503, retryAfter: 1 } });
      await end();
      await until('an answer', () => succeeds(() => jobs.totals()));
      // Also where Redis has forgotten every script.
      for (const call of calls(jobs)) await call();
      await jobs.add(names(1));
    }
    await jobs.close();
    for (const call of calls(jobs)) await expect(call()).rejects.toMatchObject({ code: 'store.closed' });
  });

  test('who listens hears of what another node adds and puts back, and again after an outage', async () => {
    const engine = await redis.start();
    const namespace = randomUUID();
    const [jobs, listening] = [open(engine.url, namespace), open(engine.url, namespace)];
    let woken = 0;
    const end = listening.subscribe(() => {
      woken += 1;
    });
    // Once when it is in force.
    await until('the subscription', () => woken === 1);
    const wokenBy = async (what: string, call: () => Promise<unknown>) => {
      const [before, began] = [woken, Date.now()];
      await call();
      await until(`to be woken by ${what}`, () => woken > before);
      // And not by the clock.
      expect(Date.now() - began).toBeLessThan(lookInterval - 1000);
    };
    await wokenBy('a new job', () => jobs.add(names(1)));
    await jobs.claim(kind, claimed(own));
    await wokenBy('a job put back', () => jobs.release(own, { id: names(1)[0] as string, due: 0 }));
    await engine.kill();
    const before = woken;
    await engine.restart();
    await until('to be woken by the new connection', () => woken > before);
    const atEnd = woken;
    end();
    await jobs.add(names(2));
    // What nobody told of is looked for all the same, by those who still listen.
    let looked = 0;
    listening.subscribe(() => {
      looked += 1;
    });
    await until('two looks', () => looked >= 3);
    expect(woken).toBe(atEnd);
  });

  test('two nodes that claim at the same time get different jobs, each in order', async () => {
    const { url } = await redis.shared();
    const namespace = randomUUID();
    const nodes = [open(url, namespace), open(url, namespace)];
    const ids = names(1000);
    await nodes[0]?.add(ids);
    const taken = await Promise.all(
      nodes.map(async (node, index) => {
        const all: string[] = [];
        for (;;) {
          const some = await node.claim(kind, { ...claimed([own, other][index] as string), limit: 7 });
          if (some.length === 0) return all;
          all.push(...some.map(({ id }) => id));
        }
      }),
    );
    expect(taken.flat().sort()).toEqual(ids.toSorted());
    for (const all of taken) expect(all).toEqual(all.toSorted());
  });

  test('deployments with different namespaces know nothing of each other', async () => {
    const { url } = await redis.shared();
    const [one, another] = [open(url), open(url)];
    await one.add(names(1));
    expect(await another.totals()).toEqual([]);
    expect(await another.claim(kind, claimed(own))).toEqual([]);
    await one.claim(kind, claimed(own));
    expect(await one.owners('node-1')).toEqual([own]);
    expect(await another.owners('node-1')).toEqual([]);
    expect(await another.free([own], Date.now())).toBe(0);
    expect(await one.totals()).toMatchObject([{ count: 1 }]);
  });
});

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => idOf(`n${String(index).padStart(5, '0')}`));
}

function claimed(owner: string) {
  const now = Date.now();
  return { owner, limit: 100, now, until: now + 60_000 };
}

function calls(jobs: Jobs): (() => Promise<unknown>)[] {
  const [id] = names(1) as [string];
  return [
    () => jobs.claim(kind, claimed(own)),
    () => jobs.beat(own, [{ id, until: Date.now() + 60_000 }]),
    () => jobs.release(own, { id, due: 0, isUncounted: true }),
    () => jobs.finish(own, id),
    () => jobs.next([kind]),
    () => jobs.owners('node-1'),
    () => jobs.free([own], Date.now()),
    () => jobs.totals(),
  ];
}

function begunBy(workers: readonly WorkerProcess[]): string[] {
  return workers.flatMap(({ begun }) => begun.map(({ id }) => id));
}

function mostOften(ids: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return Math.max(...counts.values());
}

function succeeds(call: () => Promise<unknown>): Promise<boolean> {
  return call().then(
    () => true,
    () => false,
  );
}

function until(what: string, probe: () => Promise<unknown> | unknown): Promise<boolean> {
  return waitUntil(what, async () => Boolean(await probe()), { within: 120_000, every: 20 });
}
