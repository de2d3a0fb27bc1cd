import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import type { Attempt } from '../../core/plugin/effect.ts';
import type { AnyEffect, Kit } from '../../core/plugin/plugin.ts';
import { ActorTypes } from '../../runtime/actors/actor-types.ts';
import { ActorHost, type HostOptions } from '../../runtime/actors/host.ts';
import { jobKind } from '../../runtime/actors/jobs/kind.ts';
import { freeJobs } from '../../runtime/actors/jobs/leases.ts';
import { JobWorkers } from '../../runtime/actors/jobs/workers.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { courierActor, courierPlugin, type Parcel } from '../kit/courier.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

type Point = Parameters<NonNullable<HostOptions['probe']>>[0] | 'at work' | 'work done';
const points: Point[] = ['before commit', 'after commit', 'before effects', 'at work', 'work done'];
const began = 1_000_000;
const kind = 'courier.deliver';

/** Commands that a caller repeats with the same cause: jobs that follow each other, and one that is cancelled. */
const script = [
  { id: 'a', command: { type: 'carry', parcel: { parcel: 'a1' } }, isAtWork: true },
  { id: 'a', command: { type: 'carry', parcel: { parcel: 'a2' } } },
  { id: 'b', command: { type: 'carry', parcel: { parcel: 'b1', notBefore: began + 60_000 } } },
  { id: 'b', command: { type: 'recall' } },
  { id: 'b', command: { type: 'carry', parcel: { parcel: 'b2' } } },
] as const;

interface Worked {
  readonly id: string;
  readonly parcel: string;
  readonly process: number;
  readonly from: number;
  to: number;
}

/** Runs the script to its end; the process dies once, at `point`, the `nth` time that it gets there. */
async function run(stopAt?: { nth: number; point: Point }) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
  const file = join(folder, 'store.db');
  const reached: Record<string, number> = {};
  let hasDied = false;
  let processes = 0;
  let tick = 0;
  const work: Worked[] = [];

  const start = async (now: number) => {
    const process = ++processes;
    const inner = sqliteStore({ file });
    let isDead = false;
    /** Nothing that a dead process does reaches the disk. */
    const mortal = <T extends object>(target: T): T =>
      new Proxy(target, {
        get(object, name) {
          const value = Reflect.get(object, name, object) as unknown;
          // It answers at once, and what it tells of is no write.
          if (typeof value !== 'function' || name === 'subscribe') return value;
          return async (...args: unknown[]) => {
            if (isDead) throw new Error('dead');
            return value.apply(object, args) as unknown;
          };
        },
      });
    const pass = (point: Point) => {
      if (isDead) throw new Error('dead');
      reached[point] = (reached[point] ?? 0) + 1;
      if (hasDied || stopAt?.point !== point || stopAt.nth !== reached[point]) return;
      hasDied = true;
      isDead = true;
      for (const one of work) if (one.process === process) one.to = Math.min(one.to, tick);
      throw new Error('died here');
    };
    const store = mortal(inner);
    const jobs = mortal(inner.jobs);
    const clock = virtualClock({ start: now, idle: () => inner.idle() });
    const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
    const deliver: AnyEffect['run'] = async ({ id, input }: Attempt<Parcel>) => {
      const one: Worked = { id, parcel: input.parcel, process, from: ++tick, to: Infinity };
      work.push(one);
      pass('at work');
      await new Promise<void>((resolve) => clock.at(clock.now() + 10, resolve));
      one.to = ++tick;
      pass('work done');
      return { status: 200 };
    };
    const effect = { ...courierPlugin.effects?.[kind], run: deliver } as AnyEffect;
    const kit = () => ({}) as Kit;
    const former = {
      id: 'local',
      lastSigns: async () => (other: string) => (other === String(process) ? undefined : began),
    };
    const types = new ActorTypes([{ type: courierActor as never, tools: undefined }]);
    const workers = new JobWorkers({
      ...{ jobs, clock, log, owner: `local/${process}` },
      kinds: [jobKind(kind, { effect, config: { concurrency: 2 }, kit }).kind],
      knows: (actor) => types.knows(actor),
      conclude: (job, result) => host.conclude(job, result),
    });
    const host: ActorHost = new ActorHost({
      ...{ store, clock, log, hotActors: 10, work: workers },
      leases: await store.acquire(4),
      types,
      onEvent: () => {},
      onOrders: () => {},
      onFenced: () => {},
      probe: pass,
    });
    await host.start();
    await freeJobs(former, { jobs, clock, log });
    await workers.start();
    return { inner, host, workers, clock, isDead: () => isDead };
  };

  let life = await start(began);
  const restart = async () => {
    const now = life.clock.now();
    await life.inner.close();
    life = await start(now);
  };
  const settle = async (ms: number) => {
    for (let round = 0; round < 12; round += 1) {
      await life.clock.advance(ms);
      if (life.isDead()) await restart();
    }
  };
  const persistently = async (ask: () => Promise<unknown>, isAtWork = false) => {
    await ask().catch(async (error: unknown) => {
      if ((error as { code?: string }).code === 'actor.exists') return;
      if (!life.isDead()) throw error;
      await restart();
      await ask().catch((again: unknown) => {
        if ((again as { code?: string }).code !== 'actor.exists') throw again;
      });
    });
    // In which order a command and a result come must not depend on the death.
    await settle(isAtWork ? 0 : 5);
  };
  for (const id of ['a', 'b']) await persistently(() => life.host.spawn(courierActor, id, {}));
  for (const [index, { id, command, ...more }] of script.entries()) {
    const ask = () => life.host.ask(courierActor, id, command, { cause: `request-${index}` });
    await persistently(ask, 'isAtWork' in more);
  }

  const { inner } = life;
  const result = {
    events: (await inner.events.after(0, { limit: 1000 })).map(({ id, body }) => [
      id,
      JSON.parse(body).emitted,
    ]),
    actors: await Promise.all(['a', 'b'].map((id) => inner.load(`courier/${id}`))),
    timers: (await inner.timers()).length,
    jobs: await inner.jobs.totals(),
  };
  await life.workers.stop();
  await life.host.stop();
  await inner.close();
  await rm(folder, { recursive: true });
  return { result, reached, work, hasDied };
}

