import { box, full, u16, u32, u64 } from '../../mp4/box.ts';
import { displayOf, mvhd, trak, tree } from '../../mp4/movie-boxes.ts';
import { boxInEntry } from '../../mp4/read-init.ts';
import type { TrackTable, Words } from './track-table.ts';

/** Ticks a second of the film's own clock, in which edits are written: those of pictures, so that nothing is rounded. */
const TIMESCALE = 90_000;

/**
 * The moov of a whole film (ISO/IEC 14496-12 8.2 to 8.7): each sample of each track, where it lies in the file, and when it
 * is shown. The pieces are one behind the other; the large ones are those of the tables.
 */
export function writeMoov(
  tracks: readonly TrackTable[],
  options: { startedAt: number },
): readonly Uint8Array[] {
  const created = Math.max(0, Math.floor(options.startedAt / 1000) + EPOCH);
  const edits = tracks.map((track) => editsOf(track));
  const duration = Math.max(...edits.map((edit) => edit.empty + edit.length));
  const traks = tracks.map((track, index) => {
    const { isVideo, timescale, duration, entries } = track;
    const { shownWidth, height } = isVideo ? pictureSize(entries[0].bytes) : { shownWidth: 0, height: 0 };
    return trak({
      ...{ id: index + 1, isVideo, timescale, created, duration },
      movieDuration: edits[index].empty + edits[index].length,
      display: displayOf(shownWidth, height),
      edits: [box('edts', elst(edits[index]))],
      tables: tables(track),
    });
  });
  return tree(
    'moov',
    [mvhd({ timescale: TIMESCALE, created, duration, nextId: tracks.length + 1 })],
    ...traks,
  );
}

/** Seconds of the film. */
export function lengthOf(track: TrackTable): number {
  const { empty, length } = editsOf(track);
  return (empty + length) / TIMESCALE;
}

/** Pixels of a VisualSampleEntry (12.1.3), and how wide it is shown (`pasp`, 12.1.4.1). */
export function pictureSize(entry: Uint8Array): { width: number; height: number; shownWidth: number } {
  const view = viewOf(entry);
  const width = view.getUint16(32);
  const height = view.getUint16(34);
  const pasp = boxInEntry({ entry, isVideo: true }, ['pasp'])?.payload;
  if (pasp?.length !== 8) return { width, height, shownWidth: width };
  const across = viewOf(pasp).getUint32(0);
  const down = viewOf(pasp).getUint32(4);
  const shown = across > 0 && down > 0 ? Math.round((width * across) / down) : width;
  return { width, height, shownWidth: Math.min(0xffff, shown) };
}

/** Seconds from 1904, where these boxes count from, to 1970. */
const EPOCH = 0x7c25b080;

interface Edits {
  /** Nothing is shown for so long; ticks of the film. */
  readonly empty: number;
  /** What is shown begins here, ticks of the track. */
  readonly from: number;
  /** And lasts so long, ticks of the film. */
  readonly length: number;
}

function editsOf({ first, shownFrom, shownUntil, timescale }: TrackTable): Edits {
  const from = Math.max(0, shownFrom);
  return {
    empty: Math.round((from / timescale) * TIMESCALE),
    from: from - first,
    length: Math.max(0, Math.ceil(((shownUntil - from) * TIMESCALE) / timescale)),
  };
}

/** Edit list, 8.6.6: a pause where the track begins later than the film, then all of it at its own speed. */
function elst({ empty, from, length }: Edits): Uint8Array {
  const isLong = Math.max(empty, length) > 0xffffffff || from > 0x7fffffff;
  const write = isLong ? u64 : u32;
  const rate = u16(1, 0);
  const none = isLong ? u32(0xffffffff, 0xffffffff) : u32(0xffffffff);
  const pause = empty > 0 ? [write(empty), none, rate] : [];
  return full('elst', Number(isLong), 0, u32(empty > 0 ? 2 : 1), ...pause, write(length, from), rate);
}

function tables(track: TrackTable): readonly Uint8Array[] {
  const { entries, count, durations, offsets, keys, chunks, sizes, places } = track;
  const hasKeys = track.isVideo && keys.count < count;
  const version = Number(track.hasNegativeOffsets);
  return [
    full('stsd', 0, 0, u32(entries.length), ...entries.map(({ bytes }) => bytes)),
    ...table('stts', durations.words, { rows: durations.words.count / 2 }),
    ...(track.hasOffsets ? table('ctts', offsets.words, { rows: offsets.words.count / 2, version }) : []),
    ...(hasKeys ? table('stss', keys, { rows: keys.count }) : []),
    ...table('stsc', chunks, { rows: chunks.count / 3 }),
    ...table('stsz', sizes, { rows: count, fixed: u32(0) }),
    ...table('co64', places, { rows: places.count / 2 }),
  ];
}

function table(
  type: string,
  words: Words,
  options: { rows: number; version?: number; fixed?: Uint8Array },
): readonly Uint8Array[] {
  const { rows, version = 0, fixed = new Uint8Array(0) } = options;
  return tree(type, [u32(version * 0x1000000), fixed, u32(rows)], words.pieces());
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
