import type { Clock } from '../../core/ports/clock.ts';
import type { PublishGrant, PublishRefusal, PublishRequest } from '../../core/ports/media.ts';
import { Arena, type MediaSink } from '../../runtime/media/publish/sink.ts';
import { type AmfValue, encodeAmf0, readAmf0 } from '../../runtime/media/rtmp/amf0.ts';
import { ChunkParser } from '../../runtime/media/rtmp/chunk-parser.ts';
import {
  type PublishEnd,
  type PublishHandlers,
  type RtmpConfig,
  RtmpSession,
} from '../../runtime/media/rtmp/session.ts';

/** The defaults of the config, ms and bytes. */
export const rtmpDefaults: RtmpConfig = {
  connections: 10_000,
  connectionsPerAddress: 500,
  publishTimeout: 10_000,
  idleTimeout: 10_000,
  messageBytes: 10 * 1024 * 1024,
};

/** A clock that stands still until it is told to move. */
export function virtualClock(start = 1_000_000) {
  let now = start;
  const due = new Set<{ at: number; action: () => void }>();
  const clock: Clock = {
    now: () => now,
    at(at, action) {
      const entry = { at, action };
      due.add(entry);
      return () => void due.delete(entry);
    },
  };
  return {
    clock,
    /** Moves on by `ms`, running what falls due in its order. */
    advance(ms: number) {
      const end = now + ms;
      for (;;) {
        const next = [...due].filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        due.delete(next);
        now = Math.max(now, next.at);
        next.action();
      }
      now = end;
    },
    pending: () => due.size,
  };
}

export interface Heard {
  readonly kind: 'video' | 'audio' | 'metadata';
  readonly timestamp?: number;
  readonly bytes?: readonly number[];
  readonly values?: readonly unknown[];
}

/** Remembers all it hears. `keep`: releases only every so many messages, so that offsets are not zero. */
export function recordingSink(options: { keep?: number; limit?: number } = {}) {
  const { keep = 1, limit = 64 * 1024 * 1024 } = options;
  const heard: Heard[] = [];
  const counts = { video: 0, audio: 0 };
  const take = (kind: 'video' | 'audio', arena: Arena, start: number, end: number, timestamp: number) => {
    heard.push({ kind, timestamp, bytes: [...arena.bytes.subarray(start, end)] });
    counts[kind] += 1;
    if (counts[kind] % keep === 0) arena.release(end);
  };
  const sink: MediaSink & { heard: Heard[] } = {
    heard,
    video: new Arena({ initial: 16, limit }),
    audio: new Arena({ initial: 16, limit }),
    onVideo: (start, end, timestamp) => take('video', sink.video, start, end, timestamp),
    onAudio: (start, end, timestamp) => take('audio', sink.audio, start, end, timestamp),
    onMetadata: (values) => void heard.push({ kind: 'metadata', values }),
  };
  return sink;
}

export interface ChunkHeader {
  readonly fmt: 0 | 1 | 2 | 3;
  readonly csid: number;
  /** The timestamp field: absolute for fmt 0, else a delta. For fmt 3 what an extended field repeats. */
  readonly time?: number;
  readonly length?: number;
  readonly type?: number;
  readonly stream?: number;
  /** fmt 3 only: write the extended timestamp. */
  readonly extended?: boolean;
}

/** One chunk: header as told, then `payload`. */
export function chunk(header: ChunkHeader, payload: readonly number[] | Uint8Array = []): number[] {
  const { fmt, csid, time = 0, length = payload.length, type = 9, stream = 1 } = header;
  const out: number[] = [];
  if (csid < 64) out.push((fmt << 6) | csid);
  else if (csid < 320) out.push(fmt << 6, csid - 64);
  else out.push((fmt << 6) | 1, (csid - 64) & 0xff, (csid - 64) >> 8);
  const isExtended = fmt < 3 ? time >= 0xffffff : header.extended === true;
  const field = Math.min(time, 0xffffff);
  if (fmt < 3) out.push(field >> 16, (field >> 8) & 0xff, field & 0xff);
  if (fmt < 2) out.push(length >> 16, (length >> 8) & 0xff, length & 0xff, type);
  if (fmt === 0) out.push(stream & 0xff, (stream >> 8) & 0xff, (stream >> 16) & 0xff, stream >>> 24);
  if (isExtended) out.push(time >>> 24, (time >> 16) & 0xff, (time >> 8) & 0xff, time & 0xff);
  return [...out, ...payload];
}

