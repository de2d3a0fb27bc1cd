import { mostTracks } from './fragment-reader.ts';
import { type Box, Children, Fields, Refusal } from './inspect/boxes.ts';
import { readTimes, readTrackHead } from './inspect/movie.ts';

/** Bytes of an init segment: it holds two headers of 64 KiB at most. */
export const initBytes = 262_144;

/** One track of an init segment. */
export interface InitTrack {
  readonly id: number;
  readonly timescale: number;
  readonly isVideo: boolean;
  /** Type of its sample entry: `avc1`, `hvc1`, `av01`, `mp4a`, `Opus`. */
  readonly format: string;
  /** The sample entry as a box of its own. */
  readonly entry: Uint8Array;
}

/** The tracks of an init segment, ftyp and moov (ISO/IEC 14496-12 8.2 to 8.5). Undefined: it is none. */
export function readInit(bytes: Uint8Array): readonly InitTrack[] | undefined {
  if (bytes.length > initBytes) return undefined;
  try {
    const top = new Children(boxAround('init', bytes)).all;
    if (top.map(({ type }) => type).join() !== 'ftyp,moov') return undefined;
    const traks = new Children(top[1]).all.filter(({ type }) => type === 'trak');
    if (traks.length === 0 || traks.length > mostTracks) return undefined;
    const tracks = traks.map((trak) => readTrack(trak));
    return tracks.every((track) => track !== undefined) ? tracks : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function readTrack(trak: Box): InitTrack | undefined {
  const { id, handler, mdia } = readTrackHead(new Children(trak));
  const isVideo = handler === 'vide';
  const { timescale } = readTimes(mdia.need('mdhd'));
  const stsd = new Children(new Children(mdia.need('minf')).need('stbl')).need('stsd');
  // Behind version, flags and the number of entries.
  const [entry] = new Children(stsd, 8).all;
  if (timescale === 0 || (!isVideo && handler !== 'soun') || entry === undefined) return undefined;
  const whole = new Fields({ ...entry, from: entry.from - 8 });
  const bytes = whole.bytes(whole.left);
  return bytes.length < fixedBytes(isVideo)
    ? undefined
    : { id, timescale, isVideo, format: entry.type, entry: bytes };
}

/** The fixed fields of a VisualSampleEntry (12.1.3) and an AudioSampleEntry (12.2.3), with the head of the box. */
function fixedBytes(isVideo: boolean): number {
  return isVideo ? 86 : 36;
}

/** The first box of one of these types in a sample entry of an `InitTrack`, by its payload. */
export function boxInEntry(
  { entry, isVideo }: Pick<InitTrack, 'entry' | 'isVideo'>,
  types: readonly string[],
): { readonly type: string; readonly payload: Uint8Array } | undefined {
  try {
    const { all } = new Children(boxAround('entry', entry), fixedBytes(isVideo));
    const found = all.find(({ type }) => types.includes(type));
    return found && { type: found.type, payload: new Fields(found).bytes(found.to - found.from) };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Bytes that are boxes, as a box. */
export function boxAround(type: string, bytes: Uint8Array, from = 0): Box {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { type, view, from, to: bytes.length };
}
