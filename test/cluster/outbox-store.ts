import type { JobLease, QueuedJob, QueuedJobs } from '../../core/ports/jobs.ts';
import type { EventWrite, OutboxEntry, StepCommit, Store } from '../../core/ports/store.ts';

/** A store whose jobs and bus are other engines: what a commit has for them stays in an outbox until it is settled. */
export function outboxStore(store: Store): Store {
  let number = 0;
  let entries: OutboxEntry[] = [];
  const put = (entry: Omit<OutboxEntry, 'number'>): number => {
    number += 1;
    entries.push({ ...entry, number });
    return number;
  };
  const none = { jobs: [], cancels: [] } as const;
  return Object.assign(Object.create(store) as Store, {
    async commit(step: StepCommit) {
      const { partition, epoch, cause, actor, at, events, jobs, cancels } = step;
      const outcome = await store.commit({ ...step, ...none });
      if (outcome.outcome !== 'ok' || events.length + jobs.length + cancels.length === 0) return outcome;
      return { ...outcome, entry: put({ partition, epoch, cause, actor, at, events, jobs, cancels }) };
    },
    async write(write: { at: number; events: readonly EventWrite[] } & Parameters<Store['write']>[0]) {
      const outcome = await store.write(write);
      const { at, events } = write;
      if (outcome.outcome === 'ok' && events.length > 0) {
        put({ ...{ partition: -1, epoch: 0, cause: '', actor: '', at, events }, ...none });
      }
      return outcome;
    },
    outbox: {
      pending: async (partition: number, { limit }: { limit: number }) =>
        entries.filter((one) => one.partition === partition).slice(0, limit),
      async settle(partition: number, numbers: readonly number[]) {
        entries = entries.filter((one) => one.partition !== partition || !numbers.includes(one.number));
      },
    },
  });
}

/** A queue that remembers what came to it and does nothing. */
export function recordingQueue(): QueuedJobs & {
  readonly added: QueuedJob[];
  readonly cancelled: string[];
  readonly finished: string[];
} {
  const added: QueuedJob[] = [];
  const cancelled: string[] = [];
  const finished: string[] = [];
  return {
    added,
    cancelled,
    finished,
    async add(jobs) {
      for (const job of jobs) if (!added.some(({ id }) => id === job.id)) added.push(job);
    },
    async cancel(ids) {
      cancelled.push(...ids);
    },
    async finish(_, id) {
      finished.push(id);
      return 'ok';
    },
    claim: async () => [],
    beat: async (_: string, leases: readonly JobLease[]) => leases.map(({ id }) => id),
    release: async () => 'ok',
    next: async () => undefined,
    owners: async () => [],
    free: async () => 0,
    totals: async () => [],
    subscribe: () => () => {},
    close: async () => {},
  };
}
