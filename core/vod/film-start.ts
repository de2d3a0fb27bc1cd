import { type Box, boxOf, within } from './boxes.ts';
import type { FilmMedia } from './film-media.ts';

/** Bytes that are read of an init, and of the first segment: its `moof` has some bytes for each sample. */
const most = 262_144;

/**
 * When the first sample of a film is decoded, in ticks of 1/90000 s: recordings keep the times that they were broadcast with. 0 where
 * its boxes do not say.
 */
export async function filmStart({ index, open }: FilmMedia, signal: AbortSignal): Promise<number> {
  if (index.count === 0) return 0;
  const read = async (type: 'init' | 'segment', number: number) => {
    const { size, read } = await open({ type, number }, signal);
    return boxOf(await read({ from: 0, to: Math.min(size, most) }, signal));
  };
  const init = await read('init', index.segment(0).init);
  const segment = await read('segment', 0);
  try {
    const scales = new Map(
      within(init, ['moov', 'trak']).map((trak) => [
        number(within(trak, ['tkhd'])[0], { 0: 12, 1: 20 }),
        number(within(trak, ['mdia', 'mdhd'])[0], { 0: 12, 1: 20 }),
      ]),
    );
    const starts = within(segment, ['moof', 'traf']).map((traf) => {
      const scale = scales.get(number(within(traf, ['tfhd'])[0], { 0: 4 }));
      return (time(within(traf, ['tfdt'])[0]) / (scale ?? Number.NaN)) * 90_000;
    });
    const start = Math.min(...starts);
    return Number.isFinite(start) ? Math.max(0, Math.round(start)) : 0;
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}

/** A number of 32 bits in a full box, by the version of the box. Throws RangeError where there is none. */
function number(box: Box | undefined, places: Readonly<Record<number, number>>): number {
  const place = box && places[box.view.getUint8(box.from)];
  if (place === undefined) throw new RangeError('this box is missing');
  return box!.view.getUint32(box!.from + place);
}

/** Of a `tfdt` (8.8.12). */
function time(box: Box | undefined): number {
  if (box === undefined) throw new RangeError('there is no time of decoding');
  const { view, from } = box;
  return view.getUint8(from) === 1 ? Number(view.getBigUint64(from + 4)) : view.getUint32(from + 4);
}
