import { stat, statfs } from 'node:fs/promises';

/** A disk, as it stands. */
export interface DiskState {
  /** Bytes that this process may still write. */
  readonly free: number;
  /** Bytes in all. */
  readonly size: number;
  /** The same for all folders on one disk. */
  readonly device: number;
}

/** How the disk of a folder stands. Throws what the system says. */
export type DiskLook = (folder: string) => Promise<DiskState>;

/** Asks the system, on a thread of the runtime: a disk that hangs keeps nobody else waiting. */
export const lookAtDisk: DiskLook = async (folder) => {
  const [{ bavail, blocks, bsize }, { dev }] = await Promise.all([statfs(folder), stat(folder)]);
  return { free: bavail * bsize, size: blocks * bsize, device: dev };
};

/** What outsiders may read of an error of the disk: its code. Its text names paths of this machine. */
export function diskReason(error: object): string {
  const { code } = error as { readonly code?: unknown };
  const isTold = typeof code === 'string' && /^E[A-Z0-9]+$/.test(code);
  return isTold ? `the disk says ${code}` : 'the server met trouble of its own';
}
