import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobUpload } from '../../../core/ports/blobs.ts';
import type { FinishedRendition, FinishedTake, VideoSpec } from '../../../core/ports/recorder.ts';

/** `take.json` of a spool: what its file cannot say. */
export interface TakeMeta {
  readonly version: 1;
  readonly sessionId: string;
  readonly streamId: string;
  /** Where its blobs go. */
  readonly folder: string;
  /** Name of its blobs: several nodes may have takes of one session. */
  readonly takeId: string;
  readonly gaps: number;
  /** Present when it is not the source: which rendition of it, and which of its profiles that is, counted from 0. */
  readonly rendition?: { readonly name: string; readonly order: number };
  /** It is being finished: nothing is added any more. */
  readonly isEnding?: boolean;
  /** Into which its closed parts go while it grows. */
  readonly upload?: BlobUpload;
  /** Its file is complete and hashed, head and index lie beside it. All of that is on disk. */
  readonly sealed?: SealedTake;
  /** What `finish` answered. */
  readonly finished?: FinishedTake;
  /** Of a rendition: what it is in that answer. */
  readonly made?: FinishedRendition;
}

export interface SealedTake {
  readonly video: Omit<FinishedTake['video'], 'key'>;
  readonly index: Omit<FinishedTake['index'], 'key'>;
  /** Of a source. */
  readonly head?: Omit<FinishedTake['head'], 'key'>;
  readonly spec?: VideoSpec;
  readonly startedAt?: number;
  /** Of a rendition. */
  readonly rendition?: Pick<FinishedRendition, 'variant' | 'share'>;
}

/**
 * The folder of its spool. That of a rendition lies beside that of its source, and no name of a profile can break it: names are any
 * text. A session has no dot, so it is nobody else's.
 */
export function spoolName({ sessionId, rendition }: Pick<TakeMeta, 'sessionId' | 'rendition'>): string {
  if (rendition === undefined) return sessionId;
  // As JSON also what is no valid text stays as different as it was.
  const hash = createHash('sha256').update(JSON.stringify(rendition.name)).digest('hex');
  return `${sessionId}.${hash.slice(0, 0x20)}`;
}

export const spoolFiles = {
  meta: 'take.json',
  video: 'source.mp4',
  head: 'head.mp4',
  index: 'index.bin',
} as const;

/** Throws an Error that says what is wrong with it. */
export async function readMeta(spool: string, { bytes }: { bytes: number }): Promise<TakeMeta> {
  const path = join(spool, spoolFiles.meta);
  const its = await stat(path);
  // To open a pipe is to wait for its other end.
  if (!its.isFile()) throw new Error(`${path} is no file`);
  const { size } = its;
  if (size > bytes) throw new Error(`${path} has ${size} bytes; at most ${bytes}`);
  return parse(await readFile(path, 'utf8'), path);
}

/** That of a spool which was looked through before; undefined when there is none. */
export function metaIn(spool: string): TakeMeta | undefined {
  const path = join(spool, spoolFiles.meta);
  return existsSync(path) ? parse(readFileSync(path, 'utf8'), path) : undefined;
}

function parse(text: string, path: string): TakeMeta {
  const meta = JSON.parse(text) as Partial<TakeMeta> | null;
  const problem = problemOf(meta);
  if (problem !== undefined) throw new Error(`${path}: ${problem}`);
  return meta as TakeMeta;
}

function problemOf(meta: Partial<TakeMeta> | null): string | undefined {
  if (typeof meta !== 'object' || meta === null) return 'is not an object';
  if (meta.version !== 1) return `version is ${meta.version}, expected 1`;
  for (const name of ['sessionId', 'streamId', 'folder', 'takeId'] as const) {
    if (typeof meta[name] !== 'string' || meta[name] === '') return `${name} is missing`;
  }
  if (!Number.isInteger(meta.gaps)) return 'gaps is not a number';
  for (const name of ['upload', 'sealed', 'finished', 'made', 'rendition'] as const) {
    if (meta[name] === undefined) continue;
    if (typeof meta[name] !== 'object' || meta[name] === null) return `${name} is not an object`;
  }
  const { rendition } = meta;
  if (rendition && (typeof rendition.name !== 'string' || !Number.isInteger(rendition.order)))
    return 'rendition has no name, or no order';
  return undefined;
}

/** What stands in `take.json`. Throws an Error where it would not be read again; `most` bytes. */
export function metaBytes(meta: TakeMeta, { most }: { most: number }): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(meta));
  if (bytes.length <= most) return bytes;
  throw new Error(`take.json would have ${bytes.length} bytes; at most ${most}`);
}

/** Replaces a small file of a spool. When it resolves the new one is on disk; a death before leaves the old one or the new. */
export async function writeWhole(spool: string, file: { name: string; bytes: Uint8Array }): Promise<void> {
  const path = join(spool, file.name);
  const handle = await open(`${path}.new`, 'w', 0o640);
  try {
    await handle.writeFile(file.bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
  // Here the name becomes lasting.
  await syncFolder(spool);
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
