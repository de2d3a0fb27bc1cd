import type { JobLease, QueuedJobs } from '../../../core/ports/jobs.ts';
import type { CommitOutcome, Outbox, StepCommit, Store } from '../../../core/ports/store.ts';
import type { Halves } from './check.ts';

/**
 * A store and jobs of another engine as one driver: what a commit wrote of jobs is passed on before it is answered, from
 * the store's outbox where it has one, as a relay does it in production. An actor that ends cancels its jobs. Whether a job that a step would finish is held is asked before
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

  const endedBy = ({ actor, state, cancels }: StepCommit) =>
    [...actors]
      .filter(([id, of]) => of === actor && (state === null || cancels.includes(id)))
      .map(([id]) => id);
  const pass = async (written: Pick<StepCommit, 'actor' | 'at' | 'jobs' | 'cancels'>) => {
    const { actor, at, jobs: added, cancels } = written;
    await jobs.cancel(cancels);
    await jobs.add(added.map((job) => ({ ...job, actor, addedAt: at })));
  };
  const relay = async (outbox: Outbox, partition: number) => {
    const entries = await outbox.pending(partition, { limit: 1000 });
    for (const entry of entries) await pass(entry);
    await outbox.settle(
      partition,
      entries.map(({ number }) => number),
    );
  };

  return {
    store: {
      ...store,
      async commit(step): Promise<CommitOutcome> {
        const { finish, ...rest } = step;
        if (finish && !(await isHeld(finish))) return { outcome: 'lost' };
        const ended = endedBy(step);
        const written = { ...rest, jobs: step.state === null ? [] : step.jobs, cancels: ended };
        const outcome = await store.commit(store.outbox ? written : { ...written, jobs: [], cancels: [] });
        if (outcome.outcome !== 'ok') return outcome;
        if (finish && (await jobs.finish(finish.owner, finish.id)) === 'ok') actors.delete(finish.id);
        for (const id of ended) actors.delete(id);
        for (const { id } of written.jobs) if (!actors.has(id)) actors.set(id, step.actor);
        if (store.outbox) await relay(store.outbox, step.partition);
        else await pass(written);
        // That it left something to be passed on is no matter of whoever asks for the jobs.
        const { entry, ...told } = outcome;
        return told;
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
