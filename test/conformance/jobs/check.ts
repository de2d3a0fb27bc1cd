import type { Jobs } from '../../../core/ports/jobs.ts';
import type { Store } from '../../../core/ports/store.ts';

/** Both halves of a driver: jobs come and go with the commits of the store. */
export interface OpenedJobs {
  readonly store: Store;
  readonly jobs: Jobs;
  /** Closes both and opens their data again; for data that ends with them, the same two. */
  reopen(): Promise<Omit<OpenedJobs, 'reopen' | 'close'>>;
  close(): Promise<void>;
}

export interface JobCheck {
  readonly name: string;
  run(opened: OpenedJobs): Promise<void>;
}
