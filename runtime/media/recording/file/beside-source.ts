import type { Variant } from '../../../../core/hls/playlist.ts';
import {
  type IndexedInit,
  type IndexedSegment,
  type SegmentIndex,
  variantOf,
  writeSegmentIndex,
} from '../../../../core/vod/segment-index.ts';
import { bandwidthOf } from './finish-file.ts';

/** A rendition next to its source. */
export interface BesideSource {
  /** As long as the source's; where the rendition has no segment the source's stands (`core/vod/segment-index.ts`). */
  readonly index: Uint8Array<ArrayBuffer>;
  /** Of its own segments alone: missing ones are the exception, and players choose by what is usual. */
  readonly variant: Variant;
  /** Share of the film, by time, that is its own: 0 to 1. */
  readonly share: number;
}

/**
 * Puts the segments of a rendition where those of its source are: a segment replaces one that began at the same moment and
 * lasts as long. Other segments of the rendition (half of one because the encoder failed, or one that the source lacks) are
 * not shown. So both have the same numbers, lengths and discontinuities.
 */
export function besideSource(
  source: SegmentIndex,
  own: { readonly inits: readonly IndexedInit[]; readonly segments: readonly IndexedSegment[] },
): BesideSource {
  const counterparts = counterpartsOf(source, own.segments);
  const shown = counterparts.filter((segment) => segment !== undefined);
  const inits = own.inits.filter(({ ofSource }) => ofSource === undefined);
  const borrowed = source.inits.map((init, number) => ({ ...init, ofSource: number }));
  const bandwidth = bandwidthOf(shown);
  let duration = 0;
  let ownDuration = 0;
  const segments = counterparts.map((counterpart, number) => {
    const segment = source.segment(number);
    duration += segment.duration;
    if (counterpart === undefined) return { ...segment, init: inits.length + segment.init };
    ownDuration += segment.duration;
    const { at, size, init } = counterpart;
    return { ...segment, at, size, init };
  });
  // A player must be able to decode the borrowed segments too.
  const codecs = shown.length < source.count ? borrowed : [];
  const { codecs: all } = variantOf({ inits: [...inits, ...codecs], bandwidth });
  return {
    index: writeSegmentIndex({ inits: [...inits, ...borrowed], bandwidth, segments }),
    variant: { ...variantOf({ inits, bandwidth }), codecs: all },
    share: duration > 0 ? ownDuration / duration : 0,
  };
}

/** For each segment of the source its counterpart, ascending; undefined: there is none. */
function counterpartsOf(
  source: SegmentIndex,
  own: readonly IndexedSegment[],
): (IndexedSegment | undefined)[] {
  const numbers = new Map(own.map(({ wallStart }, number) => [Math.round(wallStart), number]));
  let last = -1;
  return Array.from({ length: source.count }, (_, number) => {
    const { wallStart, duration } = source.segment(number);
    const found = numbers.get(Math.round(wallStart)) ?? -1;
    if (found <= last || Math.abs(own[found].duration - duration) > mostAway) return undefined;
    last = found;
    return own[found];
  });
}

/** Seconds by which a segment may differ in length from its source's; beyond that a part of it is missing. */
const mostAway = 0.02;
