import type { Counter, Histogram, Metrics } from '../../core/base/metrics.ts';

/** `refused`: its state did not allow it. `failed`: the store threw. The others are outcomes of its commit. */
const outcomes = ['ok', 'duplicate', 'conflict', 'fenced', 'gap', 'lost', 'refused', 'failed'] as const;
type StepOutcome = (typeof outcomes)[number];

/** Counts steps of actors by type and outcome, and times their commits. */
export class StepCounts {
  readonly #types = new Map<string, Record<StepOutcome, Counter>>();
  readonly #commits: Histogram;

  constructor(metrics: Metrics, options: { types: readonly string[] }) {
    const steps = metrics.counter('millrace_actor_steps_total', 'Steps of actors, by type and outcome.');
    for (const type of options.types) {
      const counters = outcomes.map((outcome) => [outcome, steps.with({ type, outcome })] as const);
      this.#types.set(type, Object.fromEntries(counters) as Record<StepOutcome, Counter>);
    }
    this.#commits = metrics
      .histogram('millrace_actor_commit_duration_seconds', {
        help: 'Time from a step to its sync to disk, in whole milliseconds.',
        buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      })
      .with({});
  }

  /** A step of this type ended so. */
  count(type: string, outcome: StepOutcome): void {
    this.#types.get(type)?.[outcome].add();
  }

  /** A commit was answered, after `duration` ms. */
  committed(duration: number): void {
    this.#commits.observe(duration / 1000);
  }
}
