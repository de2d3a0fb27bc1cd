import { maxPixels } from '../../../core/ports/converter.ts';
import type { Container } from '../../../core/ports/inspector.ts';
import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import type { FfmpegCommand, FfmpegOptions } from '../ffmpeg/command.ts';
import { type H264Settings, h264Options, NEVER, thinning } from '../ffmpeg/h264.ts';

/** Sound tracks that are taken over. */
export const maxAudioTracks = 8;
/** ms of film that ffmpeg keeps for one fragment where key frames are further apart. */
const maxFragment = 10_000;
/** Longer side of a picture that is encoded when a file is normalised, pixels. */
export const maxNormalisedSide = 3840;
/** bit/s of a normalised file by an encoder without constant quality, and of encoded sound. */
const hardwareRate = 8_000_000;
const soundRate = 192_000;

/** What a process is to make of what it reads. */
export interface ConversionPlan {
  readonly container: Container;
  readonly video: 'copy' | EncodedVideo;
  /** For each track of sound in its order; one that is not there is passed over. */
  readonly audio: readonly ('copy' | 'aac')[];
}

export type EncodedVideo =
  /** As the profile says. */
  | { readonly profile: RenditionProfile }
  /** As good as it came. */
  | 'good';

export interface ConversionSettings {
  readonly h264: H264Settings;
  /** Threads that decode, filter and encode, each. */
  readonly threads: number;
}

export function conversionCommand(plan: ConversionPlan, settings: ConversionSettings): FfmpegCommand {
  const { container, video, audio } = plan;
  const { threads } = settings;
  return {
    input: { format: container, options: inputOptions(container, threads) },
    output: {
      target: 'pipe:1',
      format: 'mp4',
      protocol: 'pipe',
      options: {
        // `V`: no cover pictures.
        map: ['0:V:0', ...audio.map((_, index) => `0:a:${index}?`)],
        map_metadata: -1,
        map_chapters: -1,
        threads,
        filter_threads: threads,
        ...(video === 'copy' ? { 'c:v:0': 'copy' } : videoOptions(video, settings)),
        ...Object.assign({}, ...audio.map((codec, index) => soundOptions(codec, { index, container }))),
        video_track_timescale: 90_000,
        // In microseconds.
        frag_duration: maxFragment * 1000,
        movflags: '+frag_keyframe+delay_moov+default_base_moof',
      },
    },
  };
}

/**
 * What it may read. The demuxer is named, none may be chosen in its place or opened within it, and it has one way to bytes: its standard
 * input. Only decoders that films have are let at them, and no picture larger than is converted.
 */
function inputOptions(container: Container, threads: number): FfmpegOptions {
  return {
    format_whitelist: demuxers[container],
    codec_whitelist: decoders.join(','),
    max_pixels: maxPixels,
    threads,
    // Samples that are said to lie in other files; off by itself, and here in case that changes.
    ...(container === 'mp4' && { enable_drefs: 0, use_absolute_path: 0 }),
  };
}

/** As ffmpeg calls them: one of the names of each. */
const demuxers: Readonly<Record<Container, string>> = {
  mp4: 'mov',
  matroska: 'matroska',
  mpegts: 'mpegts',
  flv: 'flv',
  avi: 'avi',
  mpeg: 'mpeg',
};

const decoders = [
  ...['h264', 'hevc', 'av1', 'libdav1d', 'libaom-av1', 'vp8', 'vp9', 'libvpx', 'libvpx-vp9', 'vp6', 'vp6f'],
  ...['mpeg4', 'mpeg2video', 'mpeg1video', 'msmpeg4', 'msmpeg4v2', 'h263', 'flv', 'mjpeg', 'prores'],
  ...['dnxhd', 'dvvideo', 'vc1', 'wmv1', 'wmv2', 'wmv3', 'theora', 'ffv1', 'huffyuv', 'ffvhuff', 'rawvideo'],
  ...['aac', 'aac_latm', 'mp3', 'mp3float', 'mp2', 'mp2float', 'ac3', 'eac3', 'dca', 'opus', 'libopus'],
  ...['vorbis', 'libvorbis', 'flac', 'alac', 'truehd', 'speex', 'libspeex', 'nellymoser', 'amrnb', 'amrwb'],
  ...['pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_s32le', 'pcm_s32be', 'pcm_f32le', 'pcm_u8'],
  ...['pcm_s8', 'pcm_alaw', 'pcm_mulaw', 'pcm_bluray', 'pcm_dvd', 'adpcm_ms', 'adpcm_ima_wav', 'adpcm_swf'],
];

