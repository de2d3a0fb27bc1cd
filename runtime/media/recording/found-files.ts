import { mkdir, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../core/base/log.ts';
import { codeOf } from '../../base/disk.ts';
import { fileNames, folderName, joinMark, parseMeta, type RecordingMeta } from './meta.ts';

export interface FoundFile {
  readonly meta: RecordingMeta;
  readonly bytes: number;
  /** Epoch ms. */
  readonly writtenAt: number;
}

/**
 * What a former process left. A folder that makes no sense is moved to `.aside` as a whole and logged: it may hold the only copy
 * of a broadcast. What was being joined is removed, because it is made anew from its parts, and so are empty folders.
 */
export async function findFiles(folder: string, log: Log): Promise<FoundFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const found: FoundFile[] = [];
  for (const name of names.sort()) {
    const path = join(folder, name);
    if (name.startsWith(joinMark)) await rm(path, { recursive: true, force: true });
    if (name.startsWith('.') || (await wasEmpty(path))) continue;
    try {
      found.push(await look(path, name));
    } catch (error) {
      await setAside(folder, name).then(
        (to) => log.error('a recording cannot be read and was moved aside', { error, to }),
        // Such as `lost+found` of a disk: the server starts without it.
        (why: unknown) =>
          log.error('a recording cannot be read or moved aside', { error, name, why: String(why) }),
      );
    }
  }
  return found;
}

/** Removes a folder in which nothing was written yet, or all but its removal was done. */
async function wasEmpty(path: string): Promise<boolean> {
  const names = await readdir(path).catch(() => undefined);
  if (!names?.every((name) => name === `${fileNames.meta}.new`)) return false;
  return rm(path, { recursive: true, force: true }).then(
    () => true,
    () => false,
  );
}

async function look(path: string, name: string): Promise<FoundFile> {
  const metaPath = join(path, fileNames.meta);
  const videoPath = join(path, fileNames.video);
  const its = await stat(videoPath).catch(() => undefined);
  // To open a named pipe would wait for a writer that never comes.
  for (const [file, stats] of [
    [metaPath, await stat(metaPath)],
    [videoPath, its],
  ] as const)
    if (stats && !stats.isFile()) throw new Error(`${file} is not a regular file`);
  const meta = parseMeta(await readFile(metaPath, 'utf8'), metaPath);
  if (folderName(meta) !== name) throw new Error(`${path}: take.json is that of session ${meta.sessionId}`);
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

/** Removes the folder of a recording file, `take.json` last, so that a crash leaves a file to drop again. */
export async function removeFolder(folder: string): Promise<void> {
  for (const name of [fileNames.video, fileNames.head, fileNames.index, fileNames.meta]) {
    for (const ending of ['', '.blob', '.new']) await rm(join(folder, name + ending), { force: true });
  }
  await rmdir(folder).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}
