import type { Clock } from '../../core/ports/clock.ts';
import type { Figures, LiveAnswer, PublishGrant } from '../../core/ports/media.ts';
import { liveResponse } from '../../plugins/streams/live-answer.ts';
import {
  Broadcast,
  type BroadcastAttachment,
  type BroadcastOptions,
} from '../../runtime/media/broadcast/broadcast.ts';
import type { OutputConfig } from '../../runtime/media/live/config.ts';
import { BufferPool } from '../../runtime/media/live/pool.ts';
import { Slabs } from '../../runtime/media/live/slabs.ts';
import type { PluginMedia } from '../../runtime/media/plugins/plugin-media.ts';
import type { MemoryShare } from '../../runtime/media/publish/memory-budget.ts';
import type { Arena, MediaSink } from '../../runtime/media/publish/sink.ts';
import type { RenditionMaker } from '../../runtime/media/renditions/ladder.ts';

/** A broadcast, answering as the server does. */
export class OnAir {
  readonly broadcast: Broadcast;

  constructor(options: BroadcastOptions) {
    this.broadcast = new Broadcast(options);
  }

  get isPlayable() {
    return this.broadcast.output.isPlayable;
  }
  get bytes() {
    return this.broadcast.output.bytes;
  }
  get reached() {
    return this.broadcast.output.reached;
  }
  get waiting() {
    return this.broadcast.output.waiting;
  }
  attach(attachment: BroadcastAttachment) {
    return this.broadcast.attach(attachment);
  }
  detach(token: string) {
    this.broadcast.detach(token);
  }
  end() {
    return this.broadcast.end();
  }
  figures() {
    return this.broadcast.output.figures();
  }
  vitals() {
    return this.broadcast.output.vitals();
  }
  isWatched(file: string) {
    return this.broadcast.isWatched(file);
  }
  keyFrame() {
    return this.broadcast.output.keyFrame();
  }
  serve(file: string, query?: URLSearchParams, signal?: AbortSignal): Response | Promise<Response> {
    return responseOf(this.broadcast.serve(file, query, signal)) as Response | Promise<Response>;
  }
}

/** At once where the answer is there at once. */
export function responseOf(
  answer: LiveAnswer | Promise<LiveAnswer> | undefined,
): Response | Promise<Response> | undefined {
  return answer instanceof Promise ? answer.then(liveResponse) : answer && liveResponse(answer);
}

/** A clock that stands still until told to go on. */
export class FakeClock implements Clock {
  #now = Date.UTC(2026, 10, 21, 12);
  readonly #timers = new Set<{ due: number; action: () => void }>();

  now(): number {
    return this.#now;
  }
  at(due: number, action: () => void): () => void {
    const timer = { due, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
  get timers(): number {
    return this.#timers.size;
  }
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.due - b.due)[0];
      if (next === undefined || next.due > until) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.due);
      next.action();
    }
    this.#now = until;
  }
}

/** High 3.0, 640x360, 30 frames per second, by x264. */
export const AVC_360P = hex(
  '0164001effe1001a6764001eacd940a02ff970110000030001000003003c0f162d9601000668ebe3cb22c0fdf8f800',
);
/** Constrained Baseline, 322x242 after cropping, 25 frames per second, by x264. */
export const AVC_240P = hex(
  '0142c00dffe1001a6742c00dd90150878888c044000003000400000300c83c50a92001000568cb83cb20',
);
/** Main 2.1, 640x360, by x265; its SPS holds emulation prevention bytes. */
export const HEVC_360P = hex(
  [
    '0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f95',
    '9409a10001002b42010101600000030090000003000003003fa005020171f2e595952930bc05a020000003002000000303c1',
    'a2000100064401c073c189',
  ].join(''),
);
/** Main 2.0, 640x360, by SVT-AV1. */
export const AV1_360P = hex('81010c000a0b0000000cc4ff6700be0010');
/** Stereo, 312 samples of pre-skip, recorded at 44.1 kHz. */
export const OPUS_STEREO = hex('4f707573486561640102380144ac0000000000');
export const AAC_44100_MONO = hex('1208');
export const AAC_48000_STEREO = hex('1190');

export interface Publisher {
  readonly sink: MediaSink & { figures(): Figures };
  readonly grant: PublishGrant;
  playable: number;
  readonly fatal: string[];
}

/** A broadcast, a clock and the hand of an encoder. */
export class Feed {
  readonly clock = new FakeClock();
  readonly pool = new BufferPool({ limit: 64 << 20 });
  readonly slabs = new Slabs();
  readonly output: OnAir;
  #tokens = 0;

  constructor(
    config: Partial<OutputConfig> = {},
    memory?: MemoryShare,
    transcoder?: RenditionMaker,
    plugins?: PluginMedia,
  ) {
    this.output = new OnAir({
      ...{ clock: this.clock, pool: this.pool, slabs: this.slabs, config, memory, transcoder, plugins },
    });
  }

