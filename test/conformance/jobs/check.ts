import type { Jobs } from '../../../core/ports/jobs.ts';
import type { Store } from '../../../core/ports/store.ts';
import type { SuiteTime } from './time.ts';

/** Both halves of a driver: jobs come and go with the commits of the store. */
export interface OpenedJobs extends Halves {
  /** As the driver counts it. */
  readonly time: SuiteTime;
  /**
   * Whether store and jobs are of one engine: then a commit writes both or nothing, and leases end by the times that
   * callers name. Otherwise what a commit wrote of jobs has followed it by the time it is answered.
   */
  readonly isOneEngine: boolean;
  /** Closes both and opens their data again; for data that ends with them, the same two. */
  reopen(): Promise<Halves>;
  close(): Promise<void>;
}

export interface Halves {
  readonly store: Store;
  readonly jobs: Jobs;
}

export interface JobCheck {
  readonly name: string;
  /** `slowness`: 1, and more where the machine was too slow for it before. */
  run(opened: OpenedJobs, slowness: number): Promise<void>;
}
