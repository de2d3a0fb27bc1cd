import { regularly } from '../../core/base/timing.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { countRemoved, Removed } from '../../core/plugin/sweep-counts.ts';
import type { RecordingFileState } from '../../core/ports/recorder.ts';
import type { RecordingsKit } from './config.ts';
import { isUnfinished, recordingOf } from './recording.ts';

/** Time between two sweeps, ms. */
const interval = 600_000;
/** How long nothing was written to a recording file that belongs to no unfinished recording before it is suspected, ms. */
const leftAlone = 3_600_000;

/** Removes what recordings have left on this node: at the start and regularly. */
export function sweeping(kit: RecordingsKit): Stop {
  return regularly(interval, {
    clock: kit.clock,
    work: sweeper(kit),
    failed: (error) =>
      kit.log.warn('recording files could not be swept; the next sweep tries again', { error }),
  });
}

/**
 * Drops recording files that belong to no unfinished recording: of a session that never played, of a recording that failed,
 * or that was finished while this node was away. Only what two sweeps in a row found so is dropped: at the start the
 * events of what happened before may still be on their way.
 */
function sweeper(kit: RecordingsKit): (signal: AbortSignal) => Promise<void> {
  const { log } = kit;
  const recorder = kit.use(services.recorder);
  const count = countRemoved(kit.metrics, 'takes');
  let suspects: ReadonlySet<string> = new Set();
  return async (signal) => {
    const next = new Set<string>();
    const removed = new Removed();
    for (const take of await recorder.files()) {
      if (signal.aborted) return;
      const { sessionId, bytes } = take;
      if (await isNeeded(take, kit)) continue;
      next.add(sessionId);
      if (!suspects.has(sessionId)) continue;
      try {
        await recorder.drop(sessionId);
      } catch (error) {
        log.warn('a recording file of no recording could not be removed', { sessionId, error });
        continue;
      }
      removed.add(bytes);
      count({ count: 1, bytes });
      log.info('a recording file of no recording was removed', { sessionId, bytes });
    }
    suspects = next;
    const done = { removed: { takes: removed }, suspected: next.size - removed.count };
    log[next.size === 0 ? 'debug' : 'info']('recording files were swept', done);
  };
}

async function isNeeded(
  { sessionId, isFed, writtenAt }: RecordingFileState,
  { clock, resources }: RecordingsKit,
): Promise<boolean> {
  if (isFed || clock.now() - writtenAt <= leftAlone) return true;
  const recording = await recordingOf(sessionId, resources);
  return recording !== undefined && isUnfinished(recording);
}
