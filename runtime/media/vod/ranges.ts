import { Refusal } from '../mp4/inspect/boxes.ts';
import { onDemandLimits, waste } from './limits.ts';

/** Bytes `from` up to `to` of the film's file. */
export type Range = readonly [from: number, to: number];

/**
 * What must be read for a segment: its stretches in the order of the file, those that touch as one. Where these are many, what
 * lies between the nearest goes along.
 */
export function rangesOf(
  stretches: readonly { readonly from: number; readonly to: number }[],
  name: string,
): readonly Range[] {
  const { pieces, scattered } = onDemandLimits;
  const sorted = stretches.toSorted((a, b) => a.from - b.from);
  const touching = joined(sorted, 0);
  if (touching.length <= pieces.value) return touching;
  const gaps = touching.slice(1).map(([from], index) => from - touching[index][1]);
  const allowed = touching.reduce((sum, [from, to]) => sum + to - from, 0) * waste;
  const nearest = nearestGaps(gaps, { allowed, enough: touching.length - pieces.value });
  const ranges = joined(sorted, nearest);
  if (ranges.length > scattered.value)
    throw new Refusal(
      `${name} would be put together of ${ranges.length} pieces of the file; expected ${scattered.value} at most`,
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
export function placesIn(ranges: readonly Range[]): { readonly end: number; of(place: number): number } {
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
