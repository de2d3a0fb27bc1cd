import type { Clock } from '../../../core/ports/clock.ts';
import type { Tasks } from '../../tasks/contract.ts';
import { assetLimits } from '../limits.ts';

/** How much of the whole the sending is; the rest is to look into the file and to store it. */
const sending = 0.95;

/**
 * Stores how far an upload is, as often as the limit allows, and notices in doing so that nobody wants it any more. What cannot
 * be stored just now is stored the next time.
 */
export function progressOf(
  upload: { readonly taskId: string; readonly workId: string; readonly expected: number | undefined },
  options: { readonly tasks: Tasks; readonly clock: Clock; unwanted(): void },
): (bytes: number) => void {
  const { taskId, workId, expected } = upload;
  const { tasks, clock, unwanted } = options;
  let storedAt = clock.now();
  let isStoring = false;
  return (bytes) => {
    const now = clock.now();
    if (isStoring || now - storedAt < assetLimits.progressPause) return;
    isStoring = true;
    storedAt = now;
    // Where no length is said there is nothing to compare with; it is told all the same that somebody is at work.
    const progress = expected ? Math.min(1, bytes / expected) * sending : 0;
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
