import { constants } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { unavailable } from '../faults.ts';
import { absent, codeOf, onDisk, unless } from './disk.ts';

/** How often a file is put where others delete the folder as it becomes empty; then it is `blobs.unavailable`. */
const folderRetries = 20;

/** The folders and files that keys stand for, below one real path. */
export interface Tree {
  readonly root: string;
  /** Gives a complete file its name and makes the name last; takes it from `file`. False: `EEXIST`, and nothing changed. */
  place(file: string, options: { key: string; isNew: boolean }): Promise<boolean>;
  /** Undefined when there is none. The caller closes it. */
  open(key: string): Promise<FileHandle | undefined>;
  /** Takes the name away, and the folders that it leaves empty; of a name that is gone already those alone. */
  remove(key: string): Promise<void>;
  /** The folder of a key or prefix, known to lie below the root; undefined when there is none. */
  folder(path: string): Promise<string | undefined>;
}

export function tree(root: string): Tree {
  const pathOf = (key: string) => join(root, key);

  /**
   * A key cannot name anything outside (`keyProblem`), but a link that somebody put in the way could lead there. Whoever
   * can replace folders by links between this look and the next call can write here anyway.
   */
  const folder = async (path: string): Promise<string | undefined> => {
    const wanted = resolve(root, path);
    // What is missing would be made below what is there.
    for (let at = wanted; ; at = dirname(at)) {
      const real = await unless(absent, { what: at, work: realpath(at) });
      if (real === at) return at === wanted ? real : undefined;
      if (real !== undefined) throw unavailable(`${at} leads out of the folder of blobs, to ${real}`);
      if (at === root) return undefined;
    }
  };

  const look = async (key: string) => {
    if ((await folder(dirname(key))) === undefined) return undefined;
    const what = pathOf(key);
    const stats = await unless(absent, { what, work: lstat(what, { bigint: true }) });
    if (stats === undefined || stats.isFile()) return stats;
    throw unavailable(`${what} is not a file`);
  };

  return {
    root,
    folder,

    async place(file, { key, isNew }) {
      const to = pathOf(key);
      const parent = dirname(to);
      for (let attempt = 1; ; attempt++) {
        try {
          if ((await folder(dirname(key))) === undefined) await mkdir(parent, { recursive: true });
          await folder(dirname(key));
          // Both are atomic: the name is the whole old blob or the whole new one, and of all who link one succeeds.
          await (isNew ? link(file, to) : rename(file, to));
          break;
        } catch (error) {
          if (isNew && codeOf(error) === 'EEXIST') return false;
          const isFolderGone = codeOf(error) === 'ENOENT' && (await exists(file));
          if (!isFolderGone || attempt === folderRetries) await onDisk(to, Promise.reject(error));
        }
      }
      if (isNew) await unlink(file).catch(() => {});
      // Here the name becomes lasting: until its folder and those above, which may be as new, are synced, loss of power can undo it.
      for (let at = parent; ; at = dirname(at)) {
        await syncFolder(at);
        if (at === root) return true;
      }
    },

    async open(key) {
      if ((await look(key)) === undefined) return undefined;
      const what = pathOf(key);
      return unless(absent, { what, work: open(what, constants.O_RDONLY | constants.O_NOFOLLOW) });
    },

    async remove(key) {
      if ((await folder(dirname(key))) === undefined) return;
      const what = pathOf(key);
      // Who died behind this line left the folders to whoever repeats it.
      await unless(absent, { what, work: unlink(what) });
      await syncFolder(dirname(what));
      // Somebody may just put something there: then it is not empty, or he makes it again.
      for (let at = dirname(what); relative(root, at) !== ''; at = dirname(at)) {
        if (
          !(await rmdir(at).then(
            () => true,
            () => false,
          ))
        )
          return;
      }
    },
  };
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
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
