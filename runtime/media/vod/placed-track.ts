import { Refusal } from '../mp4/inspect/boxes.ts';
import type { FilmTrack } from '../mp4/inspect/read-film.ts';
import type { SampleCursor } from '../mp4/inspect/samples.ts';
import { maxSegmentSamples } from './cuts.ts';
import type { SegmentTrack } from './segment-head.ts';

/** Which samples of a track are shown (its edit list, ISO/IEC 14496-12 8.6.6), and when. */
export interface PlacedTrack {
  readonly track: FilmTrack;
  /** Ticks a second. */
  readonly timescale: number;
  /** Numbers of its samples: from `first` up to `end`. */
  readonly first: number;
  readonly end: number;
  /** Seconds on the common timeline: its first sample decoded, and shown; where the last one ends. */
  readonly decodeStart: number;
  readonly start: number;
  readonly stop: number;
  /** Ticks from its own time to the common timeline; added to decode times, rounded as a whole. */
  readonly offset: number;
}

/**
 * Places a track as its edit list says: a pause in front, a beginning behind its first sample, an end. HLS cannot begin
 * between key frames, so pictures begin at the key frame before: that much more is shown. Cuts in the middle are not obeyed.
 * Undefined: nothing of it is shown.
 */
export function placeTrack(
  track: FilmTrack,
  options: { readonly isFragmented: boolean },
): PlacedTrack | undefined {
  const { timescale, edits, handler } = track.track;
  const begin = edits?.start ?? 0;
  const shown = edits === undefined || options.isFragmented ? 0 : (edits.duration - edits.empty) * timescale;
  const until = shown > 0 ? begin + shown : Number.POSITIVE_INFINITY;
  const offset = Math.round((edits?.empty ?? 0) * timescale) - begin;
  const isVideo = handler === 'vide';
  let first: { number: number; dts: number; pts: number } | undefined;
  let stop = Number.NEGATIVE_INFINITY;
  let number = 0;
  const samples = new Samples(track);
  for (let cursor = samples.next(); cursor !== undefined; cursor = samples.next()) {
    const { dts, duration } = cursor;
    if (dts >= until) break;
    const pts = dts + cursor.shift;
    const isFirst = isVideo
      ? first === undefined || (edits !== undefined && cursor.isSync && pts <= begin)
      : first === undefined && (edits === undefined || pts + duration > begin);
    if (isFirst) first = { number, dts, pts };
    stop = Math.max(stop, pts + duration);
    number += 1;
  }
  if (first === undefined) return undefined;
  return {
    track,
    timescale,
    first: first.number,
    end: number,
    decodeStart: (first.dts + offset) / timescale,
    start: (first.pts + offset) / timescale,
    stop: (stop + offset) / timescale,
    offset,
  };
}

/** All samples of a track, one after another. A generator would make an object for each of them. */
export class Samples {
  readonly #cursors: readonly SampleCursor[];
  #at = 0;

  constructor(track: FilmTrack) {
    this.#cursors = track.cursors();
  }

  /** The next sample, to be read before the next call; undefined: it was the last one. */
  next(): SampleCursor | undefined {
    for (; this.#at < this.#cursors.length; this.#at += 1) {
      const cursor = this.#cursors[this.#at];
      if (cursor.next()) return cursor;
    }
    return undefined;
  }
}

/** Hands out the samples of a track, segment by segment. */
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
    const rows: number[] = [];
    let taken = 0;
    let start = 0;
    let end = 0;
    for (;;) {
      const cursor = this.#cursor;
      if (cursor === undefined || this.#number >= beforeNumber) break;
      const dts = cursor.dts + this.#offset;
      if (dts + cursor.shift >= beforeTicks) break;
      // Fragments may leave gaps or overlap: a sample lasts until the next one, and all follow one beginning.
      start = Math.max(dts, start);
      rows.push(start, cursor.shift, cursor.at, cursor.size, Number(cursor.isSync));
      end = start + cursor.duration;
      taken += 1;
      if (taken > maxSegmentSamples)
        throw new Refusal(`${track.track.label} has more than ${maxSegmentSamples} samples in one segment`);
      this.#advance();
    }
    if (taken === 0) return undefined;
    const isVideo = track.track.handler === 'vide';
    return { id: isVideo ? 1 : 2, isVideo, table: Float64Array.from(rows), taken, until: end };
  }

  #advance(): void {
    const cursor = this.#samples.next();
    this.#number += 1;
    this.#cursor = this.#number >= this.#placed.end ? undefined : cursor;
  }
}
