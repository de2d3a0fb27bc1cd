import type { FilmHead } from '../../../core/ports/inspector.ts';
import { join } from '../mp4/box.ts';
import { type Box, mapChunkOffsets, Refusal } from '../mp4/inspect/boxes.ts';

/**
 * What makes a film whose index lies behind its samples one with the index in front: then players begin with the first bytes they
 * get. Its `moov` is as large as before, only where samples lie is written anew (ISO/IEC 14496-12 8.7.5). That is done in the
 * bytes that the film was read from, which may be many: afterwards the film is of no use.
 *
 * Undefined: it is not needed (the index is in front, or there are fragments), or not possible: samples on
 * both sides of the index, or places beyond 4 GiB where a box has 32 bits for them.
 */
export function takeHead(film: HeadlessFilm): FilmHead | undefined {
  const { start, moov, moovAt } = film;
  if (start === undefined || !canHaveHead(film)) return undefined;
  const grown = sizeOf(moov);
  const { view } = moov;
  mapChunkOffsets(moov, (offset) => offset + grown);
  const header = new Uint8Array(8);
  new DataView(header.buffer).setUint32(0, grown);
  header.set([0x6d, 0x6f, 0x6f, 0x76], 4);
  const payload = new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset + moov.from, grown - 8);
  return { parts: [join([start, header]), payload], from: start.length, to: moovAt };
}

/** Whether `takeHead` makes one. Changes nothing. */
export function canHaveHead({ start, moov, moovAt, isFragmented }: HeadlessFilm): boolean {
  if (isFragmented || start === undefined) return false;
  const from = start.length;
  const grown = sizeOf(moov);
  let isGood = true;
  try {
    mapChunkOffsets(moov, (offset, isLong) => {
      const most = isLong ? Number.MAX_SAFE_INTEGER : 0xffffffff;
      isGood &&= offset >= from && offset < moovAt && offset + grown <= most;
      return offset;
    });
  } catch (error) {
    // Tracks that are passed over were not read before.
    if (error instanceof Refusal) return false;
    throw error;
  }
  return isGood;
}

/** In bytes, with its header. */
function sizeOf(moov: Box): number {
  return 8 + moov.to - moov.from;
}

/** What is known of the file. */
interface HeadlessFilm {
  readonly isFragmented: boolean;
  /** Its `ftyp` box, where it is short. */
  readonly start: Uint8Array | undefined;
  readonly moov: Box;
  /** Where that box begins in the file. */
  readonly moovAt: number;
}
