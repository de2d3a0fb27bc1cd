import type { Store } from '../../../core/ports/store.ts';

export interface OpenedStore {
  readonly store: Store;
  /**
   * Closes the store and opens its data again, as the next process would. For a driver whose data ends with
   * it: the same store, which must then behave as after a take-over.
   */
  reopen(): Promise<Store>;
  close(): Promise<void>;
}

/** One promise of the port. A list instead of bare tests, so that a test can show that a broken driver fails. */
export interface Check {
  readonly name: string;
  run(opened: OpenedStore): Promise<void>;
}
