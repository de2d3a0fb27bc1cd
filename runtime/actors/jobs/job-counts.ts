import type { Counter, Metrics } from '../../../core/base/metrics.ts';

/**
 * `done`, `failed`: the machine was told. `retried`: put back after a failed attempt. `handed back`: because the
 * program stops. `stale`: nobody waited for the result any more. `lost`: the lease ended first. `cancelled`: the
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
