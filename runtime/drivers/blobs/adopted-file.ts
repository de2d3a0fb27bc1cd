import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { wrongLength } from '../../../core/blobs/faults.ts';
import { onDisk } from './fs/disk.ts';

/** Looks at a file of this machine that is to be adopted. */
export async function adoptedFile(path: string, { size }: { size: number | undefined }): Promise<Stats> {
  const its = await onDisk(path, lstat(path));
  if (!its.isFile()) throw new RangeError(`${path} is not a file`);
  if (size !== undefined && its.size !== size)
    throw wrongLength(`${path} has ${its.size} bytes, not ${size}`);
  return its;
}
