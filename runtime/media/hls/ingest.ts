import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import { parseAac } from '../codecs/aac.ts';
import { parseAvc } from '../codecs/avc.ts';
import type { MemoryShare } from '../memory-budget.ts';
import { Arena, type MediaSink } from '../sink.ts';
import type { OutputConfig } from './config.ts';
import { Cutter } from './cutter.ts';
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
  /** Milliseconds on the output's timeline at which this publish begins. */
  readonly origin: number;
  /** The first segment of this publish is listed. */
  onPlayable(): void;
  /** The publish cannot go on; the reason in plain words. Called once; the sink is inert then. */
  onFatal(reason: string): void;
}

/**
 * One publish: FLV message bodies in, samples to the cutter. Once over, whatever still comes is dropped.
 * FLV: Adobe Flash Video File Format 10.1, E.4.2 and E.4.3; FourCC codecs: Enhanced RTMP v1.
 */
export class Ingest implements MediaSink {
  readonly video: Arena;
  readonly audio: Arena;
  readonly grant: PublishGrant;
  readonly #options: IngestOptions;
  readonly #cutter: Cutter;
  readonly #timeline: Timeline;
  readonly #meter: Meter;
  readonly #vitals = new VitalsMeter();
  #isOver = false;
  /** When its first media would have come at the speed of time, epoch milliseconds. */
  #beganAt = -1;
  #videoRecord: Uint8Array | undefined;
  #audioRecord: Uint8Array | undefined;

