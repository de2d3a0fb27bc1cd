import { readAudioHeader, readVideoHeader } from '../../runtime/media/codecs/headers.ts';
import { AUDIO_AAC, VIDEO_AVC } from '../../runtime/media/flv/message.ts';
import {
  CTS,
  DTS,
  fragmentSize,
  OFFSET,
  type Run,
  SIZE,
  STRIDE,
  SYNC,
  writeFragment,
} from '../../runtime/media/mp4/fragment.ts';
import { writeInit } from '../../runtime/media/mp4/init.ts';
import type { PublishedInit, PublishedPart } from '../../runtime/media/publish/subscriber.ts';
import type { GrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { AAC_48000_STEREO, AVC_360P } from '../hls/feed.ts';

/** One sample as a test names it, times in ticks. */
export interface Sample {
  readonly dts: number;
  readonly duration: number;
  readonly size: number;
  readonly cts?: number;
  readonly isSync?: boolean;
  /** Of `size` bytes; otherwise each byte tells which sample it is of. */
  readonly bytes?: Uint8Array;
}

export interface Tracks {
  readonly video?: readonly Sample[];
  readonly audio?: readonly Sample[];
}

export const VIDEO_ID = 1;
export const AUDIO_ID = 2;

export function initOf(options: { video?: Uint8Array; audio?: Uint8Array } = {}): PublishedInit {
  const { video = AVC_360P, audio = AAC_48000_STEREO } = options;
  const videoConfig = video.length > 0 ? readVideoHeader(VIDEO_AVC, video) : undefined;
  const audioConfig = audio.length > 0 ? readAudioHeader(AUDIO_AAC, audio) : undefined;
  if (videoConfig && 'malformed' in videoConfig) throw new Error(videoConfig.malformed);
  if (audioConfig && 'malformed' in audioConfig) throw new Error(audioConfig.malformed);
  return {
    bytes: writeInit({
      video: videoConfig && { id: VIDEO_ID, timescale: 90_000, config: videoConfig, record: video },
      audio: audioConfig && { id: AUDIO_ID, config: audioConfig, record: audio },
    }),
    codecs: [videoConfig?.codec, audioConfig?.codec].filter((codec) => codec !== undefined),
    width: videoConfig?.width,
    height: videoConfig?.height,
    frameRate: videoConfig?.frameRate,
  };
}

/** A moof and its mdat. */
export function fragmentOf(tracks: Tracks, sequence = 1): Uint8Array<ArrayBuffer> {
  const runs = [runOf(VIDEO_ID, tracks.video ?? []), runOf(AUDIO_ID, tracks.audio ?? [])];
  const bytes = new Uint8Array(fragmentSize(runs));
  writeFragment(bytes, { at: 0, sequence, runs });
  return bytes;
}

function runOf(id: number, samples: readonly Sample[]): Run {
  const table = new Float64Array(samples.length * STRIDE);
  let at = 0;
  samples.forEach((sample, index) => {
    const row = index * STRIDE;
    table[row + DTS] = sample.dts;
    table[row + CTS] = sample.cts ?? 0;
    table[row + OFFSET] = at;
    table[row + SIZE] = sample.size;
    table[row + SYNC] = Number(sample.isSync ?? true);
    at += sample.size;
  });
  const bytes = new Uint8Array(at);
  let from = 0;
  for (const { size, dts, bytes: own } of samples) {
    if (own === undefined) bytes.fill(1 + ((dts * 7 + id) % 251), from, from + size);
    else bytes.set(own, from);
    from += size;
  }
  const last = samples.at(-1);
  return {
    id,
    isVideo: id === VIDEO_ID,
    table,
    taken: samples.length,
    until: last === undefined ? 0 : last.dts + last.duration,
    bytes,
  };
}

/** One thing that a packager does with a take. */
export type Step =
  | { readonly begin: PublishedInit }
  | { readonly bytes: Uint8Array; readonly part: PublishedPart }
  | { readonly pause: true };

export function apply(file: GrowingFile, step: Step): void {
  if ('begin' in step) file.begin(step.begin);
  else if ('pause' in step) file.pause();
  else file.part(step.bytes, step.part);
}

export interface RunOptions {
  readonly seconds: number;
  /** Seconds on the output's timeline. */
  readonly from?: number;
  readonly wallStart?: number;
  readonly video?: boolean;
  readonly audio?: boolean;
  readonly fps?: number;
  readonly rate?: number;
  /** Pictures between a key frame and the next. */
  readonly gop?: number;
  /** Ticks by which each picture is shown later. */
  readonly delay?: number;
  readonly size?: number;
  readonly init?: PublishedInit;
  /** Parts in a second. */
  readonly parts?: number;
}

/** A run as a packager makes it, key frames every second by default. */
export function runSteps(options: RunOptions): Step[] {
  const { seconds, from = 9, wallStart = 1_700_000_000_000, video = true, audio = true } = options;
  const { fps = 30, rate = 48_000, gop = fps, delay = 0, size = 40, parts = 2 } = options;
  const none = new Uint8Array(0);
  const init =
    options.init ?? initOf({ ...(video ? {} : { video: none }), ...(audio ? {} : { audio: none }) });
  const steps: Step[] = [{ begin: init }];
  const count = Math.round(seconds * parts);
  let frame = 0;
  let sound = 0;
  for (let index = 0; index < count; index += 1) {
    const until = (index + 1) / parts;
    const pictures: Sample[] = [];
    const sounds: Sample[] = [];
    const starts = video ? frame % gop === 0 : index % parts === 0;
    for (; video && frame / fps < until - 1e-9; frame += 1) {
      const dts = Math.round((from + frame / fps) * 90_000);
      const next = Math.round((from + (frame + 1) / fps) * 90_000);
      pictures.push({
        dts,
        duration: next - dts,
        size: size + (frame % 7),
        cts: delay,
        isSync: frame % gop === 0,
      });
    }
    for (; audio && (sound * 1024) / rate < until - 1e-9; sound += 1)
      sounds.push({ dts: Math.round(from * rate) + sound * 1024, duration: 1024, size: 20 + (sound % 5) });
    steps.push({
      bytes: fragmentOf({ video: pictures, audio: sounds }, index + 1),
      part: {
        wallStart: wallStart + (index / parts) * 1000,
        duration: 1 / parts,
        isIndependent: starts,
        startsSegment: starts,
      },
    });
  }
  return steps;
}
