/** What was downloaded or built, kept for every checkout of this user. */
import { Database } from 'bun:sqlite';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Longest wait for another run that builds the same, ms. */
const buildWithin = 900_000;

/** `${XDG_CACHE_HOME:-~/.cache}/millrace/engines` */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace/engines');
}

/**
 * A folder of the cache that is either complete or not there: `build` fills a folder beside it, which then takes its
 * name. Of several runs at once one builds, and the others wait for it.
 */
export async function cached(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const root = cacheFolder();
  const folder = join(root, name);
  if (existsSync(folder)) return folder;
  mkdirSync(root, { recursive: true });
  using _ = await lock(join(root, `.${name}.lock`));
  if (existsSync(folder)) return folder;
  const unfinished = join(root, `.${name}.unfinished`);
  // Of a run that was killed. Nobody else is at it: we have the lock.
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  try {
    await build(unfinished);
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

/** A write lock on an SQLite file: the kernel lets go of it however its holder ends, so there are no stale ones. */
async function lock(path: string): Promise<Disposable> {
  const file = new Database(path, { create: true });
  const deadline = performance.now() + buildWithin;
  for (;;) {
    try {
      file.run('BEGIN EXCLUSIVE');
      return { [Symbol.dispose]: () => file.close() };
    } catch (error) {
      if (!/locked|busy/i.test(String(error)) || performance.now() > deadline) {
        file.close();
        throw error;
      }
      await Bun.sleep(200);
    }
  }
}
