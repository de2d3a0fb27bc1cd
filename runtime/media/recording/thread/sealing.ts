import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readSegmentIndex } from '../../../../core/vod/segment-index.ts';
import { writeWhole } from '../../../base/disk.ts';
import type { FileHash } from '../../../base/file-hash.ts';
import { besideSource } from '../file/beside-source.ts';
import type { FinishedFile } from '../file/finish-file.ts';
import type { GrowingFile } from '../file/growing-file.ts';
import { inTurns, turn } from '../file/steps.ts';
import { fileNames, type RecordingMeta, type SealedFile } from '../meta.ts';
import type { DiskFile, FileIo } from './file-io.ts';

/** A file to which nothing is added any more, with what is stored beside it. */
export type CompleteFile = Pick<FinishedFile, 'size' | 'index'> &
  Partial<Omit<FinishedFile, 'size' | 'index'>> &
  Pick<SealedFile, 'rendition'>;

/** Completes the file; between two pieces of work others have their turn. Undefined: no media. */
export async function completeFile(
  file: GrowingFile,
  { meta, folder }: { meta: RecordingMeta; folder: string },
): Promise<CompleteFile | undefined> {
  if (!meta.rendition) return inTurns(file.finish());
  // A rendition needs no `moov`: its index shows it beside its source, whose own index lies in the folder of the source.
  const { size, ...own } = file.close();
  if (own.segments.length === 0) return undefined;
  const path = join(dirname(folder), meta.sessionId, fileNames.index);
  const { index, ...rendition } = besideSource(readSegmentIndex(await readFile(path)), own);
  return { size, index, rendition };
}

/** Hashes the rest of the file and brings all of it to the disk; between two pieces others have their turn. */
export async function sealFile(
  { size, index, head, ...about }: CompleteFile,
  { folder, io, hash }: { folder: string; io: DiskFile; hash: FileHash },
): Promise<SealedFile> {
  while (hash.size < size) {
    hashPiece(hash, { io, to: size });
    await turn();
  }
  if (head) await writeWhole(folder, { name: fileNames.head, bytes: head.bytes });
  await writeWhole(folder, { name: fileNames.index, bytes: index });
  await io.sync();
  return {
    video: { size, ...hash.digest() },
    index: { size: index.length },
    ...(head && { head: { size: head.bytes.length, from: head.from, to: head.to } }),
    ...about,
  };
}

/** Hashes the next piece, at most up to `to`. Reads it from the file, which is in the page cache while it grows. */
export function hashPiece(hash: FileHash, { io, to }: { io: FileIo; to: number }): void {
  const bytes = piece.subarray(0, Math.max(0, to - hash.size));
  const count = io.read(hash.size, bytes);
  if (count < bytes.length) throw new Error(`a recording file ends at ${hash.size + count}, before ${to}`);
  hash.update(bytes);
}

/** Some 0.5 ms of work. One for all: a thread hashes one piece at a time. */
const piece = new Uint8Array(262_144);
