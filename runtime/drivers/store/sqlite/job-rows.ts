import type { Job, JobClaim, JobLease, JobOutcome, JobRelease } from '../../../../core/ports/jobs.ts';
import type { BatchStep } from '../../../../core/ports/store.ts';
import type { Statements } from './statements.ts';

/** What is asked often; a test looks at how SQLite would answer it. */
export const jobSql = {
  ready: `
    SELECT number, id, kind, actor, child, input, added_at AS addedAt, attempt + 1 AS attempt
    FROM jobs WHERE kind = ? AND ready <= ? ORDER BY ready, number LIMIT ?`,
  next: 'SELECT ready FROM jobs WHERE kind = ? ORDER BY ready LIMIT 1',
  totals: `
    SELECT kind, count, (SELECT MIN(added_at) FROM jobs WHERE jobs.kind = job_totals.kind) AS oldest
    FROM job_totals WHERE count > 0 ORDER BY kind`,
  ofActor: 'DELETE FROM jobs WHERE actor = ? RETURNING kind',
};

/** The jobs' part of a step's commit. */
export interface StepJobs {
  /** Whether the job that the step finishes is still its owner's. */
  canFinish(step: BatchStep): boolean;
  /** Finishes, cancels and adds. */
  write(step: BatchStep): void;
}

/** What workers write, one argument each. */
export interface JobWrites {
  claimJobs(claim: JobClaim & { readonly kind: string }): Job[];
  beatJobs(beat: { owner: string; leases: readonly JobLease[] }): string[];
  releaseJob(release: JobRelease & { readonly owner: string }): JobOutcome;
  finishJob(job: { owner: string; id: string }): JobOutcome;
  jobOwners(of: { node: string }): string[];
  freeJobs(gone: { owners: readonly string[]; now: number }): number;
}

/**
 * Jobs as rows. `ready` is when a job can be claimed: its due time while it waits, the end of its lease while
 * a worker has it. `job_totals` keeps the counts, because counting would take longer the longer the queue.
 */
export function jobRows(sql: Statements): StepJobs & JobWrites {
  const insert = sql.prepare(`
    INSERT INTO jobs (id, kind, actor, child, input, added_at, attempt, ready, owner)
    VALUES (?, ?, ?, ?, ?, ?, 0, ?, NULL) ON CONFLICT (id) DO NOTHING`);
  const count = sql.prepare(`
    INSERT INTO job_totals (kind, count) VALUES (?1, ?2)
    ON CONFLICT (kind) DO UPDATE SET count = count + excluded.count`);
  const isHeld = sql.prepare('SELECT 1 FROM jobs WHERE id = ? AND owner = ?');
  const removeHeld = sql.prepare<{ kind: string }>(
    'DELETE FROM jobs WHERE id = ? AND owner = ? RETURNING kind',
  );
  const removeOf = sql.prepare<{ kind: string }>(
    'DELETE FROM jobs WHERE id = ? AND actor = ? RETURNING kind',
  );
  const removeAllOf = sql.prepare<{ kind: string }>(jobSql.ofActor);
  const ready = sql.prepare<Job & { number: number }>(jobSql.ready);
  const lease = sql.prepare('UPDATE jobs SET owner = ?, ready = ?, attempt = attempt + 1 WHERE number = ?');
  const extend = sql.prepare('UPDATE jobs SET ready = ? WHERE id = ? AND owner = ?');
  const putBack = sql.prepare(
    'UPDATE jobs SET owner = NULL, ready = ?, attempt = attempt - ? WHERE id = ? AND owner = ?',
  );
  const owners = sql.prepare<{ owner: string }>('SELECT DISTINCT owner FROM jobs WHERE owner IS NOT NULL');
  const disown = sql.prepare('UPDATE jobs SET owner = NULL, ready = ? WHERE owner = ?');

  const discount = (removed: readonly { kind: string }[]) => {
    for (const { kind } of removed) count.run(kind, -1);
  };

  return {
    canFinish: ({ finish }) => !finish || isHeld.get(finish.id, finish.owner) !== null,

    write(step) {
      if (step.finish) discount(removeHeld.all(step.finish.id, step.finish.owner));
      if (step.state === null) {
        discount(removeAllOf.all(step.actor));
        return;
      }
      for (const id of step.cancels) discount(removeOf.all(id, step.actor));
      for (const { id, kind, child, input, due } of step.jobs) {
        const { changes } = insert.run(id, kind, step.actor, child, input, step.at, due);
        if (changes > 0) count.run(kind, 1);
      }
    },

    claimJobs({ kind, owner, limit, now, until }) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= 1000)) {
        throw new RangeError(`${limit} is not a number of jobs to claim, 1..1000`);
      }
      return ready.all(kind, now, limit).map(({ number, ...job }) => {
        lease.run(owner, until, number);
        return job;
      });
    },

    beatJobs: ({ owner, leases }) =>
      leases.filter(({ id, until }) => extend.run(until, id, owner).changes === 0).map(({ id }) => id),

    releaseJob({ owner, id, due, isUncounted = false }) {
      return putBack.run(due, isUncounted ? 1 : 0, id, owner).changes === 0 ? 'lost' : 'ok';
    },

    finishJob({ owner, id }) {
      const removed = removeHeld.all(id, owner);
      discount(removed);
      return removed.length === 0 ? 'lost' : 'ok';
    },

    jobOwners({ node }) {
      const all = owners.all().map(({ owner }) => owner);
      return all.filter((owner) => nodeOf(owner) === node);
    },

    freeJobs({ owners: gone, now }) {
      let freed = 0;
      for (const owner of gone) freed += disown.run(now, owner).changes;
      return freed;
    },
  };
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf('/'));
}
