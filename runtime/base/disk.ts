import { open, rename, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

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

/** `ENOSPC`; empty: it is no error of the system. */
export function codeOf(error: unknown): string {
  const code = String((error as { code?: unknown } | undefined)?.code ?? '');
  return /^E[A-Z0-9]+$/.test(code) ? code : '';
}

export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
}

/** What outsiders may read of an error of the disk: its code. Its text names paths of this machine. */
export function diskReason(error: unknown): string {
  const code = codeOf(error);
  return code === '' ? 'the server met trouble of its own' : `the disk says ${code}`;
}

/** Opens a file or a folder, writes the bytes if there are any, and brings it to the disk. */
export async function synced(
  path: string,
  { flags, mode, bytes }: { flags: string; mode?: number; bytes?: Uint8Array },
): Promise<void> {
  const handle = await open(path, flags, mode);
  try {
    if (bytes) await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces a small file. When it resolves the new one is on disk; a crash before leaves the old one or the new. */
export async function writeWhole(
  folder: string,
  { name, mode = 0o640, bytes }: { name: string; mode?: number; bytes: Uint8Array },
): Promise<void> {
  const path = join(folder, name);
  await synced(`${path}.new`, { flags: 'w', mode, bytes });
  await rename(`${path}.new`, path);
  // Makes the name lasting.
  await synced(folder, { flags: 'r' });
}
