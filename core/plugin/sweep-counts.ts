import type { Metrics } from '../base/metrics.ts';

/** What was removed, or found: how many, and what it took on disk. */
export interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** Adds up what a sweep removes, and counts it for operators under one name, whichever plugin sweeps. */
export class Removed implements Amount {
  count = 0;
  bytes = 0;

  add(bytes: number): void {
    this.count += 1;
    this.bytes += bytes;
  }
}

/**
 * Counts what sweeps removed because nothing needed it any more. `what` is a word of the program: `blobs`, `uploads` (unfinished
 * ones of the blob store), `takes`, `spools`.
 */
export function countRemoved(metrics: Metrics, what: string): (amount: Amount) => void {
  const labels = { what };
  const removed = metrics
    .counter(
      'millrace_sweep_removed_total',
      'Files that sweeps removed because nothing needed them any more.',
    )
    .with(labels);
  const bytes = metrics
    .counter('millrace_sweep_removed_bytes_total', 'Bytes of the files that sweeps removed.')
    .with(labels);
  return (amount) => {
    removed.add(amount.count);
    bytes.add(amount.bytes);
  };
}
