import type { RenditionProfile, TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import type { LadderRun } from './ladder.ts';
import type { TranscodingLimits } from './limits.ts';
import { mostPictures } from './rendition-rate.ts';

/** What is made of one source: a rendition for each profile, and what that takes. */
export interface Plan {
  readonly renditions: readonly PlannedRendition[];
  /** Pixels a second that are encoded, and what decoding and the process itself count as beside them. */
  readonly pixelRate: number;
  readonly decoderThreads: number;
}

export interface PlannedRendition {
  /** Its `bitrate` is what is encoded: less than was asked for where the source is smaller than the profile. */
  readonly profile: RenditionProfile;
  /** Pixels, even. */
  readonly width: number;
  readonly height: number;
  /** Most pictures a second; undefined: all are taken. */
  readonly rate: { readonly fps: number; readonly fpsDen: number } | undefined;
  /** Pixels a second that are encoded. */
  readonly pixelRate: number;
}

type Source = LadderRun['video'];

/**
 * Plans the renditions of a source, or says why there are none. `counted`: pictures a second that it was seen to have, undefined
 * while that is not known; a source may say anything.
 */
export function planOf(
  source: Source,
  options: {
    profiles: readonly RenditionProfile[];
    limits: TranscodingLimits;
    counted: number | undefined;
  },
): Plan | TranscodeTrouble {
  const { profiles, limits, counted } = options;
  const { width, height, frameRate } = source;
  if (width < 2 || height < 2) return trouble(`A picture of ${width} × ${height} cannot be transcoded.`);
  if (width > limits.side || height > limits.side || width * height > limits.picture)
    return trouble(`Its picture of ${width} × ${height} is larger than what is transcoded.`);
  const rate = Math.max(counted ?? 0, frameRate ?? (counted === undefined ? limits.assumedRate : 0));
  if (rate > limits.frameRate)
    return trouble(
      `It has ${Math.round(rate)} pictures a second; at most ${limits.frameRate} are transcoded.`,
    );
  const renditions = profiles.map((profile) => rendition(profile, { source, limits, rate }));
  const encoded = renditions.reduce((sum, one) => sum + one.pixelRate, 0);
  const decoded = width * height * rate;
  const pixelRate = encoded + decoded * limits.decodingWeight + limits.processWork;
  const needed = Math.ceil(decoded / limits.pixelsPerDecoder);
  return { renditions, pixelRate, decoderThreads: Math.max(1, Math.min(limits.decoderThreads, needed)) };
}

/** Fits into the profile with its shape kept, and is never larger than it came. H.264 in 4:2:0 has even sides. */
function rendition(
  profile: RenditionProfile,
  { source, limits, rate: sourceRate }: { source: Source; limits: TranscodingLimits; rate: number },
): PlannedRendition {
  const scale = Math.min(1, profile.width / source.width, profile.height / source.height);
  const side = (from: number, most: number) =>
    Math.max(2, Math.min(2 * Math.round((from * scale) / 2), 2 * Math.floor(Math.min(from, most) / 2)));
  const [width, height] = [side(source.width, profile.width), side(source.height, profile.height)];
  const rate = mostPictures(profile, limits);
  const pictures = Math.min(sourceRate, rate ? rate.fps / rate.fpsDen : sourceRate);
  const fitting = { ...profile, bitrate: fittingRate(profile, { source, limits }) };
  return { profile: fitting, width, height, rate, pixelRate: width * height * pictures };
}

/**
 * bit/s. A picture is not made larger than it came, and then needs less than a profile has for the full size: in proportion to the
 * pixels. Otherwise a source of 720p would come again as a 1080p of more bits than it has itself.
 */
function fittingRate(
  { width, height, bitrate }: RenditionProfile,
  { source, limits }: { source: Source; limits: TranscodingLimits },
): number {
  const spare = Math.max(1, Math.min(width / source.width, height / source.height));
  return Math.round(Math.min(bitrate, Math.max(limits.leastBitrate, bitrate / spare ** 2)));
}

function trouble(message: string): TranscodeTrouble {
  return { reason: 'source', message };
}