/** The jobs, by what they carry: a job may be done again after a crash, but it is the same one. */
function idsOf(work: readonly Worked[]): Record<string, string[]> {
  const ids: Record<string, Set<string>> = {};
  for (const { parcel, id } of work) {
    ids[parcel] ??= new Set();
    ids[parcel].add(id);
  }
  return Object.fromEntries(Object.entries(ids).map(([parcel, all]) => [parcel, [...all]]));
}

function overlaps(work: readonly Worked[]): Worked[][] {
  return work.flatMap((one, index) =>
    work
      .slice(index + 1)
      .filter((two) => one.id === two.id && one.from < two.to && two.from < one.to)
      .map((two) => [one, two]),
  );
}

describe('a process that dies in a step with jobs', async () => {
  const whole = await run();

  it('has a script with something to lose', () => {
    expect(whole.result.events.map(([, emitted]) => emitted.parcel)).toEqual(['a1', 'a2', 'b2']);
    expect(whole.work.map(({ parcel }) => parcel)).toEqual(['a1', 'a2', 'b2']);
    expect(whole.result.jobs).toEqual([]);
    expect(whole.reached['before commit']).toBeGreaterThanOrEqual(10);
  });

  for (const point of points) {
    const times = whole.reached[point] ?? 0;
    it.each(Array.from({ length: times }, (_, index) => index + 1))(
      `loses nothing and does nothing twice at once when it dies ${point}, time %i`,
      async (nth) => {
        const { result, work, hasDied } = await run({ nth, point });
        expect(hasDied).toBe(true);
        expect(result).toEqual(whole.result);
        expect(idsOf(work)).toEqual(idsOf(whole.work));
        expect(overlaps(work)).toEqual([]);
      },
    );
  }
});
