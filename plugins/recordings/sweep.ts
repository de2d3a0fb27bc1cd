import { every } from '../../core/every.ts';
import type { RecordingsKit } from './kit.ts';
import { recordingLimitTable } from './limits.ts';
import { isUnfinished, recordingOf } from './recording.ts';

const interval = recordingLimitTable.sweep.value;
const leftAlone = recordingLimitTable.leftAlone.value;

/** Looks for what recordings have left on this node, now and ever again. Returns the stop. */
export function sweeping(kit: RecordingsKit): () => void {
  let isSweeping = false;
  const work = () => {
    if (isSweeping) return;
    isSweeping = true;
    sweepTakes(kit)
      .catch((error: unknown) => kit.log.warn('what recordings have left here could not be swept', { error }))
      .finally(() => {
        isSweeping = false;
      });
  };
  work();
  return every(interval, { clock: kit.clock, work });
}

/**
 * Drops the takes that belong to no recording which is still being made: of a session that never played, of one whose
 * recording has failed, or was finished while this node was away.
 */
async function sweepTakes({ recorder, resources, clock, log, signal }: RecordingsKit): Promise<void> {
  for (const { sessionId, isFed, writtenAt, bytes } of await recorder.takes()) {
    if (signal.aborted) return;
    if (isFed || clock.now() - writtenAt <= leftAlone) continue;
    const recording = await recordingOf(sessionId, resources);
    if (recording && isUnfinished(recording)) continue;
    try {
      await recorder.drop(sessionId);
      log.info('a take that belongs to no recording any more was removed', { sessionId, bytes });
    } catch (error) {
      // The others are none the worse for it.
      log.warn('a take that belongs to no recording any more could not be removed', { sessionId, error });
    }
  }
}
