import { Refusal } from '../mp4/inspect/boxes.ts';
import type { FilmTrack } from '../mp4/inspect/read-film.ts';
import type { SampleCursor } from '../mp4/inspect/samples.ts';
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

/** Seconds of a segment: at least, about, and at most where a key frame allows it. */
export const minSegment = 2;
const targetSegment = 4;
const maxSegment = 6;
/** Seconds after which a segment ends without a key frame: players begin there only with what is before it. */
const segmentLimit = 20;
/** Samples of one track in a segment. */
const maxSegmentSamples = 10_000;
const maxSegments = 200_000;

/** Where a segment begins. */
export interface Cut {
  /** Number of the first sample of the leading track in it. */
  readonly number: number;
  /** Seconds. */
  readonly time: number;
  /** Which configuration of the leading track it has. */
  readonly entry: number;
}

export interface LeadingSample {
  readonly number: number;
  /** When it is shown, seconds. */
  readonly time: number;
  readonly isSync: boolean;
  readonly entry: number;
}

/**
 * Where the segments of a film begin: at key frames, so that they last between `minSegment` and `maxSegment` and about
 * `targetSegment` where key frames allow it, and wherever the configuration changes. Takes the samples of the leading track
 * one after another.
 */
export class Cuts {
  readonly #cuts: Cut[];
  /** The last key frame in the segment that is long enough to end there. */
  #candidate: LeadingSample | undefined;

  constructor(first: Cut) {
    this.#cuts = [first];
  }

  get all(): readonly Cut[] {
    return this.#cuts;
  }

  get #last(): Cut {
    return this.#cuts[this.#cuts.length - 1];
  }

  take(sample: LeadingSample): void {
    const { number, time, isSync, entry } = sample;
    if (number === this.#last.number) return;
    if (entry !== this.#last.entry) {
      this.cut(sample);
      return;
    }
    if (isSync) {
      if (this.#candidate !== undefined && time - this.#last.time > maxSegment) this.cut(this.#candidate);
      const lasts = time - this.#last.time;
      if (lasts >= targetSegment) this.cut(sample);
      else if (lasts >= minSegment) this.#candidate = sample;
    }
    const { number: begin, time: start } = this.#last;
    if (number - begin >= maxSegmentSamples || time - start >= segmentLimit)
      this.cut(this.#candidate ?? sample);
  }

  cut({ number, time, entry }: Cut): void {
    this.#candidate = undefined;
    if (this.#cuts.length >= maxSegments)
      throw new Refusal(`it would have more than ${maxSegments} segments`);
    this.#cuts.push({ number, time: Math.max(time, this.#last.time), entry });
  }

  /** The leading track is over, at this time: what is left is not longer than it need be. */
  end(time: number): void {
    if (this.#candidate !== undefined && time - this.#last.time > maxSegment) this.cut(this.#candidate);
  }

  /** Cuts where the leading track has nothing, from the last cut to `until`. */
  fill(until: number, { number, entry }: Omit<Cut, 'time'>): void {
    for (;;) {
      const time = this.#last.time + targetSegment;
      if (until - time < minSegment) return;
      this.cut({ number, time, entry });
    }
  }
}
