import { Refusal } from '../mp4/inspect/boxes.ts';
import type { SampleCursor } from '../mp4/inspect/samples.ts';
import { onDemandLimits } from './limits.ts';
import { type PlacedTrack, Samples } from './placed-track.ts';
import type { SegmentTrack } from './segment-head.ts';

/** Deals out the samples of a track, segment by segment. */
export class SegmentFeed {
  readonly #placed: PlacedTrack;
  readonly #samples: Samples;
  /** Ticks from its own time to that of the segments. */
  readonly #offset: number;
  #number = -1;
  /** The sample that comes next; undefined: none. */
  #cursor: SampleCursor | undefined;

  constructor(placed: PlacedTrack, options: { readonly shift: number }) {
    this.#placed = placed;
    this.#samples = new Samples(placed.track);
    this.#offset = placed.offset + Math.round(options.shift * placed.timescale);
    do this.#advance();
    while (this.#cursor !== undefined && this.#number < placed.first);
  }

  /** Samples up to this number, or those shown before this time (seconds); all that are left without. Undefined: none. */
  take(until: { readonly number?: number; readonly time?: number }): SegmentTrack | undefined {
    const { timescale, track } = this.#placed;
    const beforeNumber = until.number ?? Number.POSITIVE_INFINITY;
    const beforeTicks = (until.time ?? Number.POSITIVE_INFINITY) * timescale;
    const columns = {
      durations: [] as number[],
      sizes: [] as number[],
      shifts: [] as number[],
      syncs: [] as boolean[],
      places: [] as number[],
    };
    let start: number | undefined;
    let end = 0;
    for (;;) {
      const cursor = this.#cursor;
      if (cursor === undefined || this.#number >= beforeNumber) break;
      const dts = cursor.dts + this.#offset;
      if (dts + cursor.shift >= beforeTicks) break;
      if (start === undefined) start = end = dts;
      else if (dts !== end) {
        // Fragments may leave gaps, but here all samples follow one beginning: the one before lasts so much longer.
        const last = columns.durations.length - 1;
        const lasts = Math.max(0, columns.durations[last] + dts - end);
        end += lasts - columns.durations[last];
        columns.durations[last] = lasts;
      }
      columns.durations.push(cursor.duration);
      columns.sizes.push(cursor.size);
      columns.shifts.push(cursor.shift);
      columns.syncs.push(cursor.isSync);
      columns.places.push(cursor.at);
      end += cursor.duration;
      if (columns.sizes.length > onDemandLimits.segmentSamples.value)
        throw new Refusal(
          `${track.track.label} has more than ${onDemandLimits.segmentSamples.value} samples in one segment`,
        );
      this.#advance();
    }
    if (start === undefined) return undefined;
    const { isVideo } = this;
    return { id: isVideo ? 1 : 2, isVideo, dts: Math.max(0, start), ...columns };
  }

  get isVideo(): boolean {
    return this.#placed.track.track.handler === 'vide';
  }

  #advance(): void {
    const cursor = this.#samples.next();
    this.#number += 1;
    this.#cursor = this.#number >= this.#placed.end ? undefined : cursor;
  }
}