/** A whole message in chunks of `chunkSize`. */
export function message(
  header: ChunkHeader,
  payload: readonly number[] | Uint8Array,
  options: { chunkSize?: number; repeat?: boolean } = {},
): number[] {
  const { chunkSize = 128, repeat = true } = options;
  const { csid, time = 0 } = header;
  const extended = repeat && (header.fmt < 3 ? time >= 0xffffff : header.extended === true);
  const out = chunk({ ...header, length: payload.length }, payload.slice(0, chunkSize));
  for (let at = chunkSize; at < payload.length; at += chunkSize) {
    const part = chunk({ fmt: 3, csid, time, extended }, payload.slice(at, at + chunkSize));
    for (const byte of part) out.push(byte);
  }
  return out;
}

export function command(
  values: readonly AmfValue[],
  options: { stream?: number; type?: number } = {},
): number[] {
  const { stream = 0, type = 20 } = options;
  const body = [...(type === 17 ? [0] : []), ...encodeAmf0(values)];
  return message({ fmt: 0, csid: 3, type, stream }, body);
}

/** `count` bytes that differ from each other. */
export function pattern(count: number, seed = 0): number[] {
  return Array.from({ length: count }, (_, index) => (index * 7 + seed + (index >> 8)) & 0xff);
}

export const connect = command(['connect', 1, { app: 'live', tcUrl: 'rtmp://127.0.0.1/live' }]);
export const createStream = command(['createStream', 4, null]);
export const publish = (key: AmfValue = 'abcd') => command(['publish', 5, null, key, 'live'], { stream: 1 });
export const video = (bytes: readonly number[], time = 0, stream = 1) =>
  message({ fmt: 0, csid: 6, type: 9, time, stream }, bytes);
export const audio = (bytes: readonly number[], time = 0, stream = 1) =>
  message({ fmt: 0, csid: 4, type: 8, time, stream }, bytes);
/** C0, C1 and C2. */
export const handshake: readonly number[] = [3, ...pattern(1536), ...pattern(1536, 3)];

export function grantOf(token: string): PublishGrant {
  return {
    granted: true,
    token,
    streamId: 'stream',
    sessionId: 'session',
    playbackId: 'playback',
    mediaSequence: 0,
    discontinuitySequence: 0,
    targetDuration: 2,
  };
}

/** Handlers that say yes (or what `answer` says) and remember everything. */
export function recordingHandlers(
  answer: (request: PublishRequest, token: string) => Promise<PublishGrant | PublishRefusal> = async (
    _,
    token,
  ) => grantOf(token),
) {
  const requests: PublishRequest[] = [];
  const sinks: ReturnType<typeof recordingSink>[] = [];
  const ends: ({ token: string } & PublishEnd)[] = [];
  const handlers: PublishHandlers = {
    authorise(request) {
      requests.push(request);
      return answer(request, `t${requests.length}`);
    },
    attach() {
      const sink = recordingSink();
      sinks.push(sink);
      return sink;
    },
    detached: (grant, end) => void ends.push({ token: grant.token, ...end }),
  };
  return { handlers, requests, sinks, ends, heard: () => sinks.flatMap((sink) => sink.heard) };
}

/** What a server has said: its messages, commands decoded. */
export function readReplies(bytes: Uint8Array) {
  const said: { type: number; stream: number; values: AmfValue[]; bytes: number[] }[] = [];
  const parser = new ChunkParser({
    messageBytes: rtmpDefaults.messageBytes,
    onControl(type, stream, from, start, end) {
      const values = type === 20 ? readAmf0(from, start, end) : [];
      said.push({ type, stream, values, bytes: [...from.subarray(start, end)] });
    },
  });
  if (bytes.length > 3073) parser.feed(bytes, 3073, bytes.length);
  return {
    said,
    /** Codes of all status messages, in order. */
    codes: said.flatMap(({ values }) => {
      const info = values[3] as { code?: string } | undefined;
      return info?.code === undefined ? [] : [info.code];
    }),
    commands: said.filter(({ type }) => type === 20).map(({ values }) => values[0]),
  };
}

/** A session without a socket. */
export function session(options: {
  handlers: PublishHandlers;
  now?: () => number;
  apps?: readonly string[];
}) {
  const written: number[] = [];
  const ended: { reason: string; error?: unknown }[] = [];
  let closed = 0;
  const made = new RtmpSession({
    handlers: options.handlers,
    clock: { now: options.now ?? (() => 0), at: () => () => undefined },
    config: { ...rtmpDefaults, ...(options.apps && { apps: options.apps }) },
    connection: 'c1',
    address: '192.0.2.1',
    write(bytes) {
      for (const byte of bytes) written.push(byte);
    },
    end() {
      closed += 1;
    },
    onEnd: (reason, error) => void ended.push({ reason, error }),
  });
  return {
    session: made,
    feed: (...parts: (readonly number[])[]) => made.feed(Uint8Array.from(parts.flat())),
    written,
    ended,
    closed: () => closed,
    replies: () => readReplies(Uint8Array.from(written)),
  };
}

/** Lets everything that is resolved run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
