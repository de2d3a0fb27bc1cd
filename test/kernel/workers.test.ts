import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import type { Attempt } from '../../core/plugin/effect.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { Jobs, JobWrite } from '../../core/ports/jobs.ts';
import { jobKind } from '../../runtime/actors/jobs/kind.ts';
import { JobWorkers } from '../../runtime/actors/jobs/workers.ts';
import { type SqliteStore, sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { begin, kind } from '../conformance/jobs/fixtures.ts';
import { virtualTime } from '../conformance/jobs/time.ts';
import { start } from '../conformance/store/fixtures.ts';
import { type VirtualClock, virtualClock } from '../kit/virtual-clock.ts';

interface Worked {
  readonly id: string;
  readonly node: string;
  readonly from: number;
  to: number;
}

interface NodeOptions {
  /** ms that a job takes. */
  readonly work: number;
  /** ms from the signal to the end. */
  readonly winding?: number;
  readonly concurrency?: number;
}

const steps = (store: SqliteStore) => begin({ store, time: virtualTime(start) });

function job(id: string, parts: Partial<JobWrite> = {}): JobWrite {
  return { id, kind, child: 'delivery', input: `{"id":"${id}"}`, due: start, ...parts };
}

/** Several nodes on one queue, each of which can be cut off from it. */
describe('workers of several nodes', () => {
  let store: SqliteStore;
  let clock: VirtualClock;
  let work: Worked[];
  let workers: JobWorkers[];
  let cutOff: Set<string>;
  let hanging: Set<string>;
  /** Calls that are not answered for now, although what they ask is done. */
  let late: Set<string>;
  /** Calls that fail. */
  let broken: Set<string>;
  /** Whoever wants to know that others may have added jobs. */
  let wakes: Set<() => void>;

  beforeEach(() => {
    store = sqliteStore({ file: ':memory:' });
    clock = virtualClock({ start, idle: () => store.idle() });
    work = [];
    workers = [];
    cutOff = new Set();
    hanging = new Set();
    late = new Set();
    broken = new Set();
    wakes = new Set();
  });
  afterEach(async () => {
    cutOff.clear();
    const stopped = Promise.all(workers.map((one) => one.stop()));
    await clock.advance(10_000);
    await stopped;
    await store.close();
  });

  const subscribe = (wake: () => void) => {
    wakes.add(wake);
    return () => wakes.delete(wake);
  };
  const queueOf = (node: string): Jobs =>
    new Proxy(store.jobs, {
      get: (jobs, name) =>
        name === 'subscribe'
          ? subscribe
          : async (argument: never, options: never) => {
              if (hanging.has(node)) await new Promise(() => {});
              if (cutOff.has(node)) throw new Error('the queue cannot be reached');
              if (broken.has(String(name))) throw new Error(`${String(name)} fails`);
              const answer = await (jobs[name as keyof Jobs] as (...args: never[]) => unknown)(
                argument,
                options,
              );
              while (late.has(String(name))) await new Promise((resolve) => setImmediate(resolve));
              return answer;
            },
    });

  const run = (node: string, milliseconds: number, winding: number) => (attempt: Attempt) =>
    new Promise<string>((resolve, reject) => {
      const one: Worked = { id: attempt.id, node, from: clock.now(), to: Infinity };
      work.push(one);
      const end = clock.at(clock.now() + milliseconds, () => {
        one.to = clock.now();
        resolve('done');
      });
      attempt.signal.addEventListener('abort', () => {
        end();
        const stop = () => {
          one.to = clock.now();
          reject(attempt.signal.reason);
        };
        if (winding === 0) stop();
        else clock.at(clock.now() + winding, stop);
      });
    });

  const node = async (name: string, options: NodeOptions) => {
    const jobs = queueOf(name);
    const effect = {
      ...{ concurrency: options.concurrency ?? 2, timeout: 3_600_000, lease: 6000, attempts: 50 },
      run: run(name, options.work, options.winding ?? 0),
    };
    const worker = new JobWorkers({
      ...{ jobs, clock, owner: `${name}/1`, knows: () => true },
      log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
      kinds: [jobKind(kind, { effect, config: {}, kit: () => ({}) as Kit }).kind],
      conclude: async ({ id }, { owner }) => jobs.finish(owner, id),
    });
    workers.push(worker);
    await worker.start();
    return worker;
  };
  const overlapping = () =>
    work.filter((one) =>
      work.some((two) => one !== two && one.id === two.id && one.from < two.to && two.from < one.to),
    );

  it('share a queue: each job is done once, by one of them', async () => {
    const { commit } = await steps(store);
    await commit({ jobs: Array.from({ length: 20 }, (_, index) => job(`j${index}`)) });
    await node('one', { work: 10 });
    await node('two', { work: 10 });
    await clock.advance(1000);
    expect(work.map(({ id }) => id).sort()).toEqual(
      Array.from({ length: 20 }, (_, index) => `j${index}`).sort(),
    );
    expect(new Set(work.map((one) => one.node))).toEqual(new Set(['one', 'two']));
    expect(await store.jobs.totals()).toEqual([]);
  });

  it.each(['refused', 'left without an answer'])(
    'one that is cut off, its calls %s, stops its work before another begins with it',
    async (how) => {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1'), job('j2')] });
      await node('one', { work: 60_000 });
      await clock.advance(10_000);
      await node('two', { work: 20_000 });
      await clock.advance(1000);
      expect(work.map((one) => one.node)).toEqual(['one', 'one']);
      (how === 'refused' ? cutOff : hanging).add('one');
      await clock.advance(30_000);
      expect(work.map((one) => one.node)).toEqual(['one', 'one', 'two', 'two']);
      expect(overlapping()).toEqual([]);
      expect(work[0]?.to).toBeLessThanOrEqual(start + 17_000);
      expect(await store.jobs.totals()).toEqual([]);
    },
  );

  it('do each job whatever is cut off and when, and none of them two at once', async () => {
    const { commit } = await steps(store);
    const ids = Array.from({ length: 60 }, (_, index) => `j${index}`);
    for (const id of ids)
      await commit({ jobs: [job(id, { due: start + 700 * ids.indexOf(id) })] }, `a/${id}`);
    const names = ['one', 'two', 'three'];
    for (const name of names) await node(name, { work: 3500 });
    // Each in turn is away for longer than a lease, and back for a while.
    for (let round = 0; round < 12; round += 1) {
      cutOff.add(names[round % 3] as string);
      await clock.advance(9300);
      cutOff.clear();
      await clock.advance(1700);
    }
    await clock.advance(120_000);
    expect(await store.jobs.totals()).toEqual([]);
    expect(new Set(work.map(({ id }) => id))).toEqual(new Set(ids));
    expect(work.length).toBeGreaterThan(ids.length);
    expect(overlapping()).toEqual([]);
  });

  it('do not begin a job anew while their former attempt has not ended', async () => {
    const { commit } = await steps(store);
    await commit({ jobs: [job('j1'), job('j2', { due: start + 7000 })] });
    await node('one', { work: 20_000, winding: 2500 });
    cutOff.add('one');
    await clock.advance(6500);
    cutOff.clear();
    await clock.advance(60_000);
    expect(overlapping()).toEqual([]);
    expect(work.map(({ id, from }) => [id, from - start])).toEqual([
      ['j1', 0],
      ['j2', 7000],
      ['j1', 8500],
    ]);
    expect(await store.jobs.totals()).toEqual([]);
  });

  it('come back to a job of their own whose lease was moved on after they had given it up', async () => {
    const { commit } = await steps(store);
    await commit({ jobs: [job('j1')] });
    await node('one', { work: 10_000 });
    late.add('beat');
    // The first beat, at 2 s, is written; its answer does not come before the lease has ended.
    await clock.advance(7000);
    late.clear();
    await clock.advance(60_000);
    expect(work.map(({ id, from }) => [id, from - start])).toEqual([
      ['j1', 0],
      // The beat has moved its lease on to here.
      ['j1', 8000],
    ]);
    expect(overlapping()).toEqual([]);
    expect(await store.jobs.totals()).toEqual([]);
  });

  it('come back to what they claimed and could not hand back', async () => {
    const { commit } = await steps(store);
    await commit({ jobs: [job('j1'), job('j2', { due: start + 7000 })] });
    await node('one', { work: 20_000, winding: 2500 });
    cutOff.add('one');
    await clock.advance(6500);
    cutOff.clear();
    broken.add('release');
    await clock.advance(2000);
    broken.clear();
    await clock.advance(60_000);
    expect(overlapping()).toEqual([]);
    expect(new Set(work.map(({ id }) => id))).toEqual(new Set(['j1', 'j2']));
    expect(await store.jobs.totals()).toEqual([]);
  });

  it('see to a queue that was full before they came, in its order', async () => {
    const { commit } = await steps(store);
    const ids = Array.from({ length: 250 }, (_, index) => `j${index}`);
    await commit({ jobs: ids.map((id) => job(id)) });
    await node('one', { work: 5, concurrency: 1 });
    await clock.advance(5000);
    expect(work.map(({ id }) => id)).toEqual(ids);
  });

  it('begin with what others added as soon as the queue tells of it', async () => {
    const { commit } = await steps(store);
    await node('one', { work: 5 });
    await clock.advance(1000);
    await commit({ jobs: [job('j1')] });
    await clock.advance(1000);
    expect(work).toEqual([]);
    for (const wake of wakes) wake();
    await clock.advance(0);
    expect(work).toMatchObject([{ id: 'j1', from: start + 2000 }]);
    await commit({ jobs: [job('j2', { due: start + 5000 })] });
    for (const wake of wakes) wake();
    await clock.advance(10_000);
    expect(work[1]).toMatchObject({ id: 'j2', from: start + 5000 });
  });

  it('ask the queue nothing that it tells of after they have stopped, or many times while they look', async () => {
    const { commit } = await steps(store);
    let claims = 0;
    const { claim } = store.jobs;
    Object.assign(store.jobs, {
      claim: (...args: Parameters<Jobs['claim']>) => {
        claims += 1;
        return claim(...args);
      },
    });
    const worker = await node('one', { work: 5 });
    await clock.advance(1000);
    const before = claims;
    for (let told = 0; told < 100; told += 1) for (const wake of wakes) wake();
    await clock.advance(0);
    expect(claims - before).toBeGreaterThan(0);
    expect(claims - before).toBeLessThan(4);
    await worker.stop();
    expect(wakes.size).toBe(0);
    const atStop = claims;
    await commit({ jobs: [job('j1')] });
    await clock.advance(10_000);
    expect(claims).toBe(atStop);
  });
});
