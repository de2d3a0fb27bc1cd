import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../core/base/log.ts';
import type { RecorderLimits } from './limits.ts';
import { readMeta, spoolFiles, spoolName, type TakeMeta } from './take-meta.ts';
import { codeOf } from './trouble.ts';

export interface FoundTake {
  readonly meta: TakeMeta;
  readonly bytes: number;
  /** Epoch ms. */
  readonly writtenAt: number;
}

/**
 * What a former process left. A spool that nobody can make sense of is moved to `.aside`, whole, and told: it may hold the
 * only copy of a broadcast. One that cannot even be moved is told and passed over. What was being joined is made anew from its
 * parts, so that goes, and so does a spool without anything.
 */
export async function findTakes(
  folder: string,
  { log, limits }: { log: Log; limits: RecorderLimits },
): Promise<FoundTake[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter((one) => one.startsWith(joinMark))) {
    await rm(join(folder, name), { recursive: true, force: true });
  }
  const waiting = names.filter((name) => !name.startsWith('.')).sort();
  const found: FoundTake[] = [];
  const work = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (await isBare(join(folder, name))) continue;
      const take = await look(join(folder, name), { name, limits }).catch(async (error: unknown) => {
        await setAside(folder, name).then(
          (to) => log.error('a recording cannot be read and was moved aside', { error, to }),
          // Such as `lost+found` of a disk of its own: nothing in there may keep the server from starting.
          (why: unknown) =>
            log.error('a recording cannot be read or moved aside', { error, name, why: String(why) }),
        );
        return undefined;
      });
      if (take) found.push(take);
    }
  };
  await Promise.all(Array.from({ length: limits.read }, work));
  return found.sort((a, b) => (spoolName(a.meta) < spoolName(b.meta) ? -1 : 1));
}

/** One that was just being made, or was all but removed: nothing was ever written to it, or is any more. Such a one goes. */
async function isBare(spool: string): Promise<boolean> {
  const names = await readdir(spool).catch(() => undefined);
  if (!names?.every((name) => name === `${spoolFiles.meta}.new`)) return false;
  return rm(spool, { recursive: true, force: true }).then(
    () => true,
    () => false,
  );
}

async function look(
  spool: string,
  { name, limits }: { name: string; limits: RecorderLimits },
): Promise<FoundTake> {
  const meta = await readMeta(spool, { bytes: limits.metaBytes });
  if (spoolName(meta) !== name) throw new Error(`${spool}: take.json is that of session ${meta.sessionId}`);
  const its = await stat(join(spool, spoolFiles.video)).catch(() => undefined);
  return { meta, bytes: its?.size ?? 0, writtenAt: its?.mtimeMs ?? 0 };
}

async function setAside(folder: string, name: string): Promise<string> {
  await mkdir(join(folder, '.aside'), { recursive: true });
  for (let count = 0; ; count++) {
    const to = join(folder, '.aside', count === 0 ? name : `${name}.${count}`);
    const isTaken = await stat(to).then(
      () => true,
      () => false,
    );
    if (isTaken) continue;
    await rename(join(folder, name), to);
    return to;
  }
}

/** Begins the names of spools that are made of others. */
export const joinMark = '.join-';
