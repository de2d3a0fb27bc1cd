import { existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { GrowingUploads } from './growing-uploads.ts';
import type { RecorderLimits } from './limits.ts';
import { recordingFault } from './recorder-link.ts';
import type { Take } from './take.ts';
import type { SealedTake } from './take-meta.ts';
import { codeOf } from './trouble.ts';

/** The file of a take becomes a blob: by the parts that are there already, or as a whole. */
export async function storeVideo(
  take: Take,
  options: {
    blobs: Blobs;
    uploads: GrowingUploads;
    limits: RecorderLimits;
    sealed: SealedTake;
    signal: AbortSignal;
  },
): Promise<void> {
  const { blobs, uploads, limits, signal } = options;
  const { size } = options.sealed.video;
  const isInParts = blobs.adopting === 'copy' && (size > limits.uploadPart || take.meta.upload !== undefined);
  if (isInParts) await uploads.complete(take, { size, signal });
  else await adoptCopy(take.file('video'), { ...options, key: take.keys.video, size });
}

/**
 * Gives the store a second name of the file, so that the first can be read on, and given again should this process die in
 * between. A name is of this take alone, so a blob of the same size is what a former process made of it.
 */
export async function adoptCopy(
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
