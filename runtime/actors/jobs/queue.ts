import type { Wanted } from '../../core/plugin/step.ts';
import type { JobWrite } from '../../core/ports/jobs.ts';

/** Who does the jobs, as far as steps are concerned. */
export interface Workshop {
  /**
   * Jobs as a step adds them, some wanted here at once. Either `committed` or `dropped` follows. Throws a Fault when
   * they cannot be taken. `isResult`: they follow from a job that ends, so they need no new place in the queue.
   */
  prepare(
    wanted: readonly (Wanted & { readonly id: string })[],
    options: { at: number; isResult: boolean },
  ): JobWrite[];
  /** They are on disk; what was cancelled is gone from there. */
  committed(step: CommittedJobs): void;
  /** The step that would have added them was not written, or nobody knows whether it was. */
  dropped(jobs: readonly JobWrite[]): void;
}

export interface CommittedJobs {
  readonly actor: string;
  readonly at: number;
  readonly jobs: readonly JobWrite[];
  /** Ids of those that this process holds. */
  readonly claimed: readonly string[];
  readonly cancels: readonly string[];
}
