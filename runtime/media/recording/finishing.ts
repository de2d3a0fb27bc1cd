import type { FinishedTake } from '../../../core/ports/recorder.ts';
import { finishRenditions, type RenditionOptions } from './finishing-renditions.ts';
import type { Take } from './take.ts';
import { adoptCopy, storeVideo } from './take-blobs.ts';

/**
 * Makes blobs of a take and of its renditions. Each step finds out whether a former process did it: the file is complete and hashed
 * (`sealed` in take.json), then there are blobs, then the answer is kept (`finished` in take.json), and only then it is given.
 *
 * @param options `renditions`: those that can be had `renditionWait` after the blobs of the source are in the answer, the others
 *   never
 */
export async function finishTake(
  take: Take,
  options: RenditionOptions & { renditions: readonly Take[] },
): Promise<FinishedTake | undefined> {
  const { link: thread, clock, limits, log, signal, renditions } = options;
  if (take.meta.finished) return take.meta.finished;
  take.isEnding = true;
  take.isFed = false;
  const sealed = take.meta.sealed ?? (await thread.call('seal', take.number));
  if (!sealed) return undefined;
  const { head, spec, startedAt } = sealed;
  if (!head || !spec || startedAt === undefined) throw new Error(`${take.folder} was sealed as a rendition`);
  take.meta = { ...take.meta, sealed };
  signal.throwIfAborted();
  const patience = new AbortController();
  const beside = finishRenditions(renditions, {
    ...options,
    signal: AbortSignal.any([signal, patience.signal]),
  });
  const { keys } = take;
  try {
    await storeVideo(take, { ...options, sealed });
    await adoptCopy(take.file('head'), { ...options, key: keys.head, size: head.size });
    const cancel = clock.at(clock.now() + limits.renditionWait, () => {
      log.warn('a recording does without renditions that are not stored in time', {
        sessionId: take.meta.sessionId,
      });
      patience.abort(late);
    });
    await beside.over;
    cancel();
  } finally {
    patience.abort(late);
  }
  signal.throwIfAborted();
  // Last, because renditions are put beside it, and a disk without second names gives it away.
  await adoptCopy(take.file('index'), { ...options, key: keys.index, size: sealed.index.size });
  const finished: FinishedTake = {
    video: { key: keys.video, ...sealed.video },
    head: { key: keys.head, ...head },
    index: { key: keys.index, ...sealed.index },
    ...{ spec, startedAt },
    gaps: take.meta.gaps,
    ...(beside.made.length > 0 && { renditions: beside.made }),
  };
  // The answer survives a death of this process because it is on disk before it is given.
  await thread.call('save', { take: take.number, fields: { finished } });
  take.meta = { ...take.meta, finished };
  return finished;
}

const late = new Error('the recording waits for its renditions no longer');
