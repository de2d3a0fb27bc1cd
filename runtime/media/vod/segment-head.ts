import {
  DATA_OFFSET,
  DEPENDS,
  DURATIONS,
  FIRST_FLAGS,
  FLAGS,
  INDEPENDENT,
  MDAT,
  MFHD,
  MOOF,
  SHIFTS,
  SIZES,
  TFHD,
  TRACK_DURATION,
  TRACK_FLAGS,
  TRAF,
  TRUN,
  VERSION_1,
  writeDecodeTime,
  writeHead,
} from '../mp4/fragment-boxes.ts';
import { Refusal } from '../mp4/inspect/boxes.ts';

const maxSegmentBytes = 512 * 1_048_576;
/** Stretches of the file for one segment. Beyond, bytes between the nearest are read along, up to `maxWaste` of the segment. */
const maxPieces = 16;
const maxWaste = 0.25;
/** Stretches where that is not enough. */
const maxScattered = 1000;

/** Samples of one track in a segment, a column each; all have as many rows, at least one. */
export interface SegmentTrack {
  readonly id: number;
  readonly isVideo: boolean;
  /** Ticks of the first one, from the beginning of the timeline. */
  readonly dts: number;
  readonly durations: readonly number[];
  readonly sizes: readonly number[];
  readonly shifts: readonly number[];
  readonly syncs: readonly boolean[];
  /** Places in the film's file. */
  readonly places: readonly number[];
}

/**
 * A segment without its media: `moof`, and the header of `mdat` (ISO/IEC 14496-12 8.8.4, 8.1.1), which is followed by these
 * ranges of the film's file. Each stretch in which samples of a track lie one behind the other is a `trun` of its own, so
 * nothing is copied and no byte has another place than before.
 */
export function writeSegmentHead(
  tracks: readonly SegmentTrack[],
  options: { readonly sequence: number; readonly name: string },
): { readonly head: Uint8Array<ArrayBuffer>; readonly ranges: readonly Range[]; readonly size: number } {
  const fragments = tracks.map((track) => plan(track));
  const ranges = rangesOf(
    fragments.flatMap(({ runs }) => runs),
    options.name,
  );
  const { end: media, of: placeOf } = placesIn(ranges);
  if (media > maxSegmentBytes)
    throw new Refusal(`${options.name} would have ${media} bytes; expected ${maxSegmentBytes} at most`);
  const moofSize = 24 + fragments.reduce((sum, { size }) => sum + size, 0);
  const head = new Uint8Array(moofSize + 8);
  const view = new DataView(head.buffer);
  writeHead(view, 0, moofSize, MOOF);
  writeHead(view, 8, 16, MFHD);
  view.setUint32(20, options.sequence);
  let at = 24;
  for (const fragment of fragments)
    at = writeTrack(view, { at, fragment, dataAt: (from) => moofSize + 8 + placeOf(from) });
  writeHead(view, at, media + 8, MDAT);
  return { head, ranges, size: head.length + media };
}

