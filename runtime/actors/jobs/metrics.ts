import type { Counter, Metrics } from '../../../core/base/metrics.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Jobs, JobTotals } from '../../../core/ports/jobs.ts';
import type { JobKind } from './kind.ts';

/**
 * `done`, `failed`: the machine got the result. `retried`: put back after a failed attempt. `handed back`: because the
 * program stops. `stale`: the result was not needed any more. `lost`: the lease ended first. `cancelled`: the
 * machine left the state that wanted it.
 */
const outcomes = ['done', 'failed', 'retried', 'handed back', 'stale', 'lost', 'cancelled'] as const;
export type JobEnd = (typeof outcomes)[number];

/** Counts attempts by kind and how they ended. */
export class JobCounts {
  readonly #kinds = new Map<string, Record<JobEnd, Counter>>();

  constructor(metrics: Metrics, options: { kinds: readonly string[] }) {
    const ends = metrics.counter(
      'millrace_job_attempts_total',
      'Attempts at jobs, by kind and how they ended.',
    );
    for (const kind of options.kinds) {
      const counters = outcomes.map((outcome) => [outcome, ends.with({ kind, outcome })] as const);
      this.#kinds.set(kind, Object.fromEntries(counters) as Record<JobEnd, Counter>);
    }
  }

  count(kind: string, end: JobEnd): void {
    this.#kinds.get(kind)?.[end].add();
  }
}

/** How much work there is, by kind, read with the metrics. */
export function measureJobs(metrics: Metrics, parts: MeasuredJobs): void {
  const { clock, jobs, workers, kinds } = parts;
  let totals = new Map<string, JobTotals>();
  metrics.beforeReading(async () => {
    totals = new Map((await jobs.totals()).map((one) => [one.kind, one]));
  });
  const byKind = (value: (kind: string) => number) => () =>
    kinds.map(({ kind }) => ({ labels: { kind }, value: value(kind) }));
  metrics.readings('millrace_jobs_running', {
    help: 'Jobs that this process runs, by kind.',
    read: byKind((kind) => workers.running(kind)),
  });
  metrics.readings('millrace_jobs_waiting', {
    help: 'Jobs that wait for a slot, their time or another attempt, by kind.',
    read: byKind((kind) => Math.max(0, (totals.get(kind)?.count ?? 0) - workers.running(kind))),
  });
  metrics.readings('millrace_job_oldest_seconds', {
    help: 'Age of the oldest job that is not finished, by kind; 0 when there is none.',
    read: byKind((kind) => {
      const oldest = totals.get(kind)?.oldest;
      return oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1000;
    }),
  });
}

interface MeasuredJobs {
  readonly clock: Clock;
  readonly jobs: Jobs;
  readonly workers: { running(kind: string): number };
  readonly kinds: readonly JobKind[];
}
