import { open } from 'node:fs/promises';
import { Fault } from '../../../core/base/fault.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { ForeignFile } from '../../../core/ports/converter.ts';
import type { Film, IndexedFilm } from '../../../core/vod/films.ts';
import { readSegmentBlock, readSegmentIndex } from '../../../core/vod/segment-index.ts';

/** Bytes read at once of a file on this machine. */
const readAtOnce = 262_144;

/** A film of the blob store as a process reads it that can only read on: never back, and never ahead. */
export interface FilmFeed {
  /** Which tracks it has: those that HLS has, or all of the file. */
  readonly form: 'segments' | 'whole';
  /** Reports with each piece how much of it was read, 0..1. */
  pieces(progress: (fraction: number) => void): AsyncGenerator<Uint8Array>;
}

interface Reading {
  readonly blobs: Pick<Blobs, 'get'>;
  readonly signal: AbortSignal;
}

/**
 * An upload is fed as its HLS segments, because those have picture and sound side by side, however the file has them. A
 * recording is fed as a file with its index in front: there the runs of several publishes stand one behind the other, while its
 * segments keep the pauses between them. So is what has no segments, or several init segments.
 */
export async function filmFeed(film: Film, reading: Reading): Promise<FilmFeed> {
  const index = film.index && film.heads && readSegmentIndex(await bytesOf(film.index, reading));
  if (index?.inits.length !== 1)
    return { form: 'whole', pieces: (progress) => wholePieces(film, { ...reading, progress }) };
  const { inits, count } = index;
  const { heads, video } = film as IndexedFilm & Required<Pick<Film, 'heads'>>;
  const segments = async function* (progress: (fraction: number) => void): AsyncGenerator<Uint8Array> {
    const [init] = inits;
    yield* stretch(heads, { ...reading, from: init.at, to: init.at + init.size });
    for (let number = 0; number < count; number += 1) {
      const { at, size } = index.segment(number);
      const block = await gathered(stretch(heads, { ...reading, from: at, to: at + size }));
      const { headAt, ranges } = readSegmentBlock(block);
      yield block.subarray(headAt);
      for (const [from, to] of ranges) yield* stretch(video, { ...reading, from, to });
      progress((number + 1) / count);
    }
  };
  return { form: 'segments', pieces: segments };
}

async function* wholePieces(
  { video, head }: Film,
  { progress, ...reading }: Reading & { progress(fraction: number): void },
): AsyncGenerator<Uint8Array> {
  const { from, to } = head ?? { from: 0, to: video.size };
  if (head) yield* stretch(head, { ...reading, from: 0, to: head.size });
  let read = 0;
  for await (const piece of stretch(video, { ...reading, from, to })) {
    yield piece;
    read += piece.byteLength;
    progress(read / (to - from));
  }
}

/** Bytes `from` up to `to` of a blob. */
async function* stretch(
  { key }: { readonly key: string },
  { blobs, signal, from, to }: Reading & { from: number; to: number },
): AsyncGenerator<Uint8Array> {
  if (from === to) return;
  const found = await blobs.get(key, { range: { from, to }, signal });
  if (found.outcome !== 'ok') throw gone;
  yield* found.body;
}

function bytesOf({ key, size }: { key: string; size: number }, reading: Reading): Promise<Uint8Array> {
  return gathered(stretch({ key }, { ...reading, from: 0, to: size }));
}

async function gathered(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}

const gone = new Fault('conversion.refused', {
  status: 422,
  message: 'The film is not converted: its file was deleted or replaced.',
  retry: false,
});

/** A file of this machine from its beginning to its end, with its index in front. Reports with each piece how much was read, 0..1. */
export async function* fileFeed(
  { path, size, foreign: { front } }: ForeignFile,
  progress: (fraction: number) => void,
): AsyncGenerator<Uint8Array> {
  const { from, to } = front ?? { from: 0, to: size };
  if (front) yield* front.parts;
  const file = await open(path, 'r');
  try {
    for (let at = from; at < to; ) {
      const bytes = new Uint8Array(Math.min(readAtOnce, to - at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) throw new Error('the file became shorter while it was read');
      yield bytes.subarray(0, bytesRead);
      at += bytesRead;
      progress((at - from) / (to - from));
    }
  } finally {
    await file.close();
  }
}
