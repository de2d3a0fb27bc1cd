import type { Bus } from '../../core/ports/bus.ts';
import type { QueuedJobs } from '../../core/ports/jobs.ts';
import type { OutboxEntry } from '../../core/ports/store.ts';
import { clusterLimits } from './limits.ts';

export type HandedOn = Omit<OutboxEntry, 'number' | 'partition'>;

/**
 * What commits left for other engines: events to whoever reads along, jobs to their queue. In order, at least once;
 * those that get it know a repeat by its id.
 */
export async function handOn(
  entries: readonly HandedOn[],
  { bus, queue }: { bus: Bus; queue: QueuedJobs | undefined },
): Promise<void> {
  await Promise.all([publish(entries, bus), queue && enqueue(entries, queue)]);
}

async function publish(entries: readonly HandedOn[], bus: Bus): Promise<void> {
  const records = entries.flatMap(({ events, cause, epoch }) =>
    // Those of no account are for plugins alone.
    events
      .filter(({ account }) => account !== '')
      .map(({ id, stream, body }) => ({
        key: stream || id,
        value: JSON.stringify({ ...(JSON.parse(body) as object), cause, epoch }),
      })),
  );
  for (let at = 0; at < records.length; at += clusterLimits.published) {
    await bus.publish(records.slice(at, at + clusterLimits.published));
  }
}

async function enqueue(entries: readonly HandedOn[], queue: QueuedJobs): Promise<void> {
  const jobs = entries.flatMap(({ jobs, actor, at }) =>
    jobs.map(({ id, kind, child, input, due }) => ({ id, kind, child, input, due, actor, addedAt: at })),
  );
  const cancels = entries.flatMap((entry) => entry.cancels);
  if (jobs.length > 0) await queue.add(jobs);
  // After the adding: a job may be cancelled by a step that came soon after its own, never begun again by one.
  if (cancels.length > 0) await queue.cancel(cancels);
}