/** Rows `first` up to `end` of a track, whose bytes lie one behind the other. */
interface Run {
  readonly first: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/** How a track is written: a `traf` of so many bytes. */
interface Fragment {
  readonly track: SegmentTrack;
  readonly runs: readonly Run[];
  /** Columns of its `trun` boxes, beside the size, and whether the first sample has flags of its own. */
  readonly columns: number;
  readonly size: number;
}

function plan(track: SegmentTrack): Fragment {
  const { durations, shifts, syncs, isVideo, places } = track;
  let columns = 0;
  if (!durations.every((one) => one === durations[0])) columns |= DURATIONS;
  if (shifts.some((one) => one !== 0)) columns |= SHIFTS;
  // Mostly there is one key frame, and the others depend on it.
  if (isVideo && syncs.some((isSync, row) => isSync !== (row === 0))) columns |= FLAGS;
  else if (isVideo) columns |= FIRST_FLAGS;
  const runs = runsOf(track);
  const rows = places.length * rowSize(columns);
  const first = (columns & FIRST_FLAGS) === 0 ? 0 : 4;
  const size = 8 + headerSize(columns) + 20 + runs.length * 20 + first + rows;
  return { track, runs, columns, size };
}

function runsOf({ places, sizes }: SegmentTrack): Run[] {
  const runs: Run[] = [];
  let first = 0;
  for (let row = 0; row < places.length; row += 1) {
    const to = places[row] + sizes[row];
    if (row + 1 < places.length && places[row + 1] === to) continue;
    runs.push({ first, end: row + 1, from: places[first], to });
    first = row + 1;
  }
  return runs;
}

/** Of tfhd: with the duration of all samples where they have one. */
function headerSize(columns: number): number {
  return (columns & DURATIONS) === 0 ? 24 : 20;
}

function rowSize(columns: number): number {
  return [DURATIONS, FLAGS, SHIFTS].reduce((size, column) => size + ((columns & column) === 0 ? 0 : 4), 4);
}

/** Track fragment, 8.8.6; returns where it ends. */
function writeTrack(
  view: DataView,
  options: { at: number; fragment: Fragment; dataAt: (from: number) => number },
): number {
  const { fragment, dataAt } = options;
  const { track, columns, runs } = fragment;
  const header = headerSize(columns);
  let { at } = options;
  writeHead(view, at, fragment.size, TRAF);
  writeHead(view, at + 8, header, TFHD);
  view.setUint32(at + 16, header === 24 ? TRACK_FLAGS | TRACK_DURATION : TRACK_FLAGS);
  view.setUint32(at + 20, track.id);
  if (header === 24) view.setUint32(at + 24, track.durations[0]);
  view.setUint32(at + header + 4, track.isVideo ? DEPENDS : INDEPENDENT);
  at += 8 + header;
  writeDecodeTime(view, at, track.dts);
  at += 20;
  for (const run of runs) at = writeRun(view, { at, run, fragment, dataAt });
  return at;
}

function writeRun(
  view: DataView,
  options: { at: number; run: Run; fragment: Fragment; dataAt: (from: number) => number },
): number {
  const { run, fragment, at } = options;
  const { durations, sizes, syncs, shifts } = fragment.track;
  const columns = run.first === 0 ? fragment.columns : fragment.columns & ~FIRST_FLAGS;
  // Size and data offset are always there.
  view.setUint32(at + 8, VERSION_1 | SIZES | DATA_OFFSET | columns);
  view.setUint32(at + 12, run.end - run.first);
  view.setUint32(at + 16, options.dataAt(run.from));
  let to = at + 20;
  if ((columns & FIRST_FLAGS) !== 0) {
    view.setUint32(to, syncs[0] ? INDEPENDENT : DEPENDS);
    to += 4;
  }
  for (let row = run.first; row < run.end; row += 1) {
    if ((columns & DURATIONS) !== 0) {
      view.setUint32(to, durations[row]);
      to += 4;
    }
    view.setUint32(to, sizes[row]);
    to += 4;
    if ((columns & FLAGS) !== 0) {
      view.setUint32(to, syncs[row] ? INDEPENDENT : DEPENDS);
      to += 4;
    }
    if ((columns & SHIFTS) !== 0) {
      view.setInt32(to, shifts[row]);
      to += 4;
    }
  }
  writeHead(view, at, to - at, TRUN);
  return to;
}

/** Bytes `from` up to `to` of the film's file. */
type Range = readonly [from: number, to: number];

/**
 * What must be read for a segment: its stretches in the order of the file, those that touch as one. Where these are many, what
 * lies between the nearest goes along.
 */
function rangesOf(
  stretches: readonly { readonly from: number; readonly to: number }[],
  name: string,
): readonly Range[] {
  const sorted = stretches.toSorted((a, b) => a.from - b.from);
  const touching = joined(sorted, 0);
  if (touching.length <= maxPieces) return touching;
  const gaps = touching.slice(1).map(([from], index) => from - touching[index][1]);
  const allowed = touching.reduce((sum, [from, to]) => sum + to - from, 0) * maxWaste;
  const nearest = nearestGaps(gaps, { allowed, enough: touching.length - maxPieces });
  const ranges = joined(sorted, nearest);
  if (ranges.length > maxScattered)
    throw new Refusal(
      `${name} would be put together of ${ranges.length} pieces of the file; expected ${maxScattered} at most`,
    );
  return ranges;
}

/** The largest gap of those that may go along: so many bytes all together, and no more than are needed. Gaps alike go together. */
function nearestGaps(gaps: readonly number[], options: { allowed: number; enough: number }): number {
  const sorted = gaps.toSorted((a, b) => a - b);
  let nearest = 0;
  let bytes = 0;
  for (let index = 0; index < sorted.length; index += 1) {
    bytes += sorted[index];
    if (bytes > options.allowed) break;
    if (sorted[index + 1] === sorted[index]) continue;
    nearest = sorted[index];
    if (index + 1 >= options.enough) break;
  }
  return nearest;
}

/** Where a place of the file is in the ranges put one behind the other. */
function placesIn(ranges: readonly Range[]): { readonly end: number; of(place: number): number } {
  const starts: number[] = [];
  let end = 0;
  for (const [from, to] of ranges) {
    starts.push(end);
    end += to - from;
  }
  return {
    end,
    of(place) {
      let low = 0;
      let high = ranges.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (ranges[middle][0] <= place) low = middle;
        else high = middle - 1;
      }
      return starts[low] + place - ranges[low][0];
    },
  };
}

/** Stretches in ascending order, with what lies between two of them when that is at most so many bytes. */
function joined(sorted: readonly { from: number; to: number }[], gap: number): Range[] {
  const ranges: [number, number][] = [];
  for (const { from, to } of sorted) {
    const last = ranges[ranges.length - 1];
    if (last !== undefined && from - last[1] <= gap) last[1] = Math.max(last[1], to);
    else ranges.push([from, to]);
  }
  return ranges;
}