  attach(numbers: Partial<PublishGrant> = {}, recording?: BroadcastAttachment['recording']): Publisher {
    this.#tokens += 1;
    const grant: PublishGrant = {
      granted: true,
      token: `t${this.#tokens}`,
      streamId: 's',
      sessionId: 'x',
      playbackId: 'p',
      mediaSequence: 100,
      discontinuitySequence: 0,
      targetDuration: 0,
      ...numbers,
    };
    const publisher: { -readonly [K in keyof Publisher]: Publisher[K] } = {
      grant,
      playable: 0,
      fatal: [],
      sink: undefined as never,
    };
    publisher.sink = this.output.attach({
      grant,
      ...(recording && { recording }),
      onPlayable: () => {
        publisher.playable += 1;
      },
      onFatal: (reason) => publisher.fatal.push(reason),
    });
    return publisher;
  }

  async text(file: string, query?: string): Promise<string> {
    const response = await this.output.serve(file, new URLSearchParams(query ?? ''));
    if (response.status !== 200) throw new Error(`${file} is ${response.status}`);
    return response.text();
  }

  async bytes(file: string): Promise<Uint8Array> {
    const response = await this.output.serve(file);
    if (response.status !== 200) throw new Error(`${file} is ${response.status}`);
    return response.bytes();
  }
}

/** Puts one message through an arena as the RTMP parser does. */
export function send(sink: MediaSink, type: 8 | 9, timestamp: number, body: Uint8Array): void {
  const arena: Arena = type === 9 ? sink.video : sink.audio;
  arena.messageStart = arena.length;
  // In two pieces, so that a release in between would show.
  if (!arena.reserve(body.length)) throw new Error('the arena is full');
  arena.bytes.set(body, arena.length);
  arena.length += body.length;
  const start = arena.messageStart;
  arena.messageStart = -1;
  if (type === 9) sink.onVideo(start, arena.length, timestamp);
  else sink.onAudio(start, arena.length, timestamp);
}

export function videoHeader(record: Uint8Array): Uint8Array {
  return Uint8Array.of(0x17, 0, 0, 0, 0, ...record);
}
export function audioHeader(config: Uint8Array): Uint8Array {
  return Uint8Array.of(0xaf, 0, ...config);
}
export function frame(options: { isKey: boolean; cts?: number; size?: number; mark?: number }): Uint8Array {
  const { isKey, cts = 0, size = isKey ? 4000 : 600, mark = 0 } = options;
  const body = new Uint8Array(5 + 4 + size).fill(mark);
  body.set([isKey ? 0x17 : 0x27, 1, (cts >> 16) & 255, (cts >> 8) & 255, cts & 255]);
  new DataView(body.buffer).setUint32(5, size);
  body[9] = isKey ? 0x65 : 0x41;
  return body;
}
export function sound(size = 180): Uint8Array {
  const body = new Uint8Array(2 + size).fill(0x21);
  body.set([0xaf, 1]);
  return body;
}

export interface PlayOptions {
  /** Seconds of media. */
  readonly seconds: number;
  readonly video?: boolean;
  readonly audio?: boolean;
  readonly fps?: number;
  /** Frames between key frames; 0: only the first. */
  readonly gop?: number;
  /** First stamp, milliseconds; may be beyond 32 bits, sent modulo. */
  readonly from?: number;
  /** Changes the stamp of a message. */
  readonly stamp?: (time: number, type: 8 | 9) => number;
  readonly rate?: number;
  readonly cts?: (index: number) => number;
  /** Bytes of each picture. */
  readonly size?: number;
  /** After every message. */
  readonly after?: () => unknown;
}

/** Sends frames and sound in order of time, in real time of the clock. */
export async function play(feed: Pick<Feed, 'clock'>, sink: MediaSink, options: PlayOptions): Promise<void> {
  const { seconds, video = true, audio = true, fps = 30, gop = 60, from = 0, rate = 48_000 } = options;
  const stamp = options.stamp ?? ((time) => time);
  let frames = 0;
  let sounds = 0;
  let last = 0;
  for (;;) {
    const v = video ? (frames / fps) * 1000 : Number.POSITIVE_INFINITY;
    const a = audio ? ((sounds * 1024) / rate) * 1000 : Number.POSITIVE_INFINITY;
    const time = Math.min(v, a);
    if (time >= seconds * 1000) break;
    feed.clock.advance(time - last);
    last = time;
    const type = v <= a ? 9 : 8;
    const sent = stamp(Math.round(from + time), type) >>> 0;
    if (type === 9) {
      const isKey = frames === 0 || (gop > 0 && frames % gop === 0);
      const { size, cts } = options;
      const picture = { isKey, cts: cts?.(frames) ?? 0, mark: frames & 255, ...(size && { size }) };
      send(sink, 9, sent, frame(picture));
      frames += 1;
    } else {
      send(sink, 8, sent, sound());
      sounds += 1;
    }
    await options.after?.();
  }
  feed.clock.advance(seconds * 1000 - last);
}

export function sendHeaders(sink: MediaSink, options: { video?: Uint8Array; audio?: Uint8Array } = {}): void {
  const { video = AVC_360P, audio = AAC_48000_STEREO } = options;
  if (video.length > 0) send(sink, 9, 0, videoHeader(video));
  if (audio.length > 0) send(sink, 8, 0, audioHeader(audio));
}

function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'));
}
