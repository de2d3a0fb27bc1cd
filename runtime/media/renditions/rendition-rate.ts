import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import { transcodingLimits } from './limits.ts';

type Wanted = Pick<RenditionProfile, 'fps' | 'fpsDen'>;

/** Most pictures a second that a profile lets through; undefined: all. */
export function mostPictures(
  { fps, fpsDen = 1 }: Wanted,
  { leastRate }: { readonly leastRate: number } = transcodingLimits,
): { readonly fps: number; readonly fpsDen: number } | undefined {
  if (fps === 0) return undefined;
  return fps / fpsDen < leastRate ? { fps: leastRate, fpsDen: 1 } : { fps, fpsDen };
}

/** Pictures a second of a live rendition: none is doubled, so never more than its source has (undefined: that is not known). */
export function renditionRate(profile: Wanted, sourceRate: number | undefined): number | undefined {
  const most = mostPictures(profile);
  return most === undefined ? sourceRate : Math.min(most.fps / most.fpsDen, sourceRate ?? Infinity);
}
