import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import type { FfmpegOptions } from './command.ts';

/** libx264 counts in thousands and does not open with 0. */
const minBitrate = 1000;
/** ffmpeg stores twice as much in 32 bits. */
const maxBitrate = 1_000_000_000;

/** How this deployment encodes H.264. */
export interface H264Settings {
  /** Name of ffmpeg's encoder: `libx264`, or one of hardware such as `h264_nvenc`. */
  readonly encoder: string;
  /** `-preset`, in the words of that encoder; undefined: its default. */
  readonly preset: string | undefined;
}

/** What an encoder is to make of one profile. */
export interface H264Order {
  readonly profile: Pick<RenditionProfile, 'bitrate' | 'gop' | 'profile'>;
  /** Of the pictures that come to the encoder; undefined: not known. */
  readonly frameRate: number | undefined;
  /** Pictures must come out as they go in, one for one: no look ahead, no B-frames. */
  readonly isLive: boolean;
  /** Which video stream of the output it is. */
  readonly stream: number;
}

/**
 * Output options for one stream. Key frames are those of the source (`force_key_frames source`), and more where the profile has
 * a `gop`; the encoder adds none by itself. The rate is bounded over a second (live) or two, so that a segment is what its
 * BANDWIDTH says.
 */
export function h264Options(order: H264Order, settings: H264Settings): FfmpegOptions {
  const { profile, isLive, stream } = order;
  const { encoder, preset } = settings;
  // One that an encoder does not open with would take the other renditions with it: they are of one process.
  const bitrate = Math.min(maxBitrate, Math.max(minBitrate, profile.bitrate));
  const of = (name: string) => `${name}:v:${stream}`;
  const isX264 = encoder === 'libx264';
  return {
    [of('c')]: encoder,
    ...(preset !== undefined && { [of('preset')]: preset }),
    ...(isX264 && { [of('sc_threshold')]: 0 }),
    ...(isLive && namedFor(stream, atOnce[encoder] ?? {})),
    ...(isLive && { [of('bf')]: 0 }),
    ...(profile.profile && { [of('profile')]: profileName(profile.profile, encoder) }),
    [of('b')]: bitrate,
    [of('maxrate')]: bitrate,
    [of('bufsize')]: isLive ? bitrate : 2 * bitrate,
    [of('g')]: pictures(order),
    [of('forced-idr')]: 1,
    [of('force_key_frames')]: 'source',
  };
}

/** What makes each encoder give out a picture as soon as it has it. Those of hardware are by their documentation: tried is libx264. */
const atOnce: Readonly<Record<string, FfmpegOptions>> = {
  // The tuning counts bits by pictures; `force-cfr=0` has them counted by time again, which rates that vary need.
  libx264: { tune: 'zerolatency', 'x264-params': 'force-cfr=0' },
  h264_nvenc: { tune: 'll', delay: 0 },
  h264_qsv: { async_depth: 1, look_ahead: 0 },
  h264_videotoolbox: { realtime: 1 },
};

function namedFor(stream: number, options: FfmpegOptions): FfmpegOptions {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [`${name}:v:${stream}`, value]));
}

/** VAAPI knows no other baseline. */
function profileName(profile: keyof typeof profileNames, encoder: string): string {
  const name = profileNames[profile];
  return encoder === 'h264_vaapi' && name === 'baseline' ? 'constrained_baseline' : name;
}

const profileNames = {
  H264Baseline: 'baseline',
  H264Main: 'main',
  H264High: 'high',
  // That is what x264 calls a baseline without what nobody has; of high there is no such word.
  H264ConstrainedHigh: 'high',
} as const;

/** Most pictures from one key frame to the next. */
function pictures({ profile, frameRate }: H264Order): number {
  const { gop } = profile;
  if (gop === undefined) return NEVER;
  if (gop === 'intra') return 1;
  return Math.max(1, Math.min(NEVER, Math.round(Number(gop) * (frameRate ?? 30))));
}

/** Pictures from one key frame to the next: so many that those which are forced come first. */
export const NEVER = 1_000_000;

/**
 * A filter that keeps at most `fps / fpsDen` pictures a second: the first of each slot. It changes no time and repeats no picture.
 * (The filter `fps` does both: it makes millions out of a small film whose pictures are far apart.)
 *
 * `fromKeyFrames`: slots count from the last key frame, and key frames are always kept, so that the segments of all renditions begin
 * at the same time. Otherwise slots count from the start: in many films every picture is a key frame.
 *
 * The very first picture is always kept: behind `trim` it is usually no key frame.
 */
export function thinning(
  { fps, fpsDen }: { readonly fps: number; readonly fpsDen: number },
  { fromKeyFrames }: { fromKeyFrames: boolean },
): string {
  const since = (time: string) => (fromKeyFrames ? `(${time}-ld(0))` : time);
  // A tenth of a slot early, because times of RTMP are whole milliseconds.
  const slot = (time: string) => `floor(${since(time)}*${fps}/${fpsDen}+0.1)`;
  const isNext = `gt(${slot('t')},${slot('prev_selected_t')})`;
  return fromKeyFrames
    ? `select='if(key+isnan(prev_selected_t),st(0,t)*0+1,${isNext})'`
    : `select='if(isnan(prev_selected_t),1,${isNext})'`;
}
