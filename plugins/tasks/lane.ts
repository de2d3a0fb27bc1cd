import type { ActorType } from '../../core/plugin/actor.ts';
import { type LaneEmitted, taskLaneMachine } from '../../machines/task-lane.ts';

/** One per account and type of tasks that the server works at, from the first of them. */
export const lane: ActorType<typeof taskLaneMachine> = {
  type: 'task-lane',
  machine: taskLaneMachine,
  version: 1,
  rows: () => [],
  describe(emitted, { lane: { account, type } }) {
    const { id, round } = emitted as unknown as LaneEmitted;
    // For this plugin alone: an event of no account. What holds up one lane holds up no other.
    return {
      account: '',
      stream: laneId({ account, type }),
      body: { payload: { id, round, account, type } },
    };
  },
};

export function laneId({ account, type }: { readonly account: string; readonly type: string }): string {
  return `${account}:${type}`;
}
