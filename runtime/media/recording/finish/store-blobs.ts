import { existsSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import type { Blobs } from '../../../../core/ports/blobs.ts';
import { codeOf } from '../trouble.ts';
import { recordingFault } from '../writing-thread.ts';

/**
 * Makes a blob of a file by a second name (hard link), so that the first can still be read, and adopted again if this process
 * dies in between. The key is of this recording file alone, so a blob of the same size is what a former process made of it.
 */
export async function storeBlob(
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
