import type { PublishGrant } from '../../../core/ports/media.ts';
import type { PushFact, PushOrder } from '../../../core/ports/pusher.ts';
import { BufferPool } from '../../../runtime/media/live/pool.ts';
import { Slabs } from '../../../runtime/media/live/slabs.ts';
import type { MediaSink } from '../../../runtime/media/publish/sink.ts';
import { NodePusher, type NodePusherOptions } from '../../../runtime/media/push/pusher.ts';
import { encodeAmf0, readAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import {
  AAC_48000_STEREO,
  AVC_240P,
  AVC_360P,
  audioHeader,
  FakeClock,
  OnAir,
  send,
  videoHeader,
} from '../../hls/feed.ts';
import { type Received, ScriptedServers } from './scripted-server.ts';

/** The defaults of the config, ms and bytes. */
export const pushSettings = {
  ...{ queue: 8 * 1_048_576, batch: 100, stall: 90_000, retryFirst: 1000, retryMost: 60_000 },
  ...{ targets: 1000, processes: 50, memory: 64 * 1_048_576 },
};

/** A pusher whose servers are scripted, and broadcasts in the time of a clock that stands still. */
export class Stage {
  readonly clock = new FakeClock();
  readonly servers = new ScriptedServers();
  readonly facts: PushFact[] = [];
  readonly lines: string[] = [];
  readonly pusher;

  constructor(settings: Partial<NodePusherOptions['settings']> = {}) {
    const write = (message: string, fields?: object) =>
      void this.lines.push(`${message} ${JSON.stringify(fields)}`);
    const log = { debug: write, info: write, warn: write, error: write };
    const { open } = this.servers;
    this.pusher = new NodePusher({
      clock: this.clock,
      log: { ...log, with: () => log } as never,
      random: () => 0,
      open: { rtmp: open, rtmps: open, srt: open },
      settings: {
        ...pushSettings,
        ...settings,
      },
    });
    this.pusher.tell((fact) => this.facts.push(fact));
  }

  broadcast(playbackId = 'p'): Broadcast {
    return new Broadcast(this, playbackId);
  }

  /** Facts in short: `one connected`, `one lost closed`. */
  told(id?: string): string[] {
    return this.facts
      .filter((fact) => id === undefined || fact.id === id)
      .map((fact) => [fact.id, fact.type, ...('trouble' in fact ? [fact.trouble.reason] : [])].join(' '));
  }

  reading(id: string) {
    return this.pusher.readings().find((reading) => reading.id === id);
  }

  /** Time passes in steps; what was told in between is heard. */
  async pass(ms: number, step = 500): Promise<void> {
    await settled();
    for (let left = ms; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await settled();
    }
  }
}

export function order(id: string, more: Partial<PushOrder> = {}): PushOrder {
  return { id, url: `rtmp://secret.example/${id}`, videoOnly: false, ...more };
}

export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
}

export interface PlayOptions {
  /** ms */
  readonly ms: number;
  readonly video?: boolean;
  readonly audio?: boolean;
  /** Pictures between key frames, at 25 a second. */
  readonly gop?: number;
  /** Bytes of a picture. */
  readonly size?: number;
  /** ms by which the stamps of sound are behind. */
  readonly lag?: number;
  /** Changes the stamp. */
  readonly stamp?: (time: number) => number;
}

/** One playlist, and the encoder that publishes to it. */
export class Broadcast {
  readonly output: OnAir;
  readonly fatal: string[] = [];
  readonly #stage: Stage;
  readonly #playbackId: string;
  #sink: MediaSink | undefined;
  #publishes = 0;
  /** Pictures sent by this publish. */
  #pictures = 0;
  #time = 0;
  #soundDue = 0;
  #pictureDue = 0;

  constructor(stage: Stage, playbackId: string) {
    this.#stage = stage;
    this.#playbackId = playbackId;
    this.output = new OnAir({
      clock: stage.clock,
      pool: new BufferPool({ limit: 1 << 24 }),
      slabs: new Slabs(),
      relay: stage.pusher.relayFor(playbackId),
    });
  }

  get sink(): MediaSink {
    if (this.#sink === undefined) throw new Error('nobody publishes');
    return this.#sink;
  }

  want(...orders: PushOrder[]): void {
    this.#stage.pusher.want(this.#playbackId, orders);
  }

  /** An encoder comes. `at`: its first stamp. */
  attach(options: { at?: number } = {}): void {
    this.#publishes += 1;
    this.#pictures = 0;
    this.#time = this.#soundDue = this.#pictureDue = options.at ?? 0;
    const grant: PublishGrant = {
      ...{ granted: true, token: `t${this.#publishes}`, streamId: 's', sessionId: 'x' },
      ...{ playbackId: this.#playbackId, mediaSequence: 100, discontinuitySequence: this.#publishes },
      targetDuration: 0,
    };
    this.#sink = this.output.attach({
      grant,
      onPlayable: () => {},
      onFatal: (reason) => this.fatal.push(reason),
    });
  }

  detach(): void {
    this.#sink = undefined;
    this.output.detach(`t${this.#publishes}`);
  }

