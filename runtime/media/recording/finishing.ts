import { existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import type { Blobs, BlobUpload } from '../../../core/ports/blobs.ts';
import type { FinishedTake } from '../../../core/ports/recorder.ts';
import type { GrowingUploads } from './growing-uploads.ts';
import type { RecorderLimits } from './limits.ts';
import { type RecorderLink, recordingFault } from './recorder-link.ts';
import type { Take } from './take.ts';
import type { SealedTake } from './take-meta.ts';
import { codeOf } from './trouble.ts';

interface FinishingOptions {
  readonly blobs: Blobs;
  readonly link: RecorderLink;
  readonly uploads: GrowingUploads;
  readonly limits: RecorderLimits;
  readonly signal: AbortSignal;
}

/**
 * Makes blobs of a take. Each step finds out whether a former process did it: the file is complete and hashed (`sealed` in
 * take.json), then there are blobs, then the answer is kept (`finished` in take.json), and only then it is given.
 */
export async function finishTake(take: Take, options: FinishingOptions): Promise<FinishedTake | undefined> {
  const { link: thread, signal } = options;
  if (take.meta.finished) return take.meta.finished;
  take.isEnding = true;
  take.isFed = false;
  const sealed = take.meta.sealed ?? (await thread.call('seal', take.number));
  if (!sealed) return undefined;
  take.meta = { ...take.meta, sealed };
  signal.throwIfAborted();
  await storeVideo(take, { ...options, sealed });
  const { keys } = take;
  await adoptCopy(take.file('head'), { ...options, key: keys.head, size: sealed.head.size });
  await adoptCopy(take.file('index'), { ...options, key: keys.index, size: sealed.index.size });
  const finished: FinishedTake = {
    video: { key: keys.video, ...sealed.video },
    head: { key: keys.head, ...sealed.head },
    index: { key: keys.index, ...sealed.index },
    spec: sealed.spec,
    startedAt: sealed.startedAt,
    gaps: take.meta.gaps,
  };
  // The answer survives a death of this process because it is on disk before it is given.
  await thread.call('save', { take: take.number, fields: { finished } });
  take.meta = { ...take.meta, finished };
  return finished;
}

async function storeVideo(take: Take, options: FinishingOptions & { sealed: SealedTake }): Promise<void> {
  const { blobs, uploads, limits, signal } = options;
  const { size } = options.sealed.video;
  const isInParts = blobs.adopting === 'copy' && (size > limits.uploadPart || hasUpload(take.meta));
  if (isInParts) await uploads.complete(take, { size, signal });
  else await adoptCopy(take.file('video'), { ...options, key: take.keys.video, size });
}

function hasUpload(meta: { upload?: BlobUpload }): boolean {
  return meta.upload !== undefined;
}

/**
 * Gives the store a second name of the file, so that the first can be read on, and given again should this process die in
 * between. A name is of this take alone, so a blob of the same size is what a former process made of it.
 */
async function adoptCopy(
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
    // This disk knows no second names: what is read of the take ends here.
    await blobs.adopt(key, file, { size, signal });
    return;
  }
  await blobs.adopt(key, second, { size, signal }).finally(() => rm(second, { force: true }));
}

const noLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);
