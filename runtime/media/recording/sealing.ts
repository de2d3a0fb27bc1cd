import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readSegmentIndex } from '../../../core/vod/segment-index.ts';
import { besideSource } from './file/beside-source.ts';
import { inTurns, turn } from './steps.ts';
import type { FinishedFile, TakeFile, TakeIo } from './take-file.ts';
import type { TakeHash } from './take-hash.ts';
import { type SealedTake, spoolFiles, type TakeMeta, writeWhole } from './take-meta.ts';

/** A file to which nothing is added any more, with what is stored beside it. */
export type CompleteFile = Pick<FinishedFile, 'size' | 'index'> &
  Partial<Omit<FinishedFile, 'size' | 'index'>> &
  Pick<SealedTake, 'rendition'>;

/** Completes the file of a take; between any two pieces others have their turn. Undefined: no media. */
export async function completeFile(
  file: TakeFile,
  { meta, folder }: { meta: TakeMeta; folder: string },
): Promise<CompleteFile | undefined> {
  if (!meta.rendition) return inTurns(file.finish());
  // A rendition has no `moov`, which nobody would read; its index shows it beside its source, whose own lies in the next spool.
  const { size, ...own } = file.close();
  if (own.segments.count === 0) return undefined;
  const path = join(dirname(folder), meta.sessionId, spoolFiles.index);
  const { index, ...rendition } = await inTurns(besideSource(readSegmentIndex(await readFile(path)), own));
  return { size, index, rendition };
}

/** Hashes the rest of it and brings all of it to the disk; between any two pieces others have their turn. */
export async function sealFile(
  { size, index, head, ...about }: CompleteFile,
  to: { folder: string; io: TakeIo; hash: TakeHash; piece: number; sync(): Promise<void> },
): Promise<SealedTake> {
  const { folder, io, hash } = to;
  const into = new Uint8Array(to.piece);
  while (hash.bytes < size) {
    hash.step(io, { to: size, into });
    await turn();
  }
  if (head) await writeWhole(folder, { name: spoolFiles.head, bytes: head.bytes });
  await writeWhole(folder, { name: spoolFiles.index, bytes: index });
  await to.sync();
  return {
    video: { size, ...hash.digest() },
    index: { size: index.length },
    ...(head && { head: { size: head.bytes.length, from: head.from, to: head.to } }),
    ...about,
  };
}
