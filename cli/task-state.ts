import type { Client, Task } from '../sdk/client/index.ts';
import { exits, Failure } from './command.ts';
import { failureOf } from './failure.ts';
import { pause, untilInterrupted } from './interruption.ts';
import { progress } from './progress.ts';
import { plain } from './table.ts';

/** Between two looks at a task, ms. */
const interval = 500;

/**
 * Shows the progress of a task until it has ended, also while the server is away. Resolves with the completed task; rejects where it
 * failed or was cancelled, or by Ctrl+C.
 */
export async function completed(client: Client, id: string): Promise<Task> {
  const first = await client.getTask({ id });
  const bar = progress(`${first.type} ${plain(first.name)}`);
  const task = await untilInterrupted(async (signal) => {
    for (let task = first; ; ) {
      const { phase, progress: share } = task.status;
      if (phase === 'completed' || phase === 'failed' || phase === 'cancelled') return task;
      bar.show(share, phase);
      await pause(interval, signal);
      task = await lookedAt(client, { task, signal, onAway: () => bar.show(share, 'the server is away') });
    }
  }).finally(() => bar.clear());
  if (!task)
    throw new Failure(`interrupted; the task goes on. \`millrace task follow ${id}\` follows it again.`);
  const { phase, errorMessage } = task.status;
  if (phase === 'failed') throw new Failure(`the task failed: ${errorMessage ?? 'no reason was given'}`);
  if (phase === 'cancelled') throw new Failure('the task was cancelled.');
  return task;
}

/** The task now, or as it was while the server is away. */
async function lookedAt(
  client: Client,
  { task, signal, onAway }: { task: Task; signal: AbortSignal; onAway: () => void },
): Promise<Task> {
  try {
    return await client.getTask({ id: task.id, signal });
  } catch (error) {
    if (failureOf(error)?.exit !== exits.unreachable) throw error;
    onAway();
    return task;
  }
}
