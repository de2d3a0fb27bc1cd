import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import type { Malformed } from '../codecs/config.ts';
import { readAudioHeader, readVideoHeader } from '../codecs/headers.ts';
import { opusDuration } from '../codecs/opus.ts';
import {
  AUDIO_AAC,
  AUDIO_OPUS,
  audioRefusal,
  VIDEO_AV1,
  VIDEO_AVC,
  VIDEO_HEVC,
  videoRefusal,
} from '../flv/codec.ts';
import { AudioMessage, HEADER, NOTHING, OTHER_TRACK, VideoMessage } from '../flv/message.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import { Arena, type MediaSink } from '../publish/sink.ts';
import type { SampleSubscriber, Subscriber } from '../publish/subscriber.ts';
import type { OutputConfig } from './config.ts';
import { Cutter } from './cutter.ts';
import { issues } from './issues.ts';
import { Meter } from './meter.ts';
import { AUDIO, Timeline, VIDEO } from './timeline.ts';
import { VitalsMeter } from './vitals.ts';
import type { LiveWindow } from './window.ts';

export interface IngestOptions {
  readonly grant: PublishGrant;
  readonly clock: Clock;
  readonly window: LiveWindow;
  readonly config: OutputConfig;
  /** What the arenas count against; nothing when undefined. */
  readonly memory?: MemoryShare;
  /** What is wrong on their side is an issue of the publish too. */
  readonly subscribers?: readonly Subscriber[];
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
  readonly #options: IngestOptions;
  readonly #cutter: Cutter;
  readonly #timeline: Timeline;
  readonly #meter: Meter;
  readonly #vitals: VitalsMeter;
  readonly #subscribers: readonly Subscriber[];
  readonly #samples: readonly SampleSubscriber[];
  #isOver = false;
  /** When its first media would have come at the speed of time, epoch milliseconds. */
  #beganAt = -1;
  readonly #videoMessage = new VideoMessage();
  readonly #audioMessage = new AudioMessage();
  /** Codec and bytes of the headers in force; 0: none yet. */
  #videoCodec = 0;
  #audioCodec = 0;
  #videoRecord: Uint8Array | undefined;
  #audioRecord: Uint8Array | undefined;
  /** By track: RFC 6381. */
  readonly #codecs: (string | undefined)[] = [undefined, undefined];
  #encoder: string | undefined;
  /** By track: since when it comes in a codec that cannot be passed on, epoch milliseconds; -1: it does not. */
  readonly #refusedSince = [-1, -1];
  readonly #refusals = ['', ''];
  /** By track: frames in a row whose header has not come. */
  readonly #unheaded = [0, 0];

