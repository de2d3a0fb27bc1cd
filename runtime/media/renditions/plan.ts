import type { RenditionProfile, TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import type { LadderRun } from './ladder.ts';

/** Pixels a second that one core encodes with libx264 veryfast, beside decoding and scaling: 55 to 65 million were measured. */
export const pixelsPerCore = 48_000_000;
/** What decoding a pixel costs, compared with encoding one. */
const decodingWeight = 0.25;
/** What each process costs beside its pixels, pixels a second. */
const processWork = 1_000_000;
/** Pixels a second that one decoder thread keeps up with: 1080p60. */
const pixelsPerDecoder = 130_000_000;
/** Each further thread delays the output by a picture. */
const maxDecoderThreads = 4;
/** Largest source that is transcoded, pixels. */
const maxSide = 8192;
export const maxPicture = 8192 * 4352;
/** Pictures a second: 120, and some jitter. */
export const maxFrameRate = 150;
/** Frame rate that is assumed until the pictures of a source that tells none were counted. */
const assumedRate = 30;
/** Fewest pictures a second of a live rendition: ffmpeg writes all renditions in order of time, so all wait for the slowest. */
const minRate = 5;
/** bit/s that a rendition keeps when its source is smaller than its profile. */
const minBitrate = 100_000;

/** The renditions of one source, and what they cost. */
export interface Plan {
  readonly renditions: readonly PlannedRendition[];
  /** Pixels a second that are encoded, and what decoding and the process itself count as beside them. */
  readonly pixelRate: number;
  readonly decoderThreads: number;
}

export interface PlannedRendition {
  /** With the bitrate to encode: less than was asked for if the source is smaller than the profile. */
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
    counted: number | undefined;
  },
): Plan | TranscodeTrouble {
  const { profiles, counted } = options;
  const { width, height, frameRate } = source;
  if (width < 2 || height < 2) return trouble(`A picture of ${width} × ${height} cannot be transcoded.`);
  if (width > maxSide || height > maxSide || width * height > maxPicture)
    return trouble(`Its picture of ${width} × ${height} is larger than what is transcoded.`);
  const rate = Math.max(counted ?? 0, frameRate ?? (counted === undefined ? assumedRate : 0));
  if (rate > maxFrameRate)
    return trouble(`It has ${Math.round(rate)} pictures a second; at most ${maxFrameRate} are transcoded.`);
  const renditions = profiles.map((profile) => rendition(profile, { source, rate }));
  const encoded = renditions.reduce((sum, one) => sum + one.pixelRate, 0);
  const decoded = width * height * rate;
  const pixelRate = encoded + decoded * decodingWeight + processWork;
  const needed = Math.ceil(decoded / pixelsPerDecoder);
  return { renditions, pixelRate, decoderThreads: Math.max(1, Math.min(maxDecoderThreads, needed)) };
}

/** Fits into the profile with its shape kept, and is never larger than it came. H.264 in 4:2:0 has even sides. */
function rendition(
  profile: RenditionProfile,
  { source, rate: sourceRate }: { source: Source; rate: number },
): PlannedRendition {
  const scale = Math.min(1, profile.width / source.width, profile.height / source.height);
  const side = (from: number, most: number) =>
    Math.max(2, Math.min(2 * Math.round((from * scale) / 2), 2 * Math.floor(Math.min(from, most) / 2)));
  const [width, height] = [side(source.width, profile.width), side(source.height, profile.height)];
  const rate = mostPictures(profile);
  const pictures = Math.min(sourceRate, rate ? rate.fps / rate.fpsDen : sourceRate);
  const fitting = { ...profile, bitrate: fittingRate(profile, source) };
  return { profile: fitting, width, height, rate, pixelRate: width * height * pictures };
}

/** bit/s, in proportion to the pixels where the source is smaller than the profile: a picture is never enlarged. */
function fittingRate({ width, height, bitrate }: RenditionProfile, source: Source): number {
  const spare = Math.max(1, Math.min(width / source.width, height / source.height));
  return Math.round(Math.min(bitrate, Math.max(minBitrate, bitrate / spare ** 2)));
}

function trouble(message: string): TranscodeTrouble {
  return { reason: 'source', message };
}

type Wanted = Pick<RenditionProfile, 'fps' | 'fpsDen'>;

/** Most pictures a second that a profile lets through; undefined: all. */
function mostPictures({ fps, fpsDen = 1 }: Wanted): PlannedRendition['rate'] {
  if (fps === 0) return undefined;
  return fps / fpsDen < minRate ? { fps: minRate, fpsDen: 1 } : { fps, fpsDen };
}

/** Pictures a second of a live rendition, never more than its source has; undefined: not known. */
export function renditionRate(profile: Wanted, sourceRate: number | undefined): number | undefined {
  const most = mostPictures(profile);
  return most === undefined ? sourceRate : Math.min(most.fps / most.fpsDen, sourceRate ?? Infinity);
}