  constructor(options: IngestOptions) {
    const { config, clock, grant } = options;
    this.#options = options;
    this.grant = grant;
    const { memory } = options;
    this.video = new Arena({ initial: 64 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.audio = new Arena({ initial: 8 * 1024, limit: config.arenaLimit, memory: memory?.hold() });
    this.#meter = new Meter();
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

  onVideo(start: number, end: number, timestamp: number): void {
    if (this.#isOver) this.video.release(end);
    else if (!this.#isVideoKept(start, end, timestamp)) this.#dropVideo(end);
  }

  onAudio(start: number, end: number, timestamp: number): void {
    if (this.#isOver) this.audio.release(end);
    else if (!this.#isAudioKept(start, end, timestamp)) this.#dropAudio(end);
  }

  /** Reads a video body. False when its bytes are of no further use. */
  #isVideoKept(start: number, end: number, timestamp: number): boolean {
    const now = this.#options.clock.now();
    const { bytes } = this.video;
    this.#meter.count(end - start, now);
    const first = bytes[start];
    const frameType = (first >> 4) & 7;
    // 5: a command to the player, no picture.
    if (end - start < 5 || frameType === 5) return false;
    let type = bytes[start + 1];
    let at = start + 5;
    if (first & 0x80) {
      type = first & 15;
      if (!isFourCc(bytes, start + 1, 'avc1'))
        return type === 4 ? false : this.#fail(videoRefusal(fourCc(bytes, start + 1)));
      // CodedFramesX (3) has no composition time; CodedFrames (1) has it behind the FourCC.
      if (type === 1) at = start + 8;
      else if (type === 3) type = 1;
      else if (type !== 0) return false;
    } else if ((first & 15) !== 7)
      return this.#fail(videoRefusal(VIDEO_CODECS[first & 15] ?? `${first & 15}`));
    if (type === 0) return this.#configureVideo(at, end);
    if (type !== 1 || at >= end || this.#videoRecord === undefined) return false;
    const hasCts = at !== start + 5 || (first & 0x80) === 0;
    let cts = 0;
    // Three signed bytes right in front of the payload.
    if (hasCts) cts = ((bytes[at - 3] << 24) | (bytes[at - 2] << 16) | (bytes[at - 1] << 8)) >> 8;
    const time = this.#place(VIDEO, timestamp, now);
    if (frameType === 1) this.#vitals.key();
    return this.#cutter.video(at, end, time, cts, frameType === 1, now);
  }

  #isAudioKept(start: number, end: number, timestamp: number): boolean {
    const now = this.#options.clock.now();
    const { bytes } = this.audio;
    this.#meter.count(end - start, now);
    if (end - start < 2) return false;
    const format = bytes[start] >> 4;
    let type = bytes[start + 1];
    let at = start + 2;
    if (format === 9) {
      type = bytes[start] & 15;
      at = start + 5;
      if (end < at || type > 1) return false;
      if (!isFourCc(bytes, start + 1, 'mp4a')) return this.#fail(audioRefusal(fourCc(bytes, start + 1)));
    } else if (format !== 10) return this.#fail(audioRefusal(AUDIO_CODECS[format] ?? `${format}`));
    if (type === 0) return this.#configureAudio(at, end);
    if (type !== 1 || at >= end || this.#audioRecord === undefined) return false;
    const time = this.#place(AUDIO, timestamp, now);
    return this.#cutter.audio(at, end, time, now);
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
      const expected = {
        hasVideo: has('videocodecid', 'width', 'videodatarate'),
        hasAudio: has('audiocodecid', 'audiosamplerate', 'audiodatarate'),
        frameRate: typeof rate === 'number' && rate >= 1 && rate <= 300 ? rate : undefined,
      };
      this.#cutter.expect(expected);
      this.#vitals.expect({ ...expected, frameRate: expected.frameRate ?? 0 });
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
    return {
      ...this.#meter.read(this.#options.clock.now()),
      segments: this.#cutter.segments,
      targetDuration: this.#options.window.targetDuration,
    };
  }

  vitals(): Vitals {
    const { window, clock } = this.#options;
    return this.#vitals.read(window.init?.codecs ?? [], clock.now());
  }

  #place(track: number, timestamp: number, now: number): number {
    const time = this.#timeline.place(track, timestamp, now);
    this.#vitals.pass(track, time, now);
    this.#meter.pass(time);
    if (this.#beganAt < 0) this.#beganAt = now;
    else if (time - this.#options.origin > now - this.#beganAt + AHEAD) {
      this.#meter.issue(TOO_FAST, now);
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

  #configureVideo(at: number, end: number): true {
    let moved = 0;
    if (!isSame(this.#videoRecord, this.video.bytes, at, end)) {
      const record = this.video.bytes.slice(at, end);
      const avc = parseAvc(record);
      if ('malformed' in avc) this.#misread(`the video header cannot be read: ${avc.malformed}`);
      else {
        this.#videoRecord = record;
        moved = this.#cutter.configureVideo({ record, avc });
      }
    }
    this.#dropVideo(end - moved);
    return true;
  }

  #configureAudio(at: number, end: number): true {
    let moved = 0;
    if (!isSame(this.#audioRecord, this.audio.bytes, at, end)) {
      const record = this.audio.bytes.slice(at, end);
      const aac = parseAac(record);
      if ('malformed' in aac) this.#misread(`the audio header cannot be read: ${aac.malformed}`);
      else {
        this.#audioRecord = record;
        moved = this.#cutter.configureAudio({ record, aac });
      }
    }
    this.#dropAudio(end - moved);
    return true;
  }

  #misread(text: string): void {
    this.#meter.issue(text, this.#options.clock.now());
  }

  /** Bytes that are of no use go at once when nothing before them waits, else with the next part. */
  #dropVideo(end: number): void {
    if (this.#isOver || this.#cutter.isVideoEmpty) this.video.release(end);
  }

  #dropAudio(end: number): void {
    if (this.#isOver || this.#cutter.isAudioEmpty) this.audio.release(end);
  }
}

/** No encoder is this many milliseconds early. */
const AHEAD = 30_000;
const TOO_FAST =
  'media comes faster than real time; an encoder that reads a file must pace itself (ffmpeg: -re)';
const VIDEO_CODECS: Record<number, string> = {
  2: 'Sorenson H.263',
  3: 'Screen video',
  4: 'VP6',
  12: 'H.265',
};
const AUDIO_CODECS: Record<number, string> = {
  0: 'PCM',
  2: 'MP3',
  3: 'PCM',
  7: 'G.711 A-law',
  8: 'G.711 mu-law',
};

function videoRefusal(codec: string): string {
  return `video codec ${NAMES[codec] ?? codec} is not supported yet; use H.264`;
}

function audioRefusal(codec: string): string {
  return `audio codec ${NAMES[codec] ?? codec} is not supported yet; use AAC`;
}

const NAMES: Record<string, string> = {
  hvc1: 'H.265',
  av01: 'AV1',
  vp09: 'VP9',
  'ac-3': 'AC-3',
  fLaC: 'FLAC',
};

function isFourCc(bytes: Uint8Array, at: number, code: string): boolean {
  for (let i = 0; i < 4; i += 1) if (bytes[at + i] !== code.charCodeAt(i)) return false;
  return true;
}

/** Four bytes of the sender as text that may be shown to anyone. */
function fourCc(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4)).replace(/[^a-zA-Z0-9-]/g, '?');
}

function isSame(record: Uint8Array | undefined, bytes: Uint8Array, at: number, end: number): boolean {
  if (record === undefined || record.length !== end - at) return false;
  for (let i = 0; i < record.length; i += 1) if (record[i] !== bytes[at + i]) return false;
  return true;
}
