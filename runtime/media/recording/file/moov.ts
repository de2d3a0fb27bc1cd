import { box, full, MATRIX, text, u16, u32, u64 } from '../../mp4/box.ts';
import { children } from './read-init.ts';
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
  return tree(
    'moov',
    [mvhd({ created, duration, next: tracks.length + 1 })],
    ...tracks.map((track, index) => trak(track, { id: index + 1, created, edit: edits[index] })),
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
  const pasp = children(entry, 86)?.find(({ type }) => type === 'pasp')?.bytes;
  if (pasp?.length !== 16) return { width, height, shownWidth: width };
  const across = viewOf(pasp).getUint32(8);
  const down = viewOf(pasp).getUint32(12);
  const shown = across > 0 && down > 0 ? Math.round((width * across) / down) : width;
  return { width, height, shownWidth: Math.min(0xffff, shown) };
}

/** The chunk offsets of this moov become greater by `by`, in place. */
export function moveChunks(moov: Uint8Array, by: number): void {
  let found = [moov];
  for (const type of ['trak', 'mdia', 'minf', 'stbl', 'co64'])
    found = found.flatMap((parent) =>
      (children(parent, 8) ?? []).filter((child) => child.type === type).map(({ bytes }) => bytes),
    );
  for (const co64 of found) {
    const view = viewOf(co64);
    for (let at = 16; at < co64.length; at += 8) view.setBigUint64(at, view.getBigUint64(at) + BigInt(by));
  }
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

function mvhd(movie: { created: number; duration: number; next: number }): Uint8Array {
  const { created, duration, next } = movie;
  const times = timesOf(created, [u32(TIMESCALE)], duration);
  const rest = [u32(0x10000, 0x01000000, 0, 0), MATRIX, new Uint8Array(24), u32(next)];
  return full('mvhd', times.version, 0, ...times.fields, ...rest);
}

function trak(
  track: TrackTable,
  options: { id: number; created: number; edit: Edits },
): readonly Uint8Array[] {
  const { created, edit } = options;
  const { isVideo, timescale } = track;
  const handler = full(
    'hdlr',
    0,
    0,
    u32(0),
    text(isVideo ? 'vide' : 'soun'),
    u32(0, 0, 0),
    text('Millrace\0'),
  );
  const media = isVideo ? full('vmhd', 0, 1, u16(0, 0, 0, 0)) : full('smhd', 0, 0, u32(0));
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)));
  const times = timesOf(created, [u32(timescale)], track.duration);
  return tree(
    'trak',
    [tkhd(track, options), box('edts', elst(edit))],
    tree(
      'mdia',
      [full('mdhd', times.version, 0, ...times.fields, u16(0x55c4, 0)), handler],
      tree('minf', [media, dinf], tree('stbl', ...tables(track))),
    ),
  );
}

function tkhd(track: TrackTable, options: { id: number; created: number; edit: Edits }): Uint8Array {
  const { id, created, edit } = options;
  const size = track.isVideo ? pictureSize(track.entries[0].bytes) : { shownWidth: 0, height: 0 };
  const times = timesOf(created, [u32(id, 0)], edit.empty + edit.length);
  return full(
    'tkhd',
    times.version,
    3,
    ...times.fields,
    u32(0, 0),
    u16(0, 0, track.isVideo ? 0 : 0x100, 0),
    MATRIX,
    u32(size.shownWidth * 0x10000, size.height * 0x10000),
  );
}

/** Creation and modification time, what stands in between, and the duration: 64 bits wide where one needs them. */
function timesOf(
  created: number,
  between: readonly Uint8Array[],
  duration: number,
): { version: number; fields: readonly Uint8Array[] } {
  const isLong = Math.max(created, duration) > 0xfffffffe;
  const write = isLong ? u64 : u32;
  return { version: Number(isLong), fields: [write(created, created), ...between, write(duration)] };
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

function tables(track: TrackTable): (readonly Uint8Array[])[] {
  const { entries, count } = track;
  const hasKeys = track.isVideo && track.keys.count < count;
  return [
    [full('stsd', 0, 0, u32(entries.length), ...entries.map(({ bytes }) => bytes))],
    table('stts', track.durations, { rows: track.durations.count / 2 }),
    ...(track.hasOffsets
      ? [
          table('ctts', track.offsets, {
            rows: track.offsets.count / 2,
            version: Number(track.hasNegativeOffsets),
          }),
        ]
      : []),
    ...(hasKeys ? [table('stss', track.keys, { rows: track.keys.count })] : []),
    table('stsc', track.chunks, { rows: track.chunks.count / 3 }),
    table('stsz', track.sizes, { rows: count, fixed: u32(0) }),
    table('co64', track.places, { rows: track.places.count / 2 }),
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

/** A box around pieces that are not copied. */
function tree(type: string, ...contents: (readonly Uint8Array[])[]): readonly Uint8Array[] {
  const pieces = contents.flat();
  const size = pieces.reduce((sum, piece) => sum + piece.length, 8);
  return [u32(size), text(type), ...pieces];
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
