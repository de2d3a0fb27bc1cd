import { describe, expect, it } from 'vitest';
import { pause } from '../../core/base/timing.ts';
import { definePlugin, type Kit, type Plugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import type { Jobs } from '../../core/ports/jobs.ts';
import accounts from '../../plugins/accounts/index.ts';
import { type Tasks, type TaskWork, taskKinds, tasks as token } from '../../plugins/tasks/contract.ts';
import tasks from '../../plugins/tasks/index.ts';
import { lane, laneId } from '../../plugins/tasks/lane.ts';
import { world } from '../kit/world.ts';

const points = ['before commit', 'after commit', 'before effects'] as const;
type Point = (typeof points)[number];
const ids = ['t1', 't2', 't3', 't4'];

/**
 * Four tasks of one account that has two places: one meets trouble first, one is cancelled when it runs, one fails and is tried
 * again. The process dies once, at `point` of the step with this number.
 */
async function run(stopAt?: { step: number; point: Point }) {
  let steps = 0;
  let process = 0;
  let isDead = false;
  let hasDied = false;
  let kit: Kit | undefined;
  let api: Tasks | undefined;
  const atWork = new Map<string, number>();
  const most = { atWork: 0 };
  let hasMetTrouble = false;
  let isRetried = false;

  const work = async ({ id, signal }: TaskWork) => {
    const own = process;
    atWork.set(id, own);
    most.atWork = Math.max(most.atWork, [...atWork.values()].filter((one) => one === process).length);
    try {
      const length = id === 't2' ? 3_600_000 : 2000;
      await pause((kit as Kit).clock.now() + length, { clock: (kit as Kit).clock, signal });
      signal.throwIfAborted();
    } finally {
      if (atWork.get(id) === own) atWork.delete(id);
    }
    if (id === 't1' && !hasMetTrouble) {
      hasMetTrouble = true;
      throw new Error('cut off');
    }
    if (id === 't3' && !isRetried) return { outcome: 'failed', message: 'No.' } as const;
    return { outcome: 'done', output: { of: id } } as const;
  };
  const maker = definePlugin({
    id: 'task-maker',
    summary: 'makes four tasks',
    needs: [token],
    offers: [
      offer(taskKinds, () => ({
        type: 'import' as const,
        renew: async () => ({ deadline: Number.MAX_SAFE_INTEGER }),
        run: work,
      })),
    ],
    start(own) {
      kit = own as never;
      api = own.use(token);
      return undefined;
    },
  });
  const mortal = (jobs: Jobs): Jobs => {
    const born = process;
    return new Proxy(jobs, {
      get(object, name) {
        const value = Reflect.get(object, name, object) as unknown;
        if (typeof value !== 'function' || name === 'subscribe') return value;
        return async (...args: unknown[]) => {
          if (isDead || born !== process) throw new Error('dead');
          return value.apply(object, args) as unknown;
        };
      },
    });
  };
  await using w = await world({
    plugins: [accounts, tasks, maker] as unknown as Plugin[],
    config: { tasks: { runningPerAccount: 2 } },
    durable: true,
    jobs: mortal,
    probe(point) {
      if (isDead) throw new Error('dead');
      if (api === undefined) return;
      if (point === 'before commit') steps += 1;
      if (hasDied || stopAt?.step !== steps || stopAt.point !== point) return;
      hasDied = true;
      isDead = true;
      throw new Error('stopped here');
    },
  });
  const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
  const revive = async () => {
    while (isDead) {
      process += 1;
      isDead = false;
      await w.crash({ downFor: '1ms' });
    }
  };
  /** Asks until it is answered; after a death the same again, as whoever heard nothing does. */
  const surely = async (ask: () => Promise<unknown>) => {
    await ask().catch((error: unknown) => {
      if (!isDead) throw error;
    });
    await w.settle();
    if (!isDead) return;
    await revive();
    await ask();
    await w.settle();
  };
  const pass = async (seconds: number) => {
    const step = seconds % 5 === 0 && (hasDied || !stopAt) ? 5 : 1;
    for (let n = 0; n < seconds; n += step) {
      await w.advance(`${step}s`);
      await revive();
    }
  };
  const retry = async () => {
    isRetried = true;
    if ((await (api as Tasks).find('t3'))?.phase !== 'failed') return;
    await w.request('POST', '/api/task/t3/retry');
  };

  for (const id of ids) {
    await surely(() =>
      (api as Tasks).spawn({
        ...{ id, account, type: 'import', name: id, deadline: Number.MAX_SAFE_INTEGER, lateMessage: 'Late.' },
      }),
    );
    await pass(1);
  }
  await surely(() => (api as Tasks).cancel('t2'));
  await pass(20);
  await surely(retry);
  await pass(60);

  const own = kit as unknown as Kit;
  const left = await own.actors.read(lane, laneId({ account, type: 'import' }));
  const events = (await w.events()).filter(({ payload }) => payload?.task);
  const told = (name: string) =>
    events
      .filter(({ event, payload }) => `${event} ${payload.task.status.phase}` === name)
      .map(({ payload }) => payload.task.id)
      .sort();
  return {
    ...{ steps, hasDied, most: most.atWork },
    phases: await Promise.all(ids.map(async (id) => (await (api as Tasks).find(id))?.phase)),
    lane: left && { running: left.context.running, waiting: left.context.waiting, state: left.value },
    jobs: await w.store.jobs.totals(),
    spawned: told('task.spawned pending'),
    completed: told('task.completed completed'),
    cancelled: told('task.updated cancelled'),
    failed: told('task.failed failed'),
  };
}

describe('a process that dies in a step of a task that the server works at', async () => {
  const whole = await run();
  const { steps, hasDied: _, ...result } = whole;

  it('has a script with something to lose', () => {
    expect(steps).toBeGreaterThan(30);
    expect(result).toEqual({
      ...{ most: 2, phases: ['completed', 'cancelled', 'completed', 'completed'], jobs: [] },
      lane: { running: [], waiting: [], state: 'empty' },
      ...{ spawned: ids, completed: ['t1', 't3', 't4'], cancelled: ['t2'], failed: ['t3'] },
    });
  });

  for (const point of points) {
    it.each(Array.from({ length: steps }, (_, index) => index + 1))(
      `loses no task, no place and no event when it dies ${point} of step %i`,
      async (step) => {
        const { steps: _, hasDied, ...after } = await run({ step, point });
        expect(hasDied).toBe(true);
        expect(after).toEqual(result);
      },
    );
  }
}, 120_000);
