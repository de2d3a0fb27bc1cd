import type { Fault } from '../../../../core/base/fault.ts';
import { busy, denied, full, tooLarge, unavailable } from '../../../../core/blobs/faults.ts';
import { codeOf, isDiskFull } from '../../../base/disk.ts';

/** Awaits what the disk does. Its errors become Faults that say what failed; a mistake of ours stays what it is. */
export async function onDisk<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw diskFault(error, what) ?? error;
  }
}

/** The same, with `undefined` for errors that are an answer: `ENOENT`, `EEXIST`. */
export async function unless<T>(
  codes: readonly string[],
  options: { what: string; work: Promise<T> },
): Promise<T | undefined> {
  try {
    return await options.work;
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw diskFault(error, options.what) ?? error;
  }
}

/** A path that leads through what is no folder leads nowhere. */
export const absent: readonly string[] = ['ENOENT', 'ENOTDIR'];

function diskFault(error: unknown, what: string): Fault | undefined {
  const code = codeOf(error);
  if (code === '') return undefined;
  const message = `${what}: ${code}`;
  if (isDiskFull(error)) return full(`${message}, the disk is full`, error);
  if (code === 'EFBIG') return tooLarge(`${message}, the disk takes no file as large`, error);
  if (code === 'EMFILE' || code === 'ENFILE') return busy(`${message}, too many files are open`, error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return denied(message, error);
  return unavailable(message, error);
}
