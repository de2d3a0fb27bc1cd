import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spoolFiles } from './take-meta.ts';
import { codeOf } from './trouble.ts';

/** Removes the folder of a take. `take.json` goes last, so that a death in between leaves a take to drop again. Throws what the disk says. */
export async function removeSpool(folder: string): Promise<void> {
  for (const name of [spoolFiles.video, spoolFiles.head, spoolFiles.index, spoolFiles.meta]) {
    for (const ending of ['', '.blob', '.new']) await rm(join(folder, name + ending), { force: true });
  }
  await rmdir(folder).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}
