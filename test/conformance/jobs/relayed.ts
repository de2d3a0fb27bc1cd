import type { JobLease, QueuedJobs } from '../../../core/ports/jobs.ts';
import type { CommitOutcome, StepCommit, Store } from '../../../core/ports/store.ts';
import type { Halves } from './check.ts';

/**
 * A store and jobs of another engine as one driver: what a commit wrote of jobs is passed on before it is answered, as
 * a relay does it in production from the store's outbox. Whether a job that a step would finish is held is asked before
 * the commit, and it is finished after it, as whoever gives a result to an actor does it.
 */
export function relayed(store: Store, jobs: QueuedJobs): Halves {
  /** Unfinished jobs → their actors. */
  const actors = new Map<string, string>();
  /** The end of the lease that an owner has or had on a job. */
  const leases = new Map<string, JobLease>();
  const name = (owner: string, id: string) => `${owner} ${id}`;
  const isHeld = async ({ owner, id }: { owner: string; id: string }) => {
    const lease = leases.get(name(owner, id));
    return lease !== undefined && (await jobs.beat(owner, [lease])).length === 0;
  };

  const pass = async ({ actor, at, state, jobs: wanted, cancels, finish }: StepCommit) => {
    if (finish && (await jobs.finish(finish.owner, finish.id)) === 'ok') actors.delete(finish.id);
    const ended = [...actors].filter(([id, of]) => of === actor && (state === null || cancels.includes(id)));
    for (const [id] of ended) actors.delete(id);
    await jobs.cancel(ended.map(([id]) => id));
    if (state === null) return;
    for (const { id } of wanted) if (!actors.has(id)) actors.set(id, actor);
    await jobs.add(wanted.map(({ lease, ...job }) => ({ ...job, actor, addedAt: at })));
  };

  return {
    store: {
      ...store,
      async commit(step): Promise<CommitOutcome> {
        const { finish, ...rest } = step;
        if (finish && !(await isHeld(finish))) return { outcome: 'lost' };
        const outcome = await store.commit({ ...rest, jobs: [], cancels: [] });
        if (outcome.outcome === 'ok') await pass(step);
        return outcome;
      },
    },
    jobs: {
      ...jobs,
      async claim(kind, claim) {
        const claimed = await jobs.claim(kind, claim);
        for (const { id } of claimed) leases.set(name(claim.owner, id), { id, until: claim.until });
        return claimed;
      },
      async beat(owner, moved) {
        const lost = await jobs.beat(owner, moved);
        for (const lease of moved) if (!lost.includes(lease.id)) leases.set(name(owner, lease.id), lease);
        return lost;
      },
      async finish(owner, id) {
        const outcome = await jobs.finish(owner, id);
        if (outcome === 'ok') actors.delete(id);
        return outcome;
      },
    },
  };
}
