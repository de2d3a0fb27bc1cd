import { existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import type { Log } from '../../../../core/base/log.ts';
import { pause } from '../../../../core/base/timing.ts';
import type { Blobs } from '../../../../core/ports/blobs.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { FinishedRecording, FinishedRendition } from '../../../../core/ports/recorder.ts';
import { codeOf } from '../../../base/disk.ts';
import type { SealedFile } from '../meta.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { RecorderSettings } from '../settings.ts';
import { recordingFault, type WritingThread } from '../writing-thread.ts';
import { type MultipartUploads, uploadAttempts } from './multipart-uploads.ts';

export interface FinishOptions {
  readonly blobs: Blobs;
  readonly thread: WritingThread;
  readonly uploads: MultipartUploads;
  readonly clock: Clock;
  readonly settings: RecorderSettings;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Makes blobs of a recording file and of its renditions. Each step finds out whether a former process did it: the file is
 * complete and hashed (`sealed` in take.json), there are blobs, the answer is saved (`finished` in take.json), and only then it
 * is given. Renditions that are stored within `renditionWait` after the blobs of the source are in the answer, the others never.
 */
export async function finishRecording(
  file: RecordingFile,
  options: FinishOptions & { renditions: readonly RecordingFile[] },
): Promise<FinishedRecording | undefined> {
  const { thread, clock, settings, log, signal, renditions } = options;
  if (file.meta.finished) return file.meta.finished;
  const sealed = await seal(file, thread);
  if (!sealed) return undefined;
  const { head, spec, startedAt } = sealed;
  if (!head || !spec || startedAt === undefined) throw new Error(`${file.folder} was sealed as a rendition`);
  signal.throwIfAborted();
  const { keys } = file;
  const late = new AbortController();
  const beside = { ...options, signal: AbortSignal.any([signal, late.signal]) };
  try {
    const stored = Promise.all(renditions.map((rendition) => storeRendition(rendition, beside)));
    await storeVideo(file, { ...options, sealed });
    await storeBlob(file.path('head'), { ...options, key: keys.head, size: head.size });
    const due = pause(clock.now() + settings.renditionWait, { clock, signal: beside.signal });
    const isLate = await Promise.race([stored.then(() => false), due.then(() => true)]);
    signal.throwIfAborted();
    if (isLate) {
      const { sessionId } = file.meta;
      log.warn('a recording is finished without renditions that were not stored in time', { sessionId });
    }
  } finally {
    late.abort(new Error('the recording no longer waits for its renditions'));
  }
  const made = renditions.flatMap(({ meta }) => meta.made ?? []);
  // Last, because renditions are put beside it, and on a disk without hard links it is gone afterwards.
  await storeBlob(file.path('index'), { ...options, key: keys.index, size: sealed.index.size });
  const finished: FinishedRecording = {
    video: { key: keys.video, ...sealed.video },
    head: { key: keys.head, ...head },
    index: { key: keys.index, ...sealed.index },
    ...{ spec, startedAt },
    gaps: file.meta.gaps,
    ...(made.length > 0 && { renditions: made }),
  };
  // The answer is on disk before it is given, so it survives a crash of this process.
  await thread.call('save', { file: file.number, fields: { finished } });
  file.meta = { ...file.meta, finished };
  return finished;
}

/** Nothing more is added to the file, and its hash is known. Undefined: it holds no media. */
async function seal(file: RecordingFile, thread: WritingThread): Promise<SealedFile | undefined> {
  file.isEnding = true;
  file.endFeed();
  const sealed = file.meta.sealed ?? (await thread.call('seal', file.number));
  if (sealed) file.meta = { ...file.meta, sealed };
  return sealed;
}

/** Large files that the store would copy go in parts, most of which are there already. */
async function storeVideo(
  file: RecordingFile,
  options: FinishOptions & { sealed: SealedFile },
): Promise<void> {
  const { blobs, uploads, settings, signal } = options;
  const { size } = options.sealed.video;
  const isInParts =
    blobs.adopting === 'copy' && (size > settings.uploadPart || file.meta.upload !== undefined);
  if (isInParts) await uploads.complete(file, { size, signal });
  else await storeBlob(file.path('video'), { ...options, key: file.keys.video, size });
}

/** Sets `made` of the rendition, unless it fails or the signal is aborted. Never rejects. */
function storeRendition(file: RecordingFile, options: FinishOptions): Promise<void> {
  const { clock, settings, log, signal } = options;
  const work = async () => {
    // Its last segments are still encoded.
    const due = clock.now() + settings.renditionEnd;
    const waiting = new AbortController();
    await Promise.race([
      file.unfed,
      pause(due, { clock, signal: AbortSignal.any([signal, waiting.signal]) }),
    ]);
    waiting.abort();
    const { sessionId, rendition } = file.meta;
    for (let attempt = 1; attempt <= uploadAttempts && !signal.aborted; attempt++) {
      try {
        return await finishRendition(file, options);
      } catch (error) {
        if (signal.aborted) return;
        const isLast = attempt === uploadAttempts;
        const what = isLast
          ? 'a recording lacks one of its renditions'
          : 'a rendition could not be stored yet';
        log.warn(what, { sessionId, rendition: rendition?.name, error });
        if (!isLast) await pause(clock.now() + settings.uploadWait, { clock, signal });
      }
    }
  };
  // Removing the rendition waits for this, however late it is.
  file.working = file.working.then(work);
  return file.working;
}

async function finishRendition(file: RecordingFile, options: FinishOptions): Promise<void> {
  const { thread, signal } = options;
  if (file.meta.made) return;
  const sealed = await seal(file, thread);
  if (!sealed?.rendition) return;
  signal.throwIfAborted();
  await storeVideo(file, { ...options, sealed });
  const { keys } = file;
  await storeBlob(file.path('index'), { ...options, key: keys.index, size: sealed.index.size });
  const made: FinishedRendition = {
    name: file.meta.rendition?.name ?? '',
    video: { key: keys.video, ...sealed.video },
    index: { key: keys.index, ...sealed.index },
    ...sealed.rendition,
  };
  await thread.call('save', { file: file.number, fields: { made } });
  file.meta = { ...file.meta, made };
}

/**
 * Makes a blob of a file by a second name (hard link), so that the first can still be read, and adopted again if this process
 * dies in between. The key is of this recording file alone, so a blob of the same size is what a former process made of it.
 */
async function storeBlob(
  file: string,
  options: { blobs: Blobs; key: string; size: number; signal: AbortSignal },
): Promise<void> {
  const { blobs, key, size, signal } = options;
  if (blobs.adopting === 'copy' || !existsSync(file)) {
    if ((await blobs.head(key))?.size === size) return;
  }
  const second = `${file}.blob`;
  try {
    await rm(second, { force: true });
    await link(file, second);
  } catch (error) {
    const code = codeOf(error);
    if (!noLinks.has(code)) throw recordingFault({ message: `${file}: ${String(error)}`, code });
    // This disk has no hard links, so the file can no longer be read here.
    await blobs.adopt(key, file, { size, signal });
    return;
  }
  await blobs.adopt(key, second, { size, signal }).finally(() => rm(second, { force: true }));
}

const noLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);
