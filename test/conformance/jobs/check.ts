import type { Jobs } from '../../../core/ports/jobs.ts';
import type { Store } from '../../../core/ports/store.ts';
import type { SuiteTime } from './time.ts';

/** Both halves of a driver: jobs come and go with the commits of the store. */
export interface OpenedJobs extends Halves {
  readonly time: SuiteTime;
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
  run(opened: OpenedJobs): Promise<void>;
}
