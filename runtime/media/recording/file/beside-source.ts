import {
  type IndexedInit,
  type IndexedSegment,
  newSegmentIndex,
  type SegmentIndex,
} from '../../../../core/vod/segment-index.ts';
import { type Variant, variantOf } from '../../../../core/vod/variant.ts';
import type { Steps } from '../steps.ts';
import type { Segments } from '../take-file.ts';
import { bandwidthOf, each } from './finish-take.ts';
import { takeFileLimits } from './limits.ts';

/** A rendition next to its source. */
export interface BesideSource {
  /** As long as the source's; where the rendition has no segment the source's stands (`core/vod/segment-index.ts`). */
  readonly index: Uint8Array<ArrayBuffer>;
  /** Of its own segments alone: that it lacks some is the exception, and players choose by the rule. */
  readonly variant: Variant;
  /** How much of the film is its own, by time: 0 to 1. */
  readonly share: number;
}

/**
 * Puts the segments of a rendition where those of its source are: one takes the place of another which began at the same moment and lasts
 * as long. Whatever else there is of it (half of a segment, because the encoder broke; what the source's recording lacks) is
 * not shown. So the two have the same numbers, lengths and seams, whatever happened to either.
 */
export function* besideSource(
  source: SegmentIndex,
  own: { readonly inits: readonly IndexedInit[]; readonly segments: Segments },
): Steps<BesideSource> {
  const places = yield* placesOf(source, own.segments);
  const shown = new Shown(own.segments, places);
  const inits = own.inits.filter(({ ofSource }) => ofSource === undefined);
  const borrowed = source.inits.map((init, number) => ({ ...init, ofSource: number }));
  const bandwidth = yield* bandwidthOf(shown);
  const index = newSegmentIndex({ inits: [...inits, ...borrowed], bandwidth, count: source.count });
  let lasts = 0;
  let lastsOwn = 0;
  let isHoled = false;
  yield* each(segmentsOf(source), (segment, number) => {
    const place = places[number];
    lasts += segment.duration;
    if (place < 0) {
      isHoled = true;
      index.put(number, { ...segment, init: inits.length + segment.init });
      return;
    }
    lastsOwn += segment.duration;
    const { at, size, init } = own.segments.get(place);
    index.put(number, { ...segment, at, size, init });
  });
  // A player must be able to decode what it borrows too.
  const codecs = isHoled ? borrowed : [];
  const { codecs: all } = variantOf({ inits: [...inits, ...codecs], bandwidth });
  return {
    index: index.bytes,
    variant: { ...variantOf({ inits, bandwidth }), codecs: all },
    share: lasts > 0 ? lastsOwn / lasts : 0,
  };
}

/** For each segment of the source the number of its counterpart, ascending; -1: there is none. */
function* placesOf(source: SegmentIndex, own: Segments): Steps<Int32Array> {
  const starts = new Map<number, number>();
  yield* each(own, ({ wallStart }, number) => starts.set(Math.round(wallStart), number));
  const places = new Int32Array(source.count).fill(-1);
  let last = -1;
  yield* each(segmentsOf(source), ({ wallStart, duration }, number) => {
    const place = starts.get(Math.round(wallStart)) ?? -1;
    if (place <= last || Math.abs(own.get(place).duration - duration) > AWAY) return;
    places[number] = place;
    last = place;
  });
  return places;
}

function segmentsOf(index: SegmentIndex): Segments {
  return { count: index.count, get: (number) => index.segment(number) };
}

/** The segments of a rendition that are shown. */
class Shown implements Segments {
  readonly #own: Segments;
  readonly #places: Int32Array;

  constructor(own: Segments, places: Int32Array) {
    this.#own = own;
    this.#places = places.filter((place) => place >= 0);
  }

  get count(): number {
    return this.#places.length;
  }

  get(number: number): IndexedSegment {
    return this.#own.get(this.#places[number]);
  }
}

const AWAY = takeFileLimits.renditionAway.value / 1000;