  constructor(options: IngestOptions) {
    const { config, clock, grant } = options;
    this.#options = options;
    this.#subscribers = options.subscribers ?? [];
    this.#samples = this.#subscribers.flatMap(({ samples }) => samples ?? []);
    this.grant = grant;
    const { memory } = options;
    this.video = new Arena({ initial: 64 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.audio = new Arena({ initial: 8 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.#meter = new Meter();
    this.#vitals = new VitalsMeter({ delay: options.delay });
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
    return this.#codecs.filter((codec) => codec !== undefined);
  }

  /** What the encoder calls itself; undefined when it does not say. */
  get encoder(): string | undefined {
    return this.#encoder;
  }

  onVideo(start: number, end: number, timestamp: number): void {
    if (this.#isOver) this.video.release(end);
    else if (!this.#isVideoKept(start, end, timestamp)) this.#dropVideo(start, end);
  }

  onAudio(start: number, end: number, timestamp: number): void {
    if (this.#isOver) this.audio.release(end);
    else if (!this.#isAudioKept(start, end, timestamp)) this.#dropAudio(start, end);
  }

  /** Reads a video body. False when its bytes are of no further use. */
  #isVideoKept(start: number, end: number, timestamp: number): boolean {
    const now = this.#options.clock.now();
    const message = this.#videoMessage;
    this.#meter.count(end - start, now);
    message.read(this.video.bytes, start, end);
    const { kind, codec, at } = message;
    if (kind === NOTHING) return false;
    if (kind === OTHER_TRACK) return this.#leaveOut(VIDEO, now);
    if (codec !== VIDEO_AVC && codec !== VIDEO_HEVC && codec !== VIDEO_AV1)
      return this.#refuse(VIDEO, codec, now);
    if (kind === HEADER) return this.#configureVideo(start, end, now);
    if (at >= message.end) return false;
    if (codec !== this.#videoCodec) return this.#missHeader(VIDEO, now);
    this.#unheaded[VIDEO] = 0;
    this.#refusedSince[VIDEO] = -1;
    const time = this.#place(VIDEO, timestamp, now);
    if (message.isKey) this.#vitals.key();
    for (const samples of this.#samples) {
      if (!samples.isActive) continue;
      const { bytes } = this.video;
      samples.video(bytes, message.unwrap(bytes, start), message.end, time, message.isKey, now);
    }
    return this.#cutter.video(at, message.end, time, message.cts, message.isKey, now);
  }

  #isAudioKept(start: number, end: number, timestamp: number): boolean {
    const now = this.#options.clock.now();
    const message = this.#audioMessage;
    const { bytes } = this.audio;
    this.#meter.count(end - start, now);
    message.read(bytes, start, end);
    const { kind, codec, at } = message;
    if (kind === NOTHING) return false;
    if (kind === OTHER_TRACK) return this.#leaveOut(AUDIO, now);
    if (codec !== AUDIO_AAC && codec !== AUDIO_OPUS) return this.#refuse(AUDIO, codec, now);
    if (kind === HEADER) return this.#configureAudio(start, end, now);
    if (at >= message.end) return false;
    if (codec !== this.#audioCodec) return this.#missHeader(AUDIO, now);
    this.#unheaded[AUDIO] = 0;
    this.#refusedSince[AUDIO] = -1;
    const length = codec === AUDIO_OPUS ? opusDuration(bytes, at, message.end) : 0;
    const time = this.#place(AUDIO, timestamp, now);
    for (const samples of this.#samples)
      if (samples.isActive) samples.audio(bytes, message.unwrap(bytes, start), message.end, time, now);
    return this.#cutter.audio(at, message.end, time, length, now);
  }

  onMetadata(values: readonly unknown[]): void {
    if (this.#isOver) return;
    for (const value of values) {
      if (typeof value !== 'object' || value === null) continue;
      const field = (name: string): unknown =>
        value instanceof Map
          ? value.get(name)
          : Object.hasOwn(value, name)
            ? Reflect.get(value, name)
            : undefined;
      const has = (...names: string[]) => names.some((name) => Boolean(field(name)));
      const rate = field('framerate');
      const encoder = field('encoder');
      if (typeof encoder === 'string' && encoder !== '') this.#encoder = encoder.slice(0, encoderLength);
      const bitrate = (name: string) => {
        const value = field(name);
        return typeof value === 'number' && value > 0 && value <= FASTEST ? value : undefined;
      };
      const expected = {
        hasVideo: has('videocodecid', 'width', 'videodatarate'),
        hasAudio: has('audiocodecid', 'audiosamplerate', 'audiodatarate'),
        frameRate: typeof rate === 'number' && rate >= 1 && rate <= 300 ? rate : undefined,
      };
      this.#cutter.expect(expected);
      this.#vitals.expect({ ...expected, frameRate: expected.frameRate ?? 0 });
      const rates = { videoRate: bitrate('videodatarate'), audioRate: bitrate('audiodatarate') };
      for (const samples of this.#samples) samples.announce({ ...expected, ...rates });
      return;
    }
  }

  /** The publisher is gone or another took over: what is whole is cut, and the sink is inert from now on. */
  finish(): void {
    if (!this.#isOver) this.#cutter.flush();
    this.#isOver = true;
    this.video.retire();
    this.audio.retire();
  }

  figures(): Figures {
    const { window, clock } = this.#options;
    const read = this.#meter.read(clock.now());
    const { segments } = this.#cutter;
    const { targetDuration } = window;
    return {
      ...read,
      issues: [...read.issues, ...this.#subscribers.flatMap(({ issues }) => issues ?? [])],
      segments,
      targetDuration,
    };
  }

  vitals(): Vitals {
    const { window, clock } = this.#options;
    const read = this.#vitals.read(window.init?.codecs ?? [], clock.now());
    // Of a track in a refused codec enough is said: it is not missing.
    const isAwaited = (track: number) => this.#refusedSince[track] < 0;
    const expectsVideo = read.expectsVideo && isAwaited(VIDEO);
    return { ...read, expectsVideo, expectsAudio: read.expectsAudio && isAwaited(AUDIO) };
  }

  #place(track: number, timestamp: number, now: number): number {
    const time = this.#timeline.place(track, timestamp, now);
    this.#vitals.pass(track, time, now);
    this.#meter.pass(time);
    if (this.#beganAt < 0) this.#beganAt = now;
    else if (time - this.#options.origin > now - this.#beganAt + AHEAD) {
      this.#meter.issue(issues.tooFast, now);
      // It is said again only when it goes on.
      this.#beganAt = now - (time - this.#options.origin);
    }
    return time;
  }

  #fail(reason: string): false {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#meter.issue(reason, Number.MAX_SAFE_INTEGER);
    this.#cutter.abandon();
    this.#options.onFatal(reason);
    return false;
  }

  /**
   * A track comes in a codec that cannot be passed on: it is left out, and said to be as long as it comes. The
   * publish ends when there is nothing else: neither announced, nor come within `refusalPatience`.
   */
  #refuse(track: number, codec: number, now: number): false {
    const isFirst = this.#refusedSince[track] < 0;
    if (isFirst) {
      this.#refusedSince[track] = now;
      this.#refusals[track] = track === VIDEO ? videoRefusal(codec) : audioRefusal(codec);
    }
    const reason = this.#refusals[track];
    this.#meter.issue(reason, now);
    const other = track === VIDEO ? AUDIO : VIDEO;
    const isPatient = now - this.#refusedSince[track] < REFUSAL_PATIENCE;
    const isOtherHopeless = this.#refusedSince[other] >= 0 || !this.#cutter.isAwaited(other);
    // One stray message is no change of codec: a track that has a header may go on with it.
    const mayGoOn = this.#hasHeader(track) || !isOtherHopeless;
    if (!this.#hasHeader(other) && !(isPatient && mayGoOn)) return this.#fail(reason);
    if (isFirst && !this.#hasHeader(track)) this.#cutter.refuse(track);
    return false;
  }

  #hasHeader(track: number): boolean {
    return (track === VIDEO ? this.#videoCodec : this.#audioCodec) !== 0;
  }

  #leaveOut(track: number, now: number): false {
    this.#meter.issue(track === VIDEO ? issues.moreVideo : issues.moreAudio, now);
    return false;
  }

  /** A frame came whose header did not. Some are dropped without a word: a header may be late. */
  #missHeader(track: number, now: number): false {
    this.#unheaded[track] += 1;
    if (this.#unheaded[track] > MOST_UNHEADED)
      this.#meter.issue(track === VIDEO ? issues.noVideoHeader : issues.noAudioHeader, now);
    return false;
  }

  /** The header that was just read. True: its bytes are seen to. */
  #configureVideo(start: number, end: number, now: number): true {
    const { codec, at, end: to } = this.#videoMessage;
    let moved = 0;
    if (codec !== this.#videoCodec || !isSame(this.#videoRecord, this.video.bytes, at, to)) {
      const record = this.video.bytes.slice(at, Math.min(to, at + headerBytes));
      const config = to - at > headerBytes ? tooLong(to - at) : readVideoHeader(codec, record);
      if ('malformed' in config) this.#meter.issue(issues.badVideoHeader(config.malformed), now);
      else {
        this.#videoCodec = codec;
        this.#codecs[VIDEO] = config.codec;
        this.#videoRecord = record;
        this.#refusedSince[VIDEO] = -1;
        const { bytes } = this.video;
        const from = this.#videoMessage.unwrap(bytes, start);
        for (const samples of this.#samples)
          samples.configureVideo({ bytes, start: from, end: to, codec, config });
        moved = this.#cutter.configureVideo({ record, config });
      }
    }
    this.#dropVideo(start - moved, end - moved);
    return true;
  }

  #configureAudio(start: number, end: number, now: number): true {
    const { codec, at, end: to } = this.#audioMessage;
    let moved = 0;
    if (codec !== this.#audioCodec || !isSame(this.#audioRecord, this.audio.bytes, at, to)) {
      const record = this.audio.bytes.slice(at, Math.min(to, at + headerBytes));
      const config = to - at > headerBytes ? tooLong(to - at) : readAudioHeader(codec, record);
      if ('malformed' in config) this.#meter.issue(issues.badAudioHeader(config.malformed), now);
      else {
        this.#audioCodec = codec;
        this.#codecs[AUDIO] = config.codec;
        this.#audioRecord = record;
        this.#refusedSince[AUDIO] = -1;
        const { bytes } = this.audio;
        const from = this.#audioMessage.unwrap(bytes, start);
        for (const samples of this.#samples)
          samples.configureAudio({ bytes, start: from, end: to, codec, config });
        moved = this.#cutter.configureAudio({ record, config });
      }
    }
    this.#dropAudio(start - moved, end - moved);
    return true;
  }

  /** A message of no use: it lies at the end of its arena, and with it goes what nothing there waits for. */
  #dropVideo(start: number, end: number): void {
    if (this.#isOver || this.#cutter.isEmpty(VIDEO)) this.video.release(end);
    else this.video.length = start;
  }

  #dropAudio(start: number, end: number): void {
    if (this.#isOver || this.#cutter.isEmpty(AUDIO)) this.audio.release(end);
    else this.audio.length = start;
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

function tooLong(bytes: number): Malformed {
  return { malformed: `it has ${bytes} bytes, more than ${headerBytes}` };
}

function isSame(record: Uint8Array | undefined, bytes: Uint8Array, at: number, end: number): boolean {
  if (record === undefined || record.length !== end - at) return false;
  for (let i = 0; i < record.length; i += 1) if (record[i] !== bytes[at + i]) return false;
  return true;
}
