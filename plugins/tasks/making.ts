import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, hasCode, unlessRefused } from '../../core/base/fault.ts';
import { quota } from '../../core/http/quota.ts';
import { type Tasks, taskKinds } from './contract.ts';
import { taskKind, taskOf } from './document.ts';
import type { TasksKit } from './kit.ts';
import { taskLimits } from './limits.ts';
import { presentTask } from './present.ts';
import { task } from './task.ts';

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
  const isTaken = async (asked: Promise<unknown>): Promise<boolean> => {
    try {
      await asked;
      return true;
    } catch (error) {
      unlessRefused(error);
      return false;
    }
  };
  return {
    async spawn(given) {
      const { inputAssetId = null, outputAssetId = null, params = null, createdByTokenName = null } = given;
      const { id, account, type, name, deadline, lateMessage, secret = null } = given;
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
      isTaken(actors.ask(task, id, { type: 'begin', work: { id: workId, incarnation } })),
    progress: (id, to) => isTaken(actors.ask(task, id, { type: 'progress', ...to })),
    async interrupted(id, workId) {
      await isTaken(actors.ask(task, id, { type: 'interrupted', workId }));
    },
    async fail(id, why) {
      const asked = actors.ask(task, id, { type: 'fail', ...why });
      return (await isTaken(asked)) && (await asked).value === 'failed';
    },
    async complete(id, output) {
      await isTaken(actors.ask(task, id, { type: 'complete', output }));
    },
    async cancel(id) {
      await isTaken(actors.ask(task, id, { type: 'cancel' }));
    },
    async cancelOf(assetId, type) {
      const limit = taskLimits.cancelledAtOnce.value;
      let after: { createdAt: number; id: string } | undefined;
      for (;;) {
        const rows = await resources.list(taskKind, {
          ...{ where: { inputAssetId: assetId }, limit },
          ...(after && { after }),
        });
        const ids = rows.flatMap((row) => {
          const { type: its, phase } = taskOf(row);
          return its === type && !ended.has(phase) ? [row.id] : [];
        });
        await Promise.all(ids.map((id) => isTaken(actors.ask(task, id, { type: 'cancel' }))));
        const last = rows.at(-1);
        if (!last || rows.length < limit) return;
        after = { createdAt: last.createdAt, id: last.id };
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
  const message = `This account has ${most} tasks (plugins.tasks.maxPerAccount). Those that have ended are forgotten in time.`;
  return new Fault('task.too_many', { status: 409, message });
}
