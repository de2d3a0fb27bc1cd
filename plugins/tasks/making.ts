import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { quota } from '../../core/http/quota.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { TasksKit } from './config.ts';
import { type Tasks, taskKinds } from './contract.ts';
import { isAccepted, presentTask, task, taskKind, taskOf } from './task.ts';

/** How long a task may wait for its turn unless its maker says otherwise, ms. */
export const longestWait = 7 * 24 * 3_600_000;

/** Tasks, for the plugins that make them. */
export function making(kit: TasksKit): Tasks {
  const { actors, resources, clock, config, deployment } = kit;
  const { incarnation } = deployment.node;
  const places = quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(taskKind, { account }),
    full: () => tooMany(config.maxPerAccount),
  });
  return {
    async spawn(given) {
      const { inputAssetId = null, outputAssetId = null, params = null, createdByTokenName = null } = given;
      const { id, account, type, name, secret = null, deadline = clock.now() + longestWait } = given;
      const { lateMessage = `The ${type} was not started within a week.` } = given;
      const isServed = kit.offered(taskKinds).some((kind) => kind.type === type && kind.run !== undefined);
      await places.admit(account);
      const settings = {
        ...{ id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName },
        ...{ createdAt: clock.now(), deadline, lateMessage, keptFor: milliseconds(config.keptFor), isServed },
      };
      const input = { task: settings, secret };
      await actors.spawn(task, id, input, { cause: `task/${id}` }).catch((error: unknown) => {
        if (!hasCode(error, 'actor.exists')) throw error;
      });
    },
    async find(id) {
      const row = await resources.get(taskKind, id, { isBeside: true });
      if (!row) return undefined;
      const { phase, account, inputAssetId, outputAssetId } = taskOf(row);
      return { phase, account, inputAssetId, outputAssetId };
    },
    begin: (id, workId) =>
      isAccepted(actors.ask(task, id, { type: 'begin', work: { id: workId, incarnation } })),
    progress: (id, to) => isAccepted(actors.ask(task, id, { type: 'progress', ...to })),
    async interrupted(id, workId) {
      await isAccepted(actors.ask(task, id, { type: 'interrupted', workId }));
    },
    async fail(id, why) {
      const asked = actors.ask(task, id, { type: 'fail', ...why });
      return (await isAccepted(asked)) && (await asked).value === 'failed';
    },
    async complete(id, output) {
      await isAccepted(actors.ask(task, id, { type: 'complete', output }));
    },
    async cancel(id) {
      await isAccepted(actors.ask(task, id, { type: 'cancel' }));
    },
    async cancelOf(assetId) {
      const where = { inputAssetId: assetId };
      for await (const rows of rowPages(taskKind, { where, page: 100, resources })) {
        const running = rows.filter((row) => !ended.has(taskOf(row).phase));
        await Promise.all(running.map(({ id }) => isAccepted(actors.ask(task, id, { type: 'cancel' }))));
      }
    },
    async show(id) {
      const row = await resources.get(taskKind, id, { isBeside: true });
      return row && presentTask(taskOf(row));
    },
  };
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

function tooMany(most: number): Fault {
  const message = `This account has ${most} tasks, the most it may have (plugins.tasks.maxPerAccount). Tasks that have ended are removed after a while.`;
  return new Fault('task.too_many', { status: 409, message });
}
