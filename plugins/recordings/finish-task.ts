import { Fault, hasCode } from '../../core/base/fault.ts';
import { derivedId } from '../../core/base/ids.ts';
import type { Recording } from '../../machines/recording.ts';
import { type AssetFile, specOf } from '../assets/contract.ts';
import { type TaskKind, tasks } from '../tasks/contract.ts';
import type { RecordingsKit } from './config.ts';

/** How long after `giveUp` the task of a recording waits for its end, ms: the recording may have ended without an event. */
const taskWait = 3_600_000;

/**
 * The finishing of a recording, shown as a task. It follows what the recording does and decides nothing: a recording is finished
 * also where its account has as many tasks as it may have, and when its task was cancelled. It runs until it ends, also between
 * tries: they go on for a day, and nobody wants to hear of each.
 */
export function finishTask(recording: Recording, kit: RecordingsKit) {
  const { sessionId, account, name, assetId: outputAssetId, createdByTokenName, giveUp } = recording;
  const id = taskIdOf(sessionId);
  const all = kit.use(tasks);
  const spawn = async (): Promise<void> => {
    const deadline = kit.clock.now() + giveUp + taskWait;
    const lateMessage = 'The recording was not finished in time.';
    const by = createdByTokenName === '' ? {} : { createdByTokenName };
    const params = { sessionId };
    const given = { id, account, type: 'recording' as const, name, outputAssetId, params, ...by };
    await all.spawn({ ...given, deadline, lateMessage }).catch((error: unknown) => {
      if (!hasCode(error, 'task.too_many')) throw error;
    });
  };
  return {
    /** Repeating it is harmless, as with all of these. */
    async begin() {
      await spawn();
      await all.begin(id, workId);
    },
    async fail(message: string) {
      // It may be that nobody could begin it so far.
      await all.begin(id, workId);
      await all.fail(id, { workId, message });
    },
    complete(file: AssetFile) {
      const output = { assetSpec: { name, ...specOf(file) }, videoFilePath: file.video.key };
      return all.complete(id, output);
    },
  };
}

/** Nobody but the recording itself tries again. */
export const recordingTasks: TaskKind = {
  type: 'recording',
  async renew() {
    const message = 'A recording is tried to be finished for as long as there is hope; it cannot be retried.';
    throw new Fault('task.not_possible', { status: 409, message });
  },
};

export function taskIdOf(sessionId: string): string {
  return derivedId(`recording of session ${sessionId}`);
}

/** One job at a time finishes a recording. */
const workId = 'finish';
