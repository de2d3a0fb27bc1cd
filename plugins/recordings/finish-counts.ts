import type { Metrics } from '../../core/base/metrics.ts';
import type { Finished } from '../../machines/recording.ts';

/** Counts attempts at finishing recordings on this node, by how they ended. */
export function finishCounts(metrics: Metrics): (outcome: Finished['outcome'] | 'trouble') => void {
  const family = metrics.counter(
    'millrace_recordings_finished_total',
    'Attempts at finishing a recording, by how they ended; one that ended as trouble is tried again.',
  );
  for (const outcome of ['ready', 'failed', 'gone', 'trouble']) family.with({ outcome });
  return (outcome) => family.with({ outcome }).add();
}
