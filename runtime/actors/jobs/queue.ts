import type { Wanted } from '../../../core/plugin/step.ts';
import type { JobWrite } from '../../../core/ports/jobs.ts';

/** The queue of jobs, as steps use it. */
export interface JobQueue {
  /**
   * Jobs as a step adds them. Throws a Fault when they cannot be taken. `isResult`: they follow from a job that ends, so
   * they need no new place in the queue.
   */
  prepare(
    wanted: readonly (Wanted & { readonly id: string })[],
    options: { at: number; isResult: boolean },
  ): JobWrite[];
  /** They are on disk; cancelled ones are deleted there. */
  committed(step: CommittedJobs): void;
}

export interface CommittedJobs {
  readonly at: number;
  readonly jobs: readonly JobWrite[];
  readonly cancels: readonly string[];
}
