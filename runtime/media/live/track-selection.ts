import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import { writeInit } from '../mp4/init.ts';
import { AUDIO } from './timeline.ts';
import { AUDIO_TRACK, VIDEO_TRACK } from './track.ts';
import type { NewInit } from './window.ts';

export interface VideoHeader {
  readonly record: Uint8Array;
  readonly config: VideoConfig;
}
export interface AudioHeader {
  readonly record: Uint8Array;
  readonly config: AudioConfig;
}

/** The init segment of these tracks. `frameRate`: by the encoder's own word. */
export function initOf(
  video: VideoHeader | undefined,
  audio: AudioHeader | undefined,
  frameRate: number | undefined,
): NewInit {
  const sound = audio && { id: AUDIO_TRACK, ...audio };
  const picture = video && { id: VIDEO_TRACK, timescale: 90_000, ...video };
  return {
    bytes: writeInit({ video: picture, audio: sound }),
    audio: sound,
    codecs: [video?.config.codec, audio?.config.codec].filter((codec) => codec !== undefined),
    width: video?.config.width,
    height: video?.config.height,
    frameRate: video && (video.config.frameRate ?? frameRate),
  };
}

/** What an encoder says it will send. */
export interface Expected {
  readonly hasVideo: boolean;
  readonly hasAudio: boolean;
  readonly frameRate: number | undefined;
}

/**
 * Which tracks an encoder sends, as far as is known: by its headers, by its metadata, and by waiting for a
 * while for what does not come. All times in milliseconds of the output's timeline.
 */
export class TrackSelection {
  video: VideoHeader | undefined;
  audio: AudioHeader | undefined;
  /** Takes effect at the next key frame. */
  nextAudio: AudioHeader | undefined;
  /** A track that has a header but has not come for long is not waited for. */
  isVideoGone = false;
  isAudioGone = false;
  /** A track comes in a codec that cannot be passed on. */
  isVideoRefused = false;
  isAudioRefused = false;
  readonly #patience: number;
  #expected: Expected | undefined;
  #isSettled = false;
  #waitsFrom = -1;

  /** @param options.patience how long a key frame is waited for when there is a video header. */
  constructor(options: { patience: number }) {
    this.#patience = options.patience;
  }

  /** Frames per second by the encoder's own word. */
  get frameRate(): number | undefined {
    return this.#expected?.frameRate;
  }

  expect(expected: Expected): void {
    if (expected.hasVideo || expected.hasAudio) this.#expected = expected;
  }

  /** Whether the encoder may still send this track: it has not said otherwise. */
  isAwaited(track: number): boolean {
    const expected = this.#expected;
    return expected === undefined || (track === AUDIO ? expected.hasAudio : expected.hasVideo);
  }

  /** The track comes in a codec that cannot be passed on. */
  refuse(track: number): void {
    if (track === AUDIO) this.isAudioRefused = true;
    else this.isVideoRefused = true;
  }

  /** What there is is known, and media of it begins. */
  settle(): void {
    this.#isSettled = true;
    this.#waitsFrom = -1;
  }

  /** Whether media can begin with what has come by `latest`. `hasPicture`: a key frame waits. */
  canBegin(hasPicture: boolean, latest: number): boolean {
    if (this.#waitsFrom < 0) this.#waitsFrom = latest;
    const waited = latest - this.#waitsFrom;
    if (this.awaitsKeyFrame && !hasPicture) return waited >= this.#patience;
    if (hasPicture && this.audio !== undefined && !this.isAudioGone) return true;
    const expected = this.#expected;
    const isOther = hasPicture ? expected?.hasAudio : expected?.hasVideo;
    const isRefused = hasPicture ? this.isAudioRefused : this.isVideoRefused;
    if (this.#isSettled || isOther === false || isRefused) return true;
    return waited >= (expected?.hasVideo && expected.hasAudio ? 2 : 1) * TRACK_PATIENCE;
  }

  /** The video header is here, so only a key frame is missing. */
  get awaitsKeyFrame(): boolean {
    return this.video !== undefined && !this.isVideoGone;
  }
}

/** How long a second track is waited for that was not announced, ms; one that was, twice as long. */
export const TRACK_PATIENCE = 1000;
