import type { FilmTrack } from '../mp4/inspect/read-film.ts';
import type { SampleCursor } from '../mp4/inspect/samples.ts';

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
