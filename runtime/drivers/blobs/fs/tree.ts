import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { unavailable } from '../../../../core/blobs/faults.ts';
import { codeOf } from '../../../base/disk.ts';
import { absent, onDisk, unless } from './disk.ts';

/** How often a file is put where others delete the folder as it becomes empty; then it is `blobs.unavailable`. */
const folderRetries = 20;

/** The folders and files that keys stand for, below one real path. */
export class Tree {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /**
   * The folder of a key or prefix, known to lie below the root; undefined when there is none. A key cannot name anything outside
   * (`keyProblem`), but a link could lead there. A user who can replace folders by links after this check can write here anyway.
   */
  async folder(path: string): Promise<string | undefined> {
    const wanted = resolve(this.root, path);
    // What is missing would be made below what is there.
    for (let at = wanted; ; at = dirname(at)) {
      const real = await unless(absent, { what: at, work: realpath(at) });
      if (real === at) return at === wanted ? real : undefined;
      if (real !== undefined) throw unavailable(`${at} leads out of the folder of blobs, to ${real}`);
      if (at === this.root) return undefined;
    }
  }

  /** Gives a complete file its name and makes the name last; takes it from `file`. False: `EEXIST`, and nothing changed. */
  async place(file: string, { key, isNew }: { key: string; isNew: boolean }): Promise<boolean> {
    const to = join(this.root, key);
    const parent = dirname(to);
    for (let attempt = 1; ; attempt++) {
      try {
        if ((await this.folder(dirname(key))) === undefined) await mkdir(parent, { recursive: true });
        await this.folder(dirname(key));
        // Both are atomic: the name is the whole old blob or the whole new one, and of all who link one succeeds.
        await (isNew ? link(file, to) : rename(file, to));
        break;
      } catch (error) {
        if (isNew && codeOf(error) === 'EEXIST') return false;
        const isFolderGone = codeOf(error) === 'ENOENT' && (await succeeds(lstat(file)));
        if (!isFolderGone || attempt === folderRetries) await onDisk(to, Promise.reject(error));
      }
    }
    if (isNew) await unlink(file).catch(() => {});
    // Here the name becomes lasting: until its folder and those above, which may be as new, are synced, loss of power can undo it.
    for (let at = parent; ; at = dirname(at)) {
      await syncFolder(at);
      if (at === this.root) return true;
    }
  }

  /** The file of a key; undefined when there is none. */
  async look(key: string): Promise<BigIntStats | undefined> {
    if ((await this.folder(dirname(key))) === undefined) return undefined;
    const what = join(this.root, key);
    const stats = await unless(absent, { what, work: lstat(what, { bigint: true }) });
    if (stats === undefined || stats.isFile()) return stats;
    throw unavailable(`${what} is not a file`);
  }

  /** Undefined when there is none. The caller closes it. */
  async open(key: string): Promise<FileHandle | undefined> {
    if ((await this.look(key)) === undefined) return undefined;
    const what = join(this.root, key);
    return unless(absent, { what, work: open(what, constants.O_RDONLY | constants.O_NOFOLLOW) });
  }

  /** Removes the name, and the folders that this leaves empty; of a missing name those alone. */
  async remove(key: string): Promise<void> {
    if ((await this.folder(dirname(key))) === undefined) return;
    const what = join(this.root, key);
    // A process that died after this line left the folders to the next that removes the key.
    await unless(absent, { what, work: unlink(what) });
    await syncFolder(dirname(what));
    // It fails when somebody has just put something there.
    for (let at = dirname(what); relative(this.root, at) !== ''; at = dirname(at))
      if (!(await succeeds(rmdir(at)))) return;
  }
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** One that was deleted meanwhile has nothing to sync: it was empty. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await unless(absent, { what: path, work: open(path, constants.O_RDONLY) });
  if (handle === undefined) return;
  try {
    await onDisk(path, handle.sync());
  } finally {
    await handle.close();
  }
}
