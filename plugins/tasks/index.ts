import { Fault } from '../../core/base/fault.ts';
import { exampleId } from '../../core/base/ids.ts';
import { storedKinds } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { config } from './config.ts';
import { ipfsSettings, tasks } from './contract.ts';
import { ipfsContradictions, ipfsSettingsOf } from './ipfs.ts';
import { lane, laneReactions, lookEffect } from './lane.ts';
import { countPlaces, places } from './places.ts';
import { routes } from './routes.ts';
import { runEffect } from './run.ts';
import { lostNode, making, task, taskKind } from './task.ts';

/** Of events, as an example. */
const payload = {
  task: { id: exampleId, type: 'import', status: { phase: 'completed' }, outputAssetId: exampleId },
};

/** Long-running work of an account, and its progress. */
export default definePlugin({
  id: 'tasks',
  summary: 'tasks: long-running work and its progress',
  config,
  contradictions: ({ ipfs }) => ipfsContradictions(ipfs).map((problem) => `ipfs.${problem}`),
  needs: [authenticator, services.secrets, places],
  provides: [tasks, ipfsSettings, places],
  offers: [offer(storedKinds, () => ({ kind: taskKind }))],
  actors: [task, lane],
  effects: { 'task.run': runEffect, 'task.look': lookEffect },
  reactions: laneReactions,
  lostNode,
  emits: {
    'task.spawned': { meaning: 'A task was created.', payload },
    'task.updated': { meaning: 'A task changed its phase. Progress alone emits no event.', payload },
    'task.completed': { meaning: 'A task has its result: `output`.', payload },
    'task.failed': { meaning: 'A task failed; `status.errorMessage` says why.', payload },
    'task.admitted': { meaning: 'Only for plugins: a task may run now.', webhooks: false },
  },
  faults: {
    'task.not_found': { status: 404, meaning: 'There is no task of this id in your account.' },
    'task.not_possible': { status: 409, meaning: 'The task is in a phase that does not allow this.' },
    'task.too_many': {
      status: 409,
      meaning: 'The account has the maximum number of tasks (plugins.tasks.maxPerAccount).',
    },
  },
  routes,
  start(kit) {
    kit.provide(tasks, making(kit));
    kit.provide(places, countPlaces(kit.config));
    const { endpoint } = kit.config.ipfs;
    const wrong = endpoint === undefined ? undefined : kit.outbound.problem(endpoint);
    if (wrong) {
      const message = `plugins.tasks.ipfs.endpoint: ${wrong.message}`;
      throw new Fault('config.invalid', { status: 500, message });
    }
    kit.provide(ipfsSettings, ipfsSettingsOf(kit.config.ipfs));
    return undefined;
  },
});
