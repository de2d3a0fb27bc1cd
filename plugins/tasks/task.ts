import type { ActorType } from '../../core/plugin/actor.ts';
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
    const { inputAssetId, isServed } = context.task;
    const indexes = {
      ...{ type, phase },
      // By it the lane finds those that wait for it.
      ...(phase === 'pending' && isServed && { queue: type }),
      ...(inputAssetId !== null && { inputAssetId }),
    };
    return [{ ...row, body: JSON.stringify(documentOf(context, phase)), indexes }];
  },
  describe(emitted, context) {
    const document = documentOf(context, (emitted as unknown as TaskEmitted).phase);
    return { account: document.account, stream: '', body: { payload: { task: presentTask(document) } } };
  },
};
