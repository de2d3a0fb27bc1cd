import {
  MDAT,
  MFHD,
  MOOF,
  OFFSET,
  RUN_HEAD,
  type Run,
  rowBytes,
  SIZE,
  STRIDE,
  TRACK_HEAD,
  writeHead,
  writeRun,
  writeTrackHead,
} from '../mp4/fragment.ts';
import { Refusal } from '../mp4/inspect/boxes.ts';

const maxSegmentBytes = 512 * 1_048_576;
/** Stretches of the file for one segment. Beyond, bytes between the nearest are read along, up to `maxWaste` of the segment. */
const maxPieces = 16;
const maxWaste = 0.25;
/** Stretches where that is not enough. */
const maxScattered = 1000;

/** Samples of one track in a segment, at least one. Their offsets are places in the film's file. */
export type SegmentTrack = Omit<Run, 'bytes'>;

/**
 * A segment without its media: `moof`, and the header of `mdat` (ISO/IEC 14496-12 8.8.4, 8.1.1), which is followed by these
 * ranges of the film's file. Each stretch in which samples of a track lie one behind the other is a `trun` of its own, so
 * nothing is copied and no byte has another place than before.
 */
export function writeSegmentHead(
  tracks: readonly SegmentTrack[],
  options: { readonly sequence: number; readonly name: string },
): { readonly head: Uint8Array<ArrayBuffer>; readonly ranges: readonly Range[]; readonly size: number } {
  const fragments = tracks.map((run) => ({ run, stretches: stretchesOf(run) }));
  const ranges = rangesOf(
    fragments.flatMap(({ stretches }) => stretches),
    options.name,
  );
  const { end: media, of: placeOf } = placesIn(ranges);
  if (media > maxSegmentBytes)
    throw new Refusal(`${options.name} would have ${media} bytes; expected ${maxSegmentBytes} at most`);
  const sizes = fragments.map(
    ({ run, stretches }) => TRACK_HEAD + stretches.length * RUN_HEAD + run.taken * rowBytes(run),
  );
  const moofSize = sizes.reduce((sum, size) => sum + size, 24);
  const head = new Uint8Array(moofSize + 8);
  const view = new DataView(head.buffer);
  writeHead(view, 0, moofSize, MOOF);
  writeHead(view, 8, 16, MFHD);
  view.setUint32(20, options.sequence);
  let at = 24;
  fragments.forEach(({ run, stretches }, index) => {
    writeTrackHead(view, { at, size: sizes[index], run });
    at += TRACK_HEAD;
    for (const { first, end, from } of stretches)
      at = writeRun(view, { at, run, first, end, data: moofSize + 8 + placeOf(from) });
  });
  writeHead(view, at, media + 8, MDAT);
  return { head, ranges, size: head.length + media };
}

/** Samples `first` up to `end` of a track, whose bytes lie one behind the other. */
interface Stretch {
  readonly first: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

function stretchesOf({ table, taken }: SegmentTrack): Stretch[] {
  const stretches: Stretch[] = [];
  let first = 0;
  for (let i = 0; i < taken; i += 1) {
    const row = i * STRIDE;
    const to = table[row + OFFSET] + table[row + SIZE];
    if (i + 1 < taken && table[row + STRIDE + OFFSET] === to) continue;
    stretches.push({ first, end: i + 1, from: table[first * STRIDE + OFFSET], to });
    first = i + 1;
  }
  return stretches;
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
