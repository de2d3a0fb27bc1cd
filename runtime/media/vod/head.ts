import type { FilmHead } from '../../../core/ports/inspector.ts';
import { join } from '../mp4/box.ts';
import { type Box, Children, Fields, Refusal, readTable, type Table } from '../mp4/inspect/boxes.ts';

/**
 * What makes a film whose index lies behind its samples one with the index in front: then players begin with the first bytes they
 * get. Its `moov` is as large as before, only where samples lie is written anew (ISO/IEC 14496-12 8.7.5). That is done in the
 * bytes that the film was read from, which may be many: afterwards the film is of no use.
 *
 * Undefined: nothing is to be gained (the index is in front, or there are fragments), or it is not to be had that way: samples on
 * both sides of the index, or places beyond 4 GiB where a box has 32 bits for them.
 */
export function takeHead(film: HeadlessFilm): FilmHead | undefined {
  const { start, moov, moovAt } = film;
  if (start === undefined || !canHaveHead(film)) return undefined;
  const grown = sizeOf(moov);
  const { view } = moov;
  for (const { table, isLong } of placeTables(moov)) {
    for (let row = 0; row < table.count; row += 1) {
      const at = table.at + row * rowSize(isLong);
      const place = readPlace(view, { at, isLong }) + grown;
      if (isLong) view.setUint32(at, Math.floor(place / 2 ** 32));
      view.setUint32(isLong ? at + 4 : at, place % 2 ** 32);
    }
  }
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
  return everyPlace(moov, (place, most) => place >= from && place < moovAt && place + grown <= most);
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

/** Also of tracks that are passed over, which nothing is known of: what is wrong there makes it false. */
function everyPlace(moov: Box, isGood: (place: number, most: number) => boolean): boolean {
  try {
    for (const { table, isLong } of placeTables(moov)) {
      const most = isLong ? Number.MAX_SAFE_INTEGER : 0xffffffff;
      for (let row = 0; row < table.count; row += 1) {
        const at = table.at + row * rowSize(isLong);
        if (!isGood(readPlace(moov.view, { at, isLong }), most)) return false;
      }
    }
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

interface PlaceTable {
  readonly table: Table;
  readonly isLong: boolean;
}

/** All chunk offset boxes. Throws Refusal. */
function placeTables(moov: Box): PlaceTable[] {
  let boxes = [moov];
  for (const type of ['trak', 'mdia', 'minf', 'stbl'])
    boxes = boxes.flatMap((box) => new Children(box).all.filter((child) => child.type === type));
  return boxes.flatMap((stbl) =>
    new Children(stbl).all.flatMap((box) => {
      if (box.type !== 'stco' && box.type !== 'co64') return [];
      const isLong = box.type === 'co64';
      const fields = new Fields(box);
      fields.full();
      return { table: readTable(fields, { box, row: rowSize(isLong) }), isLong };
    }),
  );
}

function rowSize(isLong: boolean): number {
  return isLong ? 8 : 4;
}

function readPlace(view: DataView, { at, isLong }: { at: number; isLong: boolean }): number {
  return isLong ? view.getUint32(at) * 2 ** 32 + view.getUint32(at + 4) : view.getUint32(at);
}
