import type { PushOrder } from '../../../core/ports/pusher.ts';
import type { AudioConfig, VideoConfig } from '../codecs/config.ts';
import { GONE } from '../live/cutter.ts';
import { TRACK_PATIENCE } from '../live/track-selection.ts';
import type { Announced, PublishedHeader, SampleSubscriber } from '../publish/subscriber.ts';
import { encodeAmf0 } from '../rtmp/amf0.ts';
import { Push, type PushedBroadcast, type PushHost } from './push.ts';

/**
 * The pushes of one playlist, of its source or one of its renditions, across all publishes of it. It keeps headers only and
 * allocates nothing for a message; with no push it costs one look at `isActive`.
 */
export class PushRelay implements PushedBroadcast, SampleSubscriber {
  readonly playbackId: string;
  /** Something is pushed: `video` and `audio` are to be called. */
  isActive = false;
  isLive = false;
  readonly #host: PushHost;
  readonly #onEnd: () => void;
  #pushes: readonly Push[] = [];
  #isEnded = false;
  #video: PushedHeader<VideoConfig> | undefined;
  #audio: PushedHeader<AudioConfig> | undefined;
  #announced: Announced | undefined;
  /** Of the publish before: the same header is the same object. */
  #formerVideo: Uint8Array | undefined;
  #formerAudio: Uint8Array | undefined;
  /** By `videoOnly`: the data message, and whether it is still right. */
  readonly #metadata: { bytes: Uint8Array | undefined; isRight: boolean }[] = [
    { bytes: undefined, isRight: false },
    { bytes: undefined, isRight: false },
  ];
  /** By how much the timeline of the pushes is later than that of the playlist, ms. */
  #shift = 0;
  /** No media of this publish came yet. */
  #isFresh = true;
  /** Times, ms: of the newest message of each track, of the newest of all, and of the first that was seen; -1: none. */
  #lastVideo = -1;
  #lastAudio = -1;
  #latest = -1;
  #since = -1;
  /** Of the newest picture since then. */
  #videoSeen = -1;

  constructor(playbackId: string, options: { host: PushHost; onEnd: () => void }) {
    this.playbackId = playbackId;
    this.#host = options.host;
    this.#onEnd = options.onEnd;
  }

  get pushes(): readonly Push[] {
    return this.#pushes;
  }

  get videoHeader(): Uint8Array | undefined {
    return this.#video?.body;
  }

  get audioHeader(): Uint8Array | undefined {
    return this.#audio?.body;
  }

  metadata(videoOnly: boolean): Uint8Array {
    const known = this.#metadata[videoOnly ? 1 : 0];
    if (known.bytes !== undefined && known.isRight) return known.bytes;
    const bytes = onMetaData({
      video: this.#video,
      audio: videoOnly ? undefined : this.#audio,
      announced: this.#announced,
    });
    known.isRight = true;
    known.bytes = kept(known.bytes, bytes);
    return known.bytes;
  }

  isVideoDue(time: number): boolean {
    if (this.#video !== undefined) return time - this.#videoSeen <= GONE;
    const waited = time - this.#since;
    if (this.#announced === undefined) return waited < TRACK_PATIENCE;
    return this.#announced.hasVideo && waited < 2 * TRACK_PATIENCE;
  }

  /** A publish begins; a former one is over. */
  begin(): void {
    if (this.#isEnded) return;
    this.#formerVideo = this.#video?.body ?? this.#formerVideo;
    this.#formerAudio = this.#audio?.body ?? this.#formerAudio;
    this.#video = this.#audio = this.#announced = undefined;
    this.#forgetMetadata();
    this.isLive = this.#isFresh = true;
    this.#since = -1;
    for (const push of this.#pushes) push.begin();
  }

  /** The publisher is gone, and may come back. */
  hold(): void {
    if (!this.isLive) return;
    this.isLive = false;
    for (const push of this.#pushes) push.hold();
  }

  /** The playlist is over. */
  end(): void {
    if (this.#isEnded) return;
    this.want([]);
    this.#isEnded = true;
    this.isLive = false;
    this.#onEnd();
  }

  /** See `Pusher.want`. Each `id` once. */
  want(orders: readonly PushOrder[]): void {
    if (this.#isEnded) return;
    const former = new Map(this.#pushes.map((push) => [push.order.id, push]));
    const wanted = new Map<string, Push>();
    const fresh: Push[] = [];
    for (const order of orders) {
      const known = former.get(order.id);
      if (known?.order.url === order.url && known.order.videoOnly === order.videoOnly) {
        former.delete(order.id);
        wanted.set(order.id, known);
        continue;
      }
      const push = new Push(order, { host: this.#host, broadcast: this });
      wanted.set(order.id, push);
      fresh.push(push);
    }
    this.#pushes = [...wanted.values()];
    // What came while nothing was pushed was not looked at.
    if (!this.isActive) this.#since = -1;
    this.isActive = this.#pushes.length > 0;
    for (const push of former.values()) push.end();
    for (const push of fresh) push.start();
  }

  configureVideo(header: PublishedHeader<VideoConfig>): void {
    this.#video = pushed(header, this.#video?.body ?? this.#formerVideo);
    this.#forgetMetadata();
    for (const push of this.#pushes) push.restartVideo();
  }

  configureAudio(header: PublishedHeader<AudioConfig>): void {
    this.#audio = pushed(header, this.#audio?.body ?? this.#formerAudio);
    this.#forgetMetadata();
  }

  announce(announced: Announced): void {
    if (!announced.hasVideo && !announced.hasAudio) return;
    this.#announced = announced;
    this.#forgetMetadata();
  }

  video(bytes: Uint8Array, start: number, end: number, time: number, isKey: boolean, now: number): void {
    const at = Math.max(this.#place(time), this.#lastVideo + 1);
    this.#lastVideo = this.#videoSeen = at;
    if (at > this.#latest) this.#latest = at;
    const pushes = this.#pushes;
    for (let index = 0; index < pushes.length; index += 1)
      pushes[index].video(bytes, start, end, at, isKey, now);
  }

  /** The same for sound. */
  audio(bytes: Uint8Array, start: number, end: number, time: number, now: number): void {
    const at = Math.max(this.#place(time), this.#lastAudio + 1);
    this.#lastAudio = at;
    if (at > this.#latest) this.#latest = at;
    const pushes = this.#pushes;
    for (let index = 0; index < pushes.length; index += 1) pushes[index].audio(bytes, start, end, at, now);
  }

  /** The time on the timeline of the pushes, whole ms. A publish begins behind the one before it. */
  #place(time: number): number {
    let at = Math.round(time) + this.#shift;
    if (this.#isFresh) {
      this.#isFresh = false;
      // A second later, so that what comes a little early still has a time of its own.
      const late = this.#latest < 0 || at > this.#latest ? 0 : this.#latest + 1000 - at;
      this.#shift += late;
      at += late;
    }
    if (this.#since < 0) this.#since = this.#videoSeen = at;
    return at;
  }

  #forgetMetadata(): void {
    for (const known of this.#metadata) known.isRight = false;
  }
}

function pushed<C>(header: PublishedHeader<C>, former: Uint8Array | undefined): PushedHeader<C> {
  const { bytes, start, end, codec, config } = header;
  return { body: kept(former, bytes.slice(start, end)), codec, config };
}

/** The same bytes stay the same object: that is how connections know what they have sent. */
function kept(former: Uint8Array | undefined, bytes: Uint8Array): Uint8Array {
  return former !== undefined && Buffer.compare(former, bytes) === 0 ? former : bytes;
}

/** What is in force for one track. */
interface PushedHeader<C> {
  /** The sequence header, a whole FLV body. */
  readonly body: Uint8Array;
  /** FourCC as a number. */
  readonly codec: number;
  readonly config: C;
}

/**
 * A data message with `@setDataFrame` and `onMetaData` (Adobe FLV 10.1, E.5; codec ids as in Enhanced RTMP v2). Of numbers that
 * were read and held against bounds alone: nothing that the encoder sent is passed on as it is.
 */
function onMetaData(tracks: {
  video?: PushedHeader<VideoConfig>;
  audio?: PushedHeader<AudioConfig>;
  announced?: Announced;
}): Uint8Array {
  const { video, audio, announced } = tracks;
  const values = {
    ...(video && {
      width: video.config.width,
      height: video.config.height,
      framerate: announced?.frameRate ?? video.config.frameRate,
      videodatarate: announced?.videoRate,
      videocodecid: video.body[0] & 0x80 ? video.codec : video.body[0] & 15,
    }),
    ...(audio && {
      audiosamplerate: audio.config.sampleRate,
      audiosamplesize: 16,
      stereo: audio.config.channels > 1,
      audiodatarate: announced?.audioRate,
      audiocodecid: audio.body[0] >> 4 === ENHANCED ? audio.codec : audio.body[0] >> 4,
    }),
    encoder: 'Millrace',
  };
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  const [, ...members] = encodeAmf0([Object.fromEntries(known)]);
  // Encoders send an ECMA array, and so do we: some servers look for nothing else.
  const count = [0, 0, known.length >> 8, known.length & 255];
  return Uint8Array.of(...encodeAmf0(['@setDataFrame', 'onMetaData']), ECMA_ARRAY, ...count, ...members);
}

/** SoundFormat. */
const ENHANCED = 9;
/** AMF0 2.10. */
const ECMA_ARRAY = 8;
