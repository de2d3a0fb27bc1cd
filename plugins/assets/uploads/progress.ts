import type { Clock } from '../../../core/ports/clock.ts';
import type { Tasks } from '../../tasks/contract.ts';
import { assetLimits } from '../limits.ts';

/**
 * Stores how far an upload is, as often as the limit allows, and notices in doing so that nobody wants it any more. What cannot
 * be stored just now is stored the next time.
 */
export function progressOf(
  upload: {
    readonly taskId: string;
    readonly workId: string;
    /** Of what is counted, if that is known. */
    readonly expected: number | undefined;
    /** How much of the whole is done before it, and after it. */
    readonly from?: number;
    readonly to: number;
  },
  options: { readonly tasks: Tasks; readonly clock: Clock; unwanted(): void },
): (count: number) => void {
  const { taskId, workId, expected, from = 0, to } = upload;
  const { tasks, clock, unwanted } = options;
  let storedAt = clock.now();
  let isStoring = false;
  return (count) => {
    const now = clock.now();
    if (isStoring || now - storedAt < assetLimits.progressPause) return;
    isStoring = true;
    storedAt = now;
    // Where no length is said there is nothing to compare with; it is told all the same that somebody is at work.
    const progress = from + (expected ? Math.min(1, count / expected) * (to - from) : 0);
    tasks
      .progress(taskId, { workId, progress })
      .then(
        (isWanted) => isWanted || unwanted(),
        () => {},
      )
      .finally(() => {
        isStoring = false;
      });
  };
}
