import type { AudioConfig, VideoConfig } from '../codecs/config.ts';

/**
 * Takes what a publish brings, as it is finished: the recorder, renditions. All of it is called on the thread that reads
 * sockets, returns at once and throws nothing.
 */
export interface Subscriber {
  /** The parts that follow need this init segment, and do not continue what was before. */
  begin?(init: PublishedInit): void;
  /** A part as it was cut. The bytes are good during the call. */
  part?(bytes: Uint8Array, part: CutPart): void;
  /** The live playlist has changed. */
  changed?(): void;
  /** What is wrong on its side now, for the person at the encoder. */
  readonly issues?: readonly string[];
  /** The publish is over; all of it was handed over. */
  end?(): void;
}

export interface PublishedInit {
  readonly bytes: Uint8Array;
  /** RFC 6381. */
  readonly codecs: readonly string[];
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly frameRate: number | undefined;
}

export interface PublishedPart {
  /** Epoch ms of its first sample. */
  readonly wallStart: number;
  /** Seconds. */
  readonly duration: number;
  /** It contains a key frame. */
  readonly isIndependent: boolean;
  /** A segment begins with it. */
  readonly startsSegment: boolean;
}

/** The same on the timeline of the playlist. */
export interface CutPart extends PublishedPart {
  /** Decode time of its first sample, ms. */
  readonly time: number;
}

/**
 * Takes samples as they come, before they are cut into parts: pushes. FLV bodies `bytes[start, end)`, good during the call.
 * Times in ms on the timeline of the playlist; `now` in epoch ms.
 */
export interface SampleSubscriber {
  /** `video` and `audio` are to be called. */
  readonly isActive: boolean;
  /** What the encoder says that it sends. */
  announce(announced: Announced): void;
  /** Another header is in force. */
  configureVideo(header: PublishedHeader<VideoConfig>): void;
  configureAudio(header: PublishedHeader<AudioConfig>): void;
  /**
   * Numbers one by one, because this is called for every message. The frame itself is `bytes[at, end)`; `shift`: by how much later
   * it is shown than decoded, ms.
   */
  video(
    bytes: Uint8Array,
    start: number,
    end: number,
    time: number,
    isKey: boolean,
    now: number,
    at: number,
    shift: number,
  ): void;
  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number, at: number): void;
}

export interface PublishedHeader<C> {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** As `flv/message.ts` names it. */
  readonly codec: number;
  readonly config: C;
}

export interface Announced {
  readonly hasVideo: boolean;
  readonly hasAudio: boolean;
  readonly frameRate: number | undefined;
  /** kbit/s */
  readonly videoRate: number | undefined;
  readonly audioRate: number | undefined;
}
