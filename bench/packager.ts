/**
 * What the packager alone costs: FLV message bodies in an arena → parts and playlists, in process, no sockets.
 * `bun bench/packager.ts [streams] [seconds] [targets]`. 3.2 Mb/s, 720p30 with 2 s between key frames, AAC at 48 kHz.
 */

import type { Log } from '../core/base/log.ts';
import type { Clock } from '../core/ports/clock.ts';
import { copyBytes } from '../runtime/base/copy-bytes.ts';
import { Broadcast } from '../runtime/media/broadcast/broadcast.ts';
import { BufferPool } from '../runtime/media/live/pool.ts';
import { Slabs } from '../runtime/media/live/slabs.ts';
import type { Arena, MediaSink } from '../runtime/media/publish/sink.ts';
import type { Framing, OpenPush } from '../runtime/media/push/connection.ts';
import { NodePusher } from '../runtime/media/push/pusher.ts';
import { AAC_48000_STEREO, AVC_360P, audioHeader, frame, sound, videoHeader } from '../test/hls/feed.ts';
import { pushSettings } from '../test/media/push/stage.ts';

const streams = Number(process.argv[2] ?? 50);
const seconds = Number(process.argv[3] ?? 60);
/** Multistream targets of each stream, which take all there is: what relay and queue cost, without any network. */
const targets = Number(process.argv[4] ?? 0);
const KEY = frame({ isKey: true, size: 100_000 });
const DELTA = frame({ isKey: false, size: 10_900 });
const SOUND = sound(340);

class Hand implements Clock {
  time = Date.UTC(2026, 0, 1);
  now(): number {
    return this.time;
  }
  at(): () => void {
    return () => {};
  }
}

const clock = new Hand();
const pool = new BufferPool({ limit: 256 << 20 });
const slabs = new Slabs();
const quiet = () => {};
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, with: () => log };
const framing: Framing = {
  preamble: new Uint8Array(0),
  sizeOf: (length) => length + 12,
  write(out, at, _type, _time, bytes, start, end) {
    copyBytes(bytes, start, out, at + 12, end - start);
    return at + 12 + end - start;
  },
};
const swallow: OpenPush = (_url, { onOpen }) => {
  queueMicrotask(() => onOpen({ framing, write: (bytes) => bytes.length, leave: quiet }));
  return { abort: quiet };
};
/** As in the server: what may be pushed, whether it is or not. */
const pusher = new NodePusher({
  clock,
  log,
  random: () => 0,
  open: { rtmp: swallow, rtmps: swallow, srt: swallow },
  settings: { ...pushSettings, memory: 1 << 30 },
});
const outputs = Array.from(
  { length: streams },
  (_, i) => new Broadcast({ clock, pool, slabs, relay: pusher.relayFor(`${i}`) }),
);
const sinks = outputs.map((output, i) =>
  output.attach({
    grant: {
      granted: true,
      token: `${i}`,
      streamId: '',
      sessionId: '',
      playbackId: '',
      mediaSequence: 0,
      discontinuitySequence: 0,
      targetDuration: 4,
    },
    onPlayable: () => {},
    onFatal: (reason) => {
      throw new Error(reason);
    },
  }),
);

/** The copy that the RTMP parser makes; measured by itself to take it off. */
function append(arena: Arena, body: Uint8Array): number {
  const start = arena.length;
  arena.reserve(body.length);
  arena.bytes.set(body, start);
  arena.length += body.length;
  return start;
}

function message(sink: MediaSink, type: number, time: number, body: Uint8Array): void {
  if (type === 9) sink.onVideo(append(sink.video, body), sink.video.length, time);
  else sink.onAudio(append(sink.audio, body), sink.audio.length, time);
}

/** All messages of `from` to `until` seconds, to every sink. */
function feed(from: number, until: number, hand: typeof message): number {
  let bytes = 0;
  let sounds = Math.ceil((from * 48_000) / 1024);
  for (let frames = from * 30; frames < until * 30; frames += 1) {
    const time = (frames / 30) * 1000;
    clock.time += 1000 / 30;
    for (; (sounds * 1024) / 48 < time; sounds += 1) {
      bytes += SOUND.length;
      for (const sink of sinks) hand(sink, 8, Math.round((sounds * 1024) / 48), SOUND);
    }
    const body = frames % 60 === 0 ? KEY : DELTA;
    bytes += body.length;
    for (const sink of sinks) hand(sink, 9, Math.round(time), body);
  }
  return bytes;
}

for (const sink of sinks) {
  message(sink, 9, 0, videoHeader(AVC_360P));
  message(sink, 8, 0, audioHeader(AAC_48000_STEREO));
}
const wanted = Array.from({ length: targets }, (_, i) => ({ id: `${i}`, url: 'rtmp://', videoOnly: false }));
for (let i = 0; i < streams; i += 1) pusher.want(`${i}`, wanted);
await Promise.resolve();
feed(0, 30, message);
Bun.gc(true);
const before = process.cpuUsage();
const bytes = feed(30, 30 + seconds, message);
const spent = process.cpuUsage(before);

const bare = process.cpuUsage();
const scratch = sinks.map((sink) => ({ ...sink, video: sink.video, audio: sink.audio }));
for (let i = 0; i < streams; i += 1) scratch[i].video.length = scratch[i].audio.length = 0;
feed(30 + seconds, 30 + 2 * seconds, (sink, type, _time, body) => {
  const arena = type === 9 ? sink.video : sink.audio;
  append(arena, body);
  if (arena.length > 130_000) arena.length = 0;
});
const copied = process.cpuUsage(bare);

const reloads = process.cpuUsage();
const rounds = 20_000;
for (let i = 0; i < rounds; i += 1) void outputs[i % streams].serve('source.m3u8');
const cached = process.cpuUsage(reloads);

const media = streams * seconds;
const total = (spent.user + spent.system) / media;
const copy = (copied.user + copied.system) / media;
const kept = outputs.reduce((sum, output) => sum + output.output.bytes, 0) / streams;
console.log(`${streams} streams, ${seconds} s, ${((bytes * 8) / seconds / 1e6).toFixed(2)} Mb/s`);
console.log(
  `packager with the copy into the arena: ${total.toFixed(1)} µs per s = ${(total / 1e4).toFixed(4)} % of a core`,
);
console.log(`the copy into the arena alone:         ${copy.toFixed(1)} µs per s`);
console.log(
  `window per stream: ${(kept / 1e6).toFixed(2)} MB = ${(kept / (bytes / seconds)).toFixed(1)} s of media; idle in the pool: ${(pool.idle / 1e6).toFixed(1)} MB; RSS ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`,
);
console.log(`a playlist answered from its cache: ${((cached.user + cached.system) / rounds).toFixed(1)} µs`);
if (targets > 0)
  console.log(
    `pushed: ${(pusher.totals().sentBytes / streams / targets / 1e6).toFixed(1)} MB for each target`,
  );
