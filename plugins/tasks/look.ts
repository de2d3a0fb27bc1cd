import { effect } from '../../core/plugin/plugin.ts';
import type { Look, Looked, Place } from '../../machines/task-lane.ts';
import type { config } from './config.ts';
import { taskKind, taskOf } from './document.ts';
import { taskLimits } from './limits.ts';

const { looks, lookTime } = taskLimits;

/** Looks who waits for a lane, and whether those that it has let in are still at it. */
export const lookEffect = effect<Look, Looked, typeof config>({
  concurrency: looks.value,
  timeout: lookTime.value,
  async run({ input: { account, type, running, limit } }, { resources }) {
    // Before those that wait are read: one that is let in meanwhile is in no danger.
    const rows = await Promise.all(running.map(({ id }) => resources.get(taskKind, id, { isBeside: true })));
    const phases = running.map(({ round }, index) => {
      const row = rows[index];
      const document = row && taskOf(row);
      return document?.retries === round ? document.phase : undefined;
    });
    const those = (phase: (one: (typeof phases)[number]) => boolean): Place[] =>
      running.filter((_, index) => phase(phases[index]));
    const waiting = await resources.list(taskKind, {
      account,
      where: { queue: type },
      order: [{ by: 'createdAt', descending: false }],
      limit: limit + 1,
    });
    return {
      gone: those((phase) => phase !== 'pending' && phase !== 'waiting' && phase !== 'running'),
      untold: those((phase) => phase === 'pending'),
      waiting: waiting.slice(0, limit).map((row) => ({ id: row.id, round: taskOf(row).retries })),
      hasMore: waiting.length > limit,
    };
  },
});
