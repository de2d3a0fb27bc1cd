import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import { readAudioHeader, readVideoHeader } from '../codecs/headers.ts';
import { opusDuration } from '../codecs/opus.ts';
import {
  AUDIO_AAC,
  AUDIO_OPUS,
  AudioMessage,
  audioRefusal,
  FRAME,
  HEADER,
  NOTHING,
  OTHER_TRACK,
  VIDEO_AV1,
  VIDEO_AVC,
  VIDEO_HEVC,
  VideoMessage,
  videoRefusal,
} from '../flv/message.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import { Arena, type MediaSink } from '../publish/sink.ts';
import type { SampleSubscriber, Subscriber } from '../publish/subscriber.ts';
import type { OutputConfig } from './config.ts';
import { Cutter } from './cutter.ts';
import { issues } from './issues.ts';
import { Meter } from './meter.ts';
import { AUDIO, Timeline, VIDEO } from './timeline.ts';
import type { LiveWindow } from './window.ts';

export interface IngestOptions {
  readonly grant: PublishGrant;
  readonly clock: Clock;
  readonly window: LiveWindow;
  readonly config: OutputConfig;
  /** What the arenas count against; nothing when undefined. */
  readonly memory?: MemoryShare | undefined;
  /** Their issues are issues of the publish. */
  readonly subscribers?: readonly Subscriber[];
  readonly samples?: SampleSubscriber | undefined;
  /** Of this process; none is known when undefined. */
  readonly delay?: OwnDelay | undefined;
  /** Milliseconds on the output's timeline at which this publish begins. */
  readonly origin: number;
  /** The first segment of this publish is listed. */
  onPlayable(): void;
  /** The publish cannot go on; the reason in plain words. Called once; the sink is inert then. */
  onFatal(reason: string): void;
}

/**
 * One publish: FLV message bodies in, samples to the cutter. Once over, whatever still comes is dropped.
 */
export class Ingest implements MediaSink {
  readonly video: Arena;
  readonly audio: Arena;
  readonly grant: PublishGrant;
  /** What the encoder calls itself; undefined when it does not say. */
  encoder: string | undefined;
  readonly #options: IngestOptions;
  readonly #cutter: Cutter;
  readonly #timeline: Timeline;
  readonly #meter: Meter;
  readonly #samples: SampleSubscriber | undefined;
  readonly #picture: Incoming<VideoMessage>;
  readonly #sound: Incoming<AudioMessage>;
  #isOver = false;
  /** When its first media would have come at the speed of time, epoch milliseconds. */
  #beganAt = -1;