/**
 * Key frames each two seconds where the profile names no `gop`, whatever the source has: then segments of HLS are alike, one can
 * seek, and two sizes of one film can be cut at the same places. By time and not by number, since pictures need not come evenly.
 */
function videoOptions(video: EncodedVideo, { h264 }: ConversionSettings): FfmpegOptions {
  const profile = video === 'good' ? good : video.profile;
  const { gop = '2' } = profile;
  const encoding = h264Options({ profile, frameRate: undefined, isLive: false, stream: 0 }, h264);
  const keyFrames: FfmpegOptions =
    gop === 'intra'
      ? { 'g:v:0': 1 }
      : { 'g:v:0': NEVER, 'force_key_frames:v:0': `expr:gte(t,n_forced*${Number(gop)})` };
  const { 'force_key_frames:v:0': _, ...plain } = encoding;
  return {
    ...(video === 'good' && h264.encoder === 'libx264' ? withQuality(plain) : plain),
    ...keyFrames,
    'filter:v:0': filters(profile),
    // As they come, on a clock that is fine enough for all.
    'fps_mode:v:0': 'vfr',
    'enc_time_base:v:0': '1:90000',
  };
}

/** Its size is that of the source, up to a bound. */
const good: RenditionProfile = {
  name: 'good',
  width: maxNormalisedSide,
  height: maxNormalisedSide,
  bitrate: hardwareRate,
  fps: 0,
};

/** x264 knows what is good enough, whatever the size. */
function withQuality(options: FfmpegOptions): FfmpegOptions {
  const rates = ['b:v:0', 'maxrate:v:0', 'bufsize:v:0'];
  const others = Object.entries(options).filter(([name]) => !rates.includes(name));
  return { ...Object.fromEntries(others), 'crf:v:0': quality };
}

/** Hardly different from the source. */
const quality = 20;

/** Fits the picture as it is seen into the profile's: square pixels, even sides, never larger than it came, and never more of them. */
function filters({ width, height, fps, fpsDen = 1 }: RenditionProfile): string {
  // `sar`: how wide a pixel is; 1 if the film does not say.
  const shrink = `min(1,min(${width}/(iw*sar),${height}/ih))`;
  const side = (seen: string, most: number) =>
    `max(2,min(2*floor(min(${most},${seen})/2),2*round(${seen}*${shrink}/2)))`;
  const scale = `scale=w='${side('iw*sar', width)}':h='${side('ih', height)}'`;
  const thinned = fps > 0 ? [thinning({ fps, fpsDen }, { fromKeyFrames: false })] : [];
  return [...thinned, scale, 'setsar=1', 'format=yuv420p'].join(',');
}

function soundOptions(
  codec: 'copy' | 'aac',
  { index, container }: { index: number; container: Container },
): FfmpegOptions {
  const name = `c:a:${index}`;
  if (codec === 'aac') return { [name]: 'aac', [`b:a:${index}`]: soundRate };
  // There each frame has a header of its own (ADTS), which mp4 has once.
  return { [name]: 'copy', ...(container === 'mpegts' && { [`bsf:a:${index}`]: 'aac_adtstoasc' }) };
}

/**
 * The encoder of the deployment (`renditions.encoder`), for films too. Not that of VAAPI, which takes pictures from the memory of
 * a graphics processor alone: nothing here waits for a film, so that is encoded by libx264.
 */
export function encoderOf({
  encoder,
  preset,
}: {
  readonly encoder: string;
  readonly preset?: string;
}): H264Settings {
  const isX264 = encoder === 'libx264';
  if (encoder === 'h264_vaapi') return { encoder: 'libx264', preset: 'veryfast' };
  return { encoder, preset: preset ?? (isX264 ? 'veryfast' : undefined) };
}

/** Whether an encoder is one of a graphics device. */
export function usesDevice({ encoder }: Pick<H264Settings, 'encoder'>): boolean {
  return encoder !== 'libx264';
}
