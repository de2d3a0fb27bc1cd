import type { Job, Jobs } from '../../../core/ports/jobs.ts';
import type { BatchStep } from '../../../core/ports/store.ts';

interface ModelJob extends Job {
  /** When it can be claimed: its time, or the end of its lease. */
  ready: number;
  owner: string | undefined;
  attempt: number;
}

export interface ModelJobs {
  readonly jobs: Jobs;
  canFinish(step: BatchStep): boolean;
  /** Returns what undoes all that was done since. */
  save(): () => void;
  /** The step's part, once it is sure to be written. */
  write(step: BatchStep): void;
}

/** The Jobs port in the plainest words there are. A lease that has ended is its owner's until another has it. */
export function modelJobs(): ModelJobs {
  // In the order in which they were added.
  let all: ModelJob[] = [];
  const ownerOf = (job: ModelJob) => job.owner;
  const held = (owner: string, id: string) => all.find((job) => job.id === id && ownerOf(job) === owner);
  const remove = (fits: (job: ModelJob) => boolean) => {
    all = all.filter((job) => !fits(job));
  };

  const jobs: Jobs = {
    subscribe: () => () => {},
    async claim(kind, { owner, limit, now, until }) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= 1000)) throw new RangeError('limit');
      const ready = all.filter((job) => job.kind === kind && job.ready <= now);
      // Sorting is stable, so ties stay in the order of their adding.
      return ready
        .sort((one, two) => one.ready - two.ready)
        .slice(0, limit)
        .map((job) => {
          job.owner = owner;
          job.ready = until;
          job.attempt += 1;
          const { id, actor, child, input, addedAt, attempt } = job;
          return { id, kind, actor, child, input, addedAt, attempt };
        });
    },
    async beat(owner, leases) {
      return leases
        .filter(({ id, until }) => {
          const job = held(owner, id);
          if (job) job.ready = until;
          return !job;
        })
        .map(({ id }) => id);
    },
    async release(owner, { id, due, isUncounted = false }) {
      const job = held(owner, id);
      if (!job) return 'lost';
      job.owner = undefined;
      job.ready = due;
      if (isUncounted) job.attempt -= 1;
      return 'ok';
    },
    async finish(owner, id) {
      const job = held(owner, id);
      remove((one) => one === job);
      return job ? 'ok' : 'lost';
    },
    async next(kinds) {
      const times = all.filter((job) => kinds.includes(job.kind)).map(({ ready }) => ready);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    async owners(node) {
      const owners = new Set(all.flatMap((job) => ownerOf(job) ?? []));
      return [...owners].filter((owner) => owner.slice(0, owner.lastIndexOf('/')) === node);
    },
    async free(owners, now) {
      const freed = all.filter((job) => owners.includes(ownerOf(job) ?? ''));
      for (const job of freed) {
        job.owner = undefined;
        job.ready = now;
      }
      return freed.length;
    },
    async totals() {
      const kinds = [...new Set(all.map(({ kind }) => kind))].sort();
      return kinds.map((kind) => {
        const times = all.filter((job) => job.kind === kind).map(({ addedAt }) => addedAt);
        return { kind, count: times.length, oldest: Math.min(...times) };
      });
    },
  };

  return {
    jobs,
    save() {
      const before = all.map((job) => ({ ...job }));
      return () => {
        all = before;
      };
    },
    canFinish: ({ finish }) => !finish || held(finish.owner, finish.id) !== undefined,
    write(step) {
      if (step.finish) remove(({ id }) => id === step.finish?.id);
      if (step.state === null) {
        remove(({ actor }) => actor === step.actor);
        return;
      }
      remove(({ id, actor }) => actor === step.actor && step.cancels.includes(id));
      for (const { id, kind, child, input, due } of step.jobs) {
        if (all.some((job) => job.id === id)) continue;
        all.push({
          ...{ id, kind, child, input, actor: step.actor, addedAt: step.at },
          ...{ attempt: 0, ready: due, owner: undefined },
        });
      }
    },
  };
}
