import type { SegmentIndex } from '../../core/vod/segment-index.ts';

/** Where the segments of a film begin, seconds; behind the last one its end. */
export type FilmTimes = Float64Array;

/** Made once for each index while that is kept: a film of a week has 200,000 segments. */
export class TimesOf {
  readonly #known = new WeakMap<SegmentIndex, FilmTimes>();

  get(index: SegmentIndex): FilmTimes {
    const known = this.#known.get(index);
    if (known) return known;
    const times = new Float64Array(index.count + 1);
    for (let number = 0; number < index.count; number += 1)
      times[number + 1] = times[number] + index.segment(number).duration;
    this.#known.set(index, times);
    return times;
  }
}

/** Number of the segment that is shown at this time; the last one from its end on. */
export function segmentAt(times: FilmTimes, seconds: number): number {
  let low = 0;
  let high = times.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= seconds) low = middle;
    else high = middle - 1;
  }
  return low;
}
