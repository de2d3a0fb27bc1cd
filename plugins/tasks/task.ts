import type { ActorType } from '../../core/actor.ts';
import { phaseOf, type TaskEmitted, taskMachine } from '../../machines/task.ts';
import { documentOf, taskKind } from './document.ts';
import { presentTask } from './present.ts';

/** One per task, with the id of the task. */
export const task: ActorType<typeof taskMachine> = {
  type: 'task',
  machine: taskMachine,
  version: 1,
  rows(context, state) {
    const { id, account, createdAt, name, type } = context.task;
    const row = { kind: taskKind, id, account, createdAt, name };
    if (state === 'forgotten') return [{ ...row, body: null, indexes: {} }];
    const phase = phaseOf(state);
    // By it the lane finds those that wait for it.
    const queue: Readonly<Record<string, string>> =
      phase === 'pending' && context.task.isServed ? { queue: type } : {};
    return [{ ...row, body: JSON.stringify(documentOf(context, phase)), indexes: { type, phase, ...queue } }];
  },
  describe(emitted, context) {
    const document = documentOf(context, (emitted as unknown as TaskEmitted).phase);
    return { account: document.account, stream: '', body: { payload: { task: presentTask(document) } } };
  },
};
