import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a process finds such a file that it was given as file 3. */
export const hiddenPath = process.platform === 'linux' ? '/proc/self/fd/3' : '/dev/fd/3';

/**
 * An open file that holds `text` and has no name any more: nobody but who is given it can read it, and nothing is left when the
 * process dies. While it has a name, for less than a millisecond, only this user can read it.
 */
export async function hiddenFile(text: string): Promise<FileHandle> {
  // Where it is memory that holds it, if there is such a place.
  const folder = await mkdtemp('/dev/shm/millrace-ffmpeg-').catch(() =>
    mkdtemp(join(tmpdir(), 'millrace-ffmpeg-')),
  );
  try {
    const path = join(folder, 'options');
    const written = await open(path, 'wx', 0o600);
    try {
      await written.writeFile(text);
      // Anew: what was written through one handle is read from where that stopped.
      return await open(path, 'r');
    } finally {
      await written.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
