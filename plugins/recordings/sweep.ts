import { regularly } from '../../core/base/timing.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { countRemoved, Removed } from '../../core/plugin/sweep-counts.ts';
import type { RecordingFileState } from '../../core/ports/recorder.ts';
import type { RecordingsKit } from './kit.ts';
import { recordingLimitTable } from './limits.ts';
import { isUnfinished, recordingOf } from './recording.ts';

const interval = recordingLimitTable.sweep.value;
const leftAlone = recordingLimitTable.leftAlone.value;

/** Looks for what recordings have left on this node, now and ever again. */
export function sweeping(kit: RecordingsKit): Stop {
  return regularly(interval, {
    clock: kit.clock,
    work: sweeper(kit),
    failed: (error) => kit.log.warn('what recordings have left here could not be swept', { error }),
  });
}

/**
 * Drops the takes that belong to no recording which is still being made: of a session that never played, of one whose
 * recording has failed, or was finished while this node was away. Only what two sweeps in a row found so: at the start the
 * news of what happened before may still be on its way.
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
        // The others are none the worse for it.
        log.warn('a take that belongs to no recording any more could not be removed', { sessionId, error });
        continue;
      }
      removed.add(bytes);
      count({ count: 1, bytes });
      log.info('a take that belongs to no recording any more was removed', { sessionId, bytes });
    }
    suspects = next;
    const done = { removed: { takes: removed.told }, suspected: next.size - removed.count };
    log[next.size === 0 ? 'debug' : 'info']('takes of recordings were swept', done);
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