  headers(options: { video?: Uint8Array | false; audio?: Uint8Array | false } = {}): void {
    const { video = AVC_360P, audio = AAC_48000_STEREO } = options;
    if (video) send(this.sink, 9, this.#time, videoHeader(video));
    if (audio) send(this.sink, 8, this.#time, audioHeader(audio));
  }

  /** An encoder comes with its headers. */
  begin(options: { at?: number; video?: Uint8Array | false; audio?: Uint8Array | false } = {}): void {
    this.attach(options);
    this.headers(options);
  }

  metadata(values: Record<string, number | string | boolean>): void {
    this.sink.onMetadata(readAmf0(encodeAmf0([values]), 0, encodeAmf0([values]).length));
  }

  /** Media as time passes. Each publish begins with a key frame. */
  async play(options: PlayOptions): Promise<void> {
    const { ms, video = true, audio = true, gop = 25, size = 1000, lag = 0 } = options;
    const { stamp = (time) => time } = options;
    const until = this.#time + ms;
    if (!video) this.#pictureDue = Number.POSITIVE_INFINITY;
    else if (this.#pictureDue === Number.POSITIVE_INFINITY) this.#pictureDue = this.#time;
    for (;;) {
      const due = Math.min(this.#pictureDue, audio ? this.#soundDue : Number.POSITIVE_INFINITY);
      if (due >= until) break;
      this.#advance(due);
      if (due === this.#pictureDue) {
        this.picture({ isKey: this.#pictures % gop === 0, size, stamp: stamp(Math.round(due)) });
        this.#pictureDue += 40;
      } else {
        send(this.sink, 8, Math.round(stamp(due - lag)) >>> 0, soundOf(this.#publishes));
        this.#soundDue += 1024 / 48;
      }
      await settled();
    }
    this.#advance(until);
    if (!audio) this.#soundDue = until;
    await settled();
  }

  picture(options: { isKey: boolean; size: number; stamp: number }): void {
    const body = picture({ ...options, publish: this.#publishes, number: this.#pictures });
    this.#pictures += 1;
    send(this.sink, 9, options.stamp >>> 0, body);
  }

  #advance(until: number): void {
    this.#stage.clock.advance(until - this.#time);
    this.#time = until;
  }
}

/** A picture that says of which publish it is, and which of it. */
function picture(options: { isKey: boolean; size: number; publish: number; number: number }): Uint8Array {
  const { isKey, size, publish, number } = options;
  const body = new Uint8Array(16 + size);
  body.set([isKey ? 0x17 : 0x27, 1, 0, 0, 0]);
  const view = new DataView(body.buffer);
  view.setUint32(5, 7 + size);
  body[9] = isKey ? 0x65 : 0x41;
  body[10] = publish;
  view.setUint32(11, number);
  return body;
}

function soundOf(publish: number): Uint8Array {
  return Uint8Array.of(0xaf, 1, publish, ...new Uint8Array(60));
}

/** What a message is, in a word. */
export function kindOf({
  type,
  body,
}: Received): 'data' | 'header' | 'sound header' | 'key' | 'delta' | 'sound' {
  if (type === 18) return 'data';
  if (type === 8) return body[1] === 0 ? 'sound header' : 'sound';
  if (body[1] === 0) return 'header';
  return body[0] >> 4 === 1 ? 'key' : 'delta';
}

/** Kinds in a row, those that repeat once: `data, header, sound header, key, sound+delta`. */
export function outline(messages: readonly Received[]): string[] {
  const kinds = messages.map(kindOf);
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}

/** Publish and number of each picture. */
export function pictures(
  messages: readonly Received[],
): { publish: number; number: number; isKey: boolean; timestamp: number }[] {
  return messages
    .filter((message) => ['key', 'delta'].includes(kindOf(message)))
    .map(({ body, timestamp }) => ({
      publish: body[10],
      number: new DataView(body.buffer, body.byteOffset).getUint32(11),
      isKey: body[0] >> 4 === 1,
      timestamp,
    }));
}

/** Headers that publish `n` of a test uses, when it changes them: one, the other, the first again. */
export const headerOf = (publish: number) => (publish % 2 === 1 ? AVC_360P : AVC_240P);

/**
 * What must be true of everything that ever reaches one server: metadata and headers first, no picture without those it is
 * made of, each under the header of its own publish, and a time that never goes back.
 */
export function violations(
  messages: readonly Received[],
  options: { headers?: boolean; mayLackVideo?: boolean } = {},
): string[] {
  const found: string[] = [];
  let video: Uint8Array | undefined;
  let hasSoundHeader = false;
  let isBegun = false;
  const last = { 8: -1, 9: -1, 18: -1 } as Record<number, number>;
  let former: { publish: number; number: number } | undefined;
  for (const [index, message] of messages.entries()) {
    const kind = kindOf(message);
    if (index === 0 && kind !== 'data') found.push(`begins with ${kind}`);
    if (index === 0 && message.timestamp > 0) found.push(`begins at ${message.timestamp}`);
    if (message.timestamp < last[message.type]) found.push(`${index}: ${kind} goes back in time`);
    last[message.type] = message.timestamp;
    if (kind === 'header') video = message.body.subarray(5);
    else if (kind === 'sound header') hasSoundHeader = true;
    else if (kind === 'sound') {
      if (!hasSoundHeader) found.push(`${index}: sound without a header`);
      if (!isBegun && video !== undefined && !options.mayLackVideo)
        found.push(`${index}: sound before the first picture`);
    } else if (kind === 'key' || kind === 'delta') {
      isBegun = true;
      const [{ publish, number }] = pictures([message]);
      if (video === undefined) found.push(`${index}: a picture without a header`);
      if (options.headers && video && !Buffer.from(video).equals(headerOf(publish)))
        found.push(`${index}: a picture of ${publish} under another header`);
      if (kind === 'delta' && (former?.publish !== publish || former.number !== number - 1))
        found.push(`${index}: picture ${publish}/${number} follows ${former?.publish}/${former?.number}`);
      former = { publish, number };
    }
  }
  return found;
}