  constructor(options: IngestOptions) {
    const { config, clock, grant, memory } = options;
    this.#options = options;
    this.#samples = options.samples;
    this.grant = grant;
    this.video = new Arena({ initial: 64 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.audio = new Arena({ initial: 8 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.#picture = new Incoming(this.video, new VideoMessage(), [VIDEO_AVC, VIDEO_HEVC, VIDEO_AV1]);
    this.#sound = new Incoming(this.audio, new AudioMessage(), [AUDIO_AAC, AUDIO_OPUS]);
    this.#meter = new Meter({ delay: options.delay });
    const onIssue = (text: string) => this.#meter.issue(text, clock.now());
    this.#timeline = new Timeline({ origin: options.origin, onIssue });
    this.#cutter = new Cutter({
      arenas: { video: this.video, audio: this.audio },
      config,
      window: options.window,
      timeline: this.#timeline,
      onPlayable: options.onPlayable,
      onIssue,
      onFatal: (reason) => void this.#fail(reason),
    });
  }

  /** Where its media ends on the output's timeline, milliseconds. */
  get end(): number {
    return this.#cutter.end;
  }

  /** RFC 6381 names of the tracks it passes on, as their newest headers say. */
  get codecs(): string[] {
    return [this.#picture.name, this.#sound.name].filter((name) => name !== undefined);
  }

  onVideo(start: number, end: number, timestamp: number): void {
    const now = this.#options.clock.now();
    const { message } = this.#picture;
    if (!this.#isFrame(this.#picture, start, end, now)) return;
    const { bytes } = this.video;
    const time = this.#place(VIDEO, timestamp, now);
    if (message.isKey) this.#meter.key();
    const { at, cts, isKey } = message;
    if (this.#samples?.isActive)
      this.#samples.video(bytes, message.unwrap(bytes, start), message.end, time, isKey, now, at, cts);
    if (!this.#cutter.video(at, message.end, time, cts, isKey, now)) this.#drop(this.#picture, start, end);
  }

  onAudio(start: number, end: number, timestamp: number): void {
    const now = this.#options.clock.now();
    const { message } = this.#sound;
    if (!this.#isFrame(this.#sound, start, end, now)) return;
    const { bytes } = this.audio;
    const length = message.codec === AUDIO_OPUS ? opusDuration(bytes, message.at, message.end) : 0;
    const time = this.#place(AUDIO, timestamp, now);
    if (this.#samples?.isActive)
      this.#samples.audio(bytes, message.unwrap(bytes, start), message.end, time, now, message.at);
    if (!this.#cutter.audio(message.at, message.end, time, length, now)) this.#drop(this.#sound, start, end);
  }

  onMetadata(values: readonly unknown[]): void {
    const value = values.find((value) => typeof value === 'object' && value !== null) as object | undefined;
    if (this.#isOver || value === undefined) return;
    const field = (name: string): unknown =>
      Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    const has = (...names: string[]) => names.some((name) => Boolean(field(name)));
    const between = (name: string, least: number, most: number) => {
      const number = field(name);
      return typeof number === 'number' && number >= least && number <= most ? number : undefined;
    };
    const encoder = field('encoder');
    if (typeof encoder === 'string' && encoder !== '') this.encoder = encoder.slice(0, encoderLength);
    const expected = {
      hasVideo: has('videocodecid', 'width', 'videodatarate'),
      hasAudio: has('audiocodecid', 'audiosamplerate', 'audiodatarate'),
      frameRate: between('framerate', 1, 300),
    };
    this.#cutter.selection.expect(expected);
    this.#meter.expect({ ...expected, frameRate: expected.frameRate ?? 0 });
    const videoRate = between('videodatarate', Number.MIN_VALUE, FASTEST);
    const audioRate = between('audiodatarate', Number.MIN_VALUE, FASTEST);
    this.#samples?.announce({ ...expected, videoRate, audioRate });
  }

  /** The publisher is gone or another took over: what is whole is cut, and the sink is inert from now on. */
  finish(): void {
    if (!this.#isOver) this.#cutter.flush();
    this.#isOver = true;
    this.video.retire();
    this.audio.retire();
  }

  figures(): Figures {
    const { window, clock, subscribers = [] } = this.#options;
    const read = this.#meter.figures(clock.now());
    return {
      ...read,
      issues: [...read.issues, ...subscribers.flatMap(({ issues }) => issues ?? [])],
      segments: this.#cutter.segments,
      targetDuration: window.targetDuration,
    };
  }

  vitals(): Vitals {
    const { window, clock } = this.#options;
    const read = this.#meter.vitals(window.init?.codecs ?? [], clock.now());
    // A refused track has an issue of its own: it is not missing as well.
    const expectsVideo = read.expectsVideo && this.#picture.refusedSince < 0;
    return { ...read, expectsVideo, expectsAudio: read.expectsAudio && this.#sound.refusedSince < 0 };
  }

  /** Reads a message. False when it is no sample of its track; its bytes are dropped then. */
  #isFrame(track: Incoming, start: number, end: number, now: number): boolean {
    const { arena, message } = track;
    if (this.#isOver) {
      arena.release(end);
      return false;
    }
    this.#meter.count(end - start, now);
    message.read(arena.bytes, start, end);
    const { kind, codec } = message;
    if (kind === FRAME && codec === track.codec && message.at < message.end) {
      track.unheaded = 0;
      track.refusedSince = -1;
      return true;
    }
    let moved = 0;
    if (kind === OTHER_TRACK) this.#meter.issue(track.isVideo ? issues.moreVideo : issues.moreAudio, now);
    else if (kind !== NOTHING && !track.supported.includes(codec)) this.#refuse(track, codec, now);
    else if (kind === HEADER) moved = this.#configure(track, start, now);
    else if (kind === FRAME && message.at < message.end) this.#missHeader(track, now);
    this.#drop(track, start - moved, end - moved);
    return false;
  }

  #place(track: number, timestamp: number, now: number): number {
    const time = this.#timeline.place(track, timestamp, now);
    this.#meter.pass(track, time, now);
    if (this.#beganAt < 0) this.#beganAt = now;
    else if (time - this.#options.origin > now - this.#beganAt + AHEAD) {
      this.#meter.issue(issues.tooFast, now);
      // It is said again only when it goes on.
      this.#beganAt = now - (time - this.#options.origin);
    }
    return time;
  }

  #fail(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#meter.issue(reason, Number.MAX_SAFE_INTEGER);
    this.#cutter.abandon();
    this.#options.onFatal(reason);
  }

  /**
   * A track comes in a codec that cannot be passed on: it is left out, with an issue as long as it comes. The
   * publish ends when there is nothing else: neither announced, nor come within `REFUSAL_PATIENCE`.
   */
  #refuse(track: Incoming, codec: number, now: number): void {
    const isFirst = track.refusedSince < 0;
    if (isFirst) {
      track.refusedSince = now;
      track.refusal = track.isVideo ? videoRefusal(codec) : audioRefusal(codec);
    }
    this.#meter.issue(track.refusal, now);
    const { selection } = this.#cutter;
    const other = track.isVideo ? this.#sound : this.#picture;
    const isPatient = now - track.refusedSince < REFUSAL_PATIENCE;
    const isOtherHopeless = other.refusedSince >= 0 || !selection.isAwaited(track.isVideo ? AUDIO : VIDEO);
    // One stray message is no change of codec: a track that has a header may go on with it.
    const mayGoOn = track.hasHeader || !isOtherHopeless;
    if (!other.hasHeader && !(isPatient && mayGoOn)) this.#fail(track.refusal);
    else if (isFirst && !track.hasHeader) selection.refuse(track.isVideo ? VIDEO : AUDIO);
  }

  /** A frame came whose header did not. Some are dropped without a word: a header may be late. */
  #missHeader(track: Incoming, now: number): void {
    track.unheaded += 1;
    if (track.unheaded > MOST_UNHEADED)
      this.#meter.issue(track.isVideo ? issues.noVideoHeader : issues.noAudioHeader, now);
  }

  /** Takes the header that was just read. Returns by how much the arena moved. */
  #configure(track: Incoming, start: number, now: number): number {
    const { arena, message, isVideo } = track;
    const { codec, at, end } = message;
    const { bytes } = arena;
    if (codec === track.codec && track.record && Buffer.compare(track.record, bytes.subarray(at, end)) === 0)
      return 0;
    const record = bytes.slice(at, Math.min(end, at + headerBytes));
    const header =
      end - at > headerBytes
        ? { malformed: `it has ${end - at} bytes, more than ${headerBytes}` }
        : isVideo
          ? readVideoHeader(codec, record)
          : readAudioHeader(codec, record);
    if ('malformed' in header) {
      const { malformed } = header;
      const text = isVideo ? issues.badVideoHeader(malformed) : issues.badAudioHeader(malformed);
      this.#meter.issue(text, now);
      return 0;
    }
    track.codec = codec;
    track.name = header.codec;
    track.record = record;
    track.refusedSince = -1;
    const published = { bytes, start: message.unwrap(bytes, start), end, codec };
    if ('width' in header) {
      this.#samples?.configureVideo({ ...published, config: header });
      return this.#cutter.configureVideo({ record, config: header });
    }
    this.#samples?.configureAudio({ ...published, config: header });
    return this.#cutter.configureAudio({ record, config: header });
  }

  /** A message of no use: it lies at the end of its arena, and with it goes what nothing there waits for. */
  #drop({ arena, isVideo }: Incoming, start: number, end: number): void {
    if (this.#isOver || this.#cutter.isEmpty(isVideo ? VIDEO : AUDIO)) arena.release(end);
    else arena.length = start;
  }
}

/** What is known of a track by the messages of it. */
class Incoming<M extends VideoMessage | AudioMessage = VideoMessage | AudioMessage> {
  readonly arena: Arena;
  readonly message: M;
  /** Codecs that can be passed on. */
  readonly supported: readonly number[];
  readonly isVideo: boolean;
  /** Codec, its RFC 6381 name and the bytes of the header in force; -1: none came yet. */
  codec = -1;
  name: string | undefined;
  record: Uint8Array | undefined;
  /** Since when it comes in a codec that cannot be passed on, epoch milliseconds; -1: it does not. */
  refusedSince = -1;
  refusal = '';
  /** Frames in a row whose header has not come. */
  unheaded = 0;

  constructor(arena: Arena, message: M, supported: readonly number[]) {
    this.arena = arena;
    this.message = message;
    this.supported = supported;
    this.isVideo = message instanceof VideoMessage;
  }

  get hasHeader(): boolean {
    return this.codec >= 0;
  }
}

/** No encoder is so early, ms. */
const AHEAD = 30_000;
/** How long another track is waited for than one in a refused codec, ms. */
const REFUSAL_PATIENCE = 5000;
/** Frames in a row that may come before their sequence header. */
const MOST_UNHEADED = 250;
/** A sequence header, of which each init segment holds one. */
const headerBytes = 65_536;
/** Characters of an encoder's name in the log: those of real ones have about 50. */
const encoderLength = 100;
/** kbit/s; a bitrate above is not believed. */
const FASTEST = 1_000_000;
