import { Fault } from '../../core/base/fault.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { admissionReactions } from './admission.ts';
import { config } from './config.ts';
import { ipfsSettings, tasks } from './contract.ts';
import { ipfsContradictions, ipfsSettingsOf } from './ipfs.ts';
import { lane } from './lane.ts';
import { lookEffect } from './look.ts';
import { lostNode } from './lost-nodes.ts';
import { making } from './making.ts';
import { routes } from './routes.ts';
import { runEffect } from './run.ts';
import { task } from './task.ts';

/** What takes its time, and how far it is. */
export default definePlugin({
  id: 'tasks',
  summary: 'tasks: what takes its time, and how far it is',
  config,
  contradictions: ({ ipfs }) => ipfsContradictions(ipfs).map((problem) => `ipfs.${problem}`),
  needs: [authenticator],
  provides: [tasks, ipfsSettings],
  actors: [task, lane],
  effects: { 'task.run': runEffect, 'task.look': lookEffect },
  reactions: admissionReactions,
  lostNode,
  emits: {
    'task.spawned': 'A task was made.',
    'task.updated': 'It is in another phase. Progress alone is not told.',
    'task.completed': 'Its result is there: `output`.',
    'task.failed': 'It failed; `status.errorMessage` says why.',
    'task.admitted': 'For plugins alone: its lane lets it in.',
  },
  faults: {
    'task.not_found': { status: 404, meaning: 'There is no task of this id in your account.' },
    'task.not_possible': { status: 409, meaning: 'Not possible in the phase that the task is in.' },
    'task.too_many': { status: 409, meaning: 'The account has as many tasks as it may have.' },
  },
  routes,
  start(kit) {
    kit.provide(tasks, making(kit));
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
