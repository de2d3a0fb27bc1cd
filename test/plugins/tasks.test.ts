import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/fault.ts';
import type { Plugin } from '../../core/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import type { NewTask } from '../../plugins/tasks/contract.ts';
import tasks from '../../plugins/tasks/index.ts';
import { taskLimits } from '../../plugins/tasks/limits.ts';
import { taskMaker } from '../kit/task-maker.ts';
import { world } from '../kit/world.ts';

async function office(options: Partial<Parameters<typeof world>[0]> = {}) {
  const maker = taskMaker();
  const plugins = [accounts, tasks, maker.plugin] as unknown as Plugin[];
  const w = await world({ plugins, ...options });
  const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
  const spawn = async (id: string, more: Partial<NewTask> = {}) => {
    await maker.tasks.spawn({
      ...{ id, account, type: 'import', name: `Task ${id}`, deadline: w.now() + 3_600_000 },
      ...{ lateMessage: 'It could not begin in time.', ...more },
    });
    await w.settle();
  };
  const shown = async (id: string) => (await w.request('GET', `/api/task/${id}`)).body;
  return {
    ...{ w, maker, account, spawn, shown },
    phase: async (id: string) => (await maker.tasks.find(id))?.phase,
    events: async (id: string) =>
      (await w.events())
        .filter(({ payload }) => payload?.task?.id === id)
        .map(({ event, payload }) => `${event} ${payload.task.status.phase}`),
  };
}

describe('a task that the server works at', () => {
  it('waits for its turn, runs, and is completed with what came of it', async () => {
    const { w, maker, spawn, shown, events, account } = await office();
    await using _ = w;
    await spawn('t1', { params: { url: 'https://example.com' }, secret: { jwt: 'x' }, outputAssetId: 'a1' });
    expect(maker.works).toHaveLength(1);
    const { finish: _f, fail: _e, progress: _p, signal, ...work } = maker.last();
    expect(signal.aborted).toBe(false);
    expect(work).toEqual({
      ...{ id: 't1', account, name: 'Task t1', phase: 'running', inputAssetId: null, outputAssetId: 'a1' },
      ...{ params: { url: 'https://example.com' }, secret: { jwt: 'x' }, attempt: 1 },
    });
    expect((await shown('t1')).status).toMatchObject({ phase: 'running', progress: 0 });
    maker.last().finish({ outcome: 'done', output: { size: 7 } });
    await w.settle();
    expect(await shown('t1')).toMatchObject({
      ...{ output: { import: { size: 7 } }, status: { phase: 'completed', progress: 1 } },
    });
    expect(await events('t1')).toEqual([
      ...['task.spawned pending', 'task.updated waiting', 'task.updated running', 'task.completed completed'],
    ]);
  });

  it('is tried again after trouble, later each time, and then says what it was', async () => {
    const { w, maker, spawn, shown } = await office();
    await using _ = w;
    await spawn('t1');
    const begun = [w.now()];
    for (let attempt = 1; attempt < taskLimits.attempts.value; attempt += 1) {
      maker.last().fail(new Fault('x.y', { status: 503, message: 'The host hung up.' }));
      await w.settle();
      expect((await shown('t1')).status.phase).toBe('waiting');
      while (maker.works.length === attempt) await w.advance('1s');
      begun.push(w.now());
      expect(maker.last().attempt).toBe(attempt + 1);
      expect((await shown('t1')).status.phase).toBe('running');
    }
    const waits = begun.slice(1).map((at, index) => at - (begun[index] ?? 0));
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    maker.last().fail(new Fault('x.y', { status: 503, message: 'The host hung up.' }));
    await w.settle();
    const { status } = await shown('t1');
    expect(status).toMatchObject({
      phase: 'failed',
      errorMessage: 'It was tried 8 times. The last time: The host hung up.',
    });
  });
});
