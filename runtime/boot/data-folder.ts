import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';

/** Failures of the disk, which a later start may not have. Everything else is mended by a person. */
const passing = new Set(['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE']);

/**
 * Makes the folder of the data where it is missing, for its owner alone: it holds keys. Throws a Fault `config.invalid` that
 * says why it cannot be made or written to, and what to do; `store.open` where the disk has failed.
 */
export async function prepareDataFolder(dataDir: string): Promise<void> {
  const folder = resolve(dataDir);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (passing.has(code))
      throw new Fault('store.open', { status: 500, message: `dataDir: ${message}`, cause: error });
    const why = await reason(folder, { code, message });
    throw new Fault('config.invalid', { status: 500, message: `dataDir: ${why}`, cause: error });
  }
}

/** Says so when other users of the machine may look into the folder. It is not changed: somebody may have meant it so. */
export async function noteOpenFolder(dataDir: string, { log }: { log: Pick<Log, 'warn'> }): Promise<void> {
  const folder = resolve(dataDir);
  const mode = await stat(folder).then(
    (found) => found.mode & 0o777,
    () => 0,
  );
  if ((mode & 0o077) === 0) return;
  log.warn('other users of this machine can read the data: run chmod -R go= on the folder', {
    ...{ folder, mode: mode.toString(8).padStart(4, '0') },
  });
}

async function reason(folder: string, { code, message }: { code: string; message: string }): Promise<string> {
  const there = await nearestThere(folder);
  const what = there === folder ? `${folder} cannot be used` : `${folder} cannot be made`;
  const other = 'or set dataDir (MILLRACE_DATA_DIR) to a folder that the server may write to';
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      // By its number: in containers a user often has no name.
      return `${what}: the server runs as user ${process.getuid?.()}, who may not write to ${there}. Give that user the folder (as root: mkdir -p ${folder} && chown ${process.getuid?.()} ${folder}), ${other}`;
    case 'EROFS':
      return `${what}: ${there} is on a file system that is mounted read-only. Mount it writable, ${other}`;
    case 'EEXIST':
    case 'ENOTDIR':
      return `${what}: ${there} is a file, and a folder was expected. Move the file away, ${other}`;
    default:
      return `${what} (${message}). Make it by hand to see why, ${other}`;
  }
}

/** The folder itself or the nearest above it that exists. */
async function nearestThere(folder: string): Promise<string> {
  let path = folder;
  while (path !== dirname(path)) {
    const isThere = await stat(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
    path = dirname(path);
  }
  return path;
}
