import type { Log } from '../../../core/base/log.ts';
import type { LostNode } from '../../../core/plugin/nodes.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Jobs } from '../../../core/ports/jobs.ts';

/**
 * Ends the leases of processes that are gone, so that their jobs need not wait for the end of them. Leases of a process
 * that may live stay as they are. Answers how many were ended.
 */
export async function freeJobs(
  lost: LostNode,
  { jobs, clock, log }: { jobs: Pick<Jobs, 'owners' | 'free'>; clock: Clock; log: Log },
): Promise<number> {
  const owners = await jobs.owners(lost.id);
  if (owners.length === 0) return 0;
  // Read after the owners: a process that starts now is not among them.
  const lastSign = await lost.lastSigns();
  const gone = owners.filter((owner) => lastSign(owner.slice(lost.id.length + 1)) !== undefined);
  if (gone.length === 0) return 0;
  const freed = await jobs.free(gone, clock.now());
  log.info('jobs of a lost process are free again', { node: lost.id, jobs: freed });
  return freed;
}
