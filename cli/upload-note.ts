import { createHash } from 'node:crypto';
import { realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exits, Failure } from './command.ts';
import type { Connection } from './connection.ts';
import { configFolder, Damaged, readPrivate, writePrivate } from './credentials.ts';

/** What is kept of an upload until it is done, so that the same command continues it. The URLs are secrets. */
export interface UploadNote {
  readonly tusEndpoint: string;
  readonly assetId: string;
  readonly taskId: string;
  /** Undefined: no byte was sent. */
  readonly uploadUrl?: string;
}

/** A film on this machine, as it is now. */
export interface Film {
  readonly path: string;
  readonly size: number;
  /** Where its note is. A film that has changed has another one, and so has the same film for another server or key. */
  readonly note: string;
}

export async function filmOf(given: string, { url, key }: Connection): Promise<Film> {
  const path = await realpath(given).catch(() => given);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new Failure(`${given} is no file that can be read.`, exits.usage);
  if (found.size === 0) throw new Failure(`${given} is empty.`, exits.usage);
  const identity = JSON.stringify([url, key, path, found.size, found.mtimeMs]);
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  return { path, size: found.size, note: join(configFolder(), 'uploads', `${hash}.json`) };
}

/** Undefined where there is none, or a damaged one, which a power cut may leave: the upload begins anew then. */
export async function readNote({ note }: Film): Promise<UploadNote | undefined> {
  const content = await readPrivate(note).catch((error: unknown) => {
    if (error instanceof Damaged) return undefined;
    throw error;
  });
  const { tusEndpoint, assetId, taskId, uploadUrl = '' } = (content ?? {}) as Partial<UploadNote>;
  const isWhole = [tusEndpoint, assetId, taskId, uploadUrl].every((one) => typeof one === 'string');
  return isWhole ? (content as UploadNote) : undefined;
}

export async function writeNote({ note }: Film, content: UploadNote): Promise<void> {
  await writePrivate(note, content);
}

export async function forget({ note }: Film): Promise<void> {
  await rm(note, { force: true });
}
