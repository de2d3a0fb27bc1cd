import { randomUUID } from 'node:crypto';
import { link, mkdir, realpath, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ownMark } from '../../../base/process-mark.ts';
import { startFault } from '../faults.ts';
import { piecesOf } from '../source.ts';
import { codeOf } from './disk.ts';
import { Scratch } from './scratch.ts';
import { syncFolder, Tree } from './tree.ts';

export interface OpenedFolder {
  readonly tree: Tree;
  readonly scratch: Scratch;
}

/**
 * Makes the folder when it is missing and finds out whether the disk can do what blobs need: be written to, synced and
 * linked. Fault `blobs.folder` names what it cannot.
 */
export async function openFolder(folder: string): Promise<OpenedFolder> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    const root = await realpath(folder);
    const scratchFolder = join(root, '.scratch');
    await mkdir(scratchFolder, { recursive: true, mode: 0o750 });
    await syncFolder(root);
    const temporary = new Scratch(scratchFolder, { mark: await ownMark() });
    const file = await temporary.write(piecesOf(new Uint8Array(1), {}));
    const second = `${file.path}.${randomUUID()}`;
    await link(file.path, second).finally(() => unlink(file.path));
    await unlink(second);
    await temporary.sweep();
    return { tree: new Tree(root), scratch: temporary };
  } catch (error) {
    const why = (error as { problems?: string[] }).problems?.[0] ?? codeOf(error);
    if (why === '') throw error;
    throw startFault('blobs.folder', {
      message: `the folder of blobs ${folder} cannot be used: ${why}; it must be a folder that this process may write to, on a disk that knows hard links`,
      cause: error,
    });
  }
}
