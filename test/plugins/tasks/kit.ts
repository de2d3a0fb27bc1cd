import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import type { NewTask } from '../../../plugins/tasks/contract.ts';
import tasks from '../../../plugins/tasks/index.ts';
import { taskMaker } from '../../kit/task-maker.ts';
import { world } from '../../kit/world.ts';

/** A world with tasks, and what a test needs to make them and to see what becomes of them. */
export async function office(options: Partial<Parameters<typeof world>[0]> = {}) {
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
