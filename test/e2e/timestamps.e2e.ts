/** What the decoder says of the cases in test/hls/timestamp-cases.ts: init and segments behind one another, as a player would append them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CASES,
  LENGTH,
  type Message,
  messagesOf,
  type Outcome,
  sendCase,
  type TimestampCase,
} from '../hls/timestamp-cases.ts';
import { enhancedClip } from '../publisher/enhanced-clip.ts';
import { encode } from './harness/encoders.ts';
import { root } from './harness/server.ts';

let folder: string;
let clip: Message[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-timestamps-'));
  clip = messagesOf(await Bun.file(join(root, 'demo/clip.flv')).bytes());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Lets ffmpeg decode a fragmented MP4: pictures, seconds of the longest track, and all it has to say. */
async function decode(bytes: Uint8Array): Promise<{ frames: number; seconds: number; said: string }> {
  const options = ['-hide_banner', '-nostats', '-loglevel', 'warning', '-progress', 'pipe:1', '-i', 'pipe:0'];
  const output = ['-fps_mode', 'passthrough', '-enc_time_base:v', '-1', '-f', 'null', '-'];
  const child = spawn('ffmpeg', [...options, ...output], { stdio: ['pipe', 'pipe', 'pipe'] });
  let progress = '';
  let said = '';
  child.stdout.on('data', (chunk) => (progress += chunk));
  child.stderr.on('data', (chunk) => (said += chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  const [code] = await once(child, 'close');
  const last = (name: string) =>
    Number([...progress.matchAll(new RegExp(`^${name}=\\s*(\\d+)`, 'gm'))].at(-1)?.[1] ?? 0);
  return {
    frames: last('frame'),
    seconds: last('out_time_us') / 1e6,
    said: said + (code === 0 ? '' : `${code}`),
  };
}

/** All segments, by discontinuity, each behind its init. */
function runsOf({ viewer }: Outcome): Uint8Array[] {
  const runs = new Map<number, Uint8Array[]>();
  const bytes = (uri: string) => viewer.fetched.get(uri) as Uint8Array;
  for (const { discontinuities, map, uri } of viewer.segments) {
    const run = runs.get(discontinuities) ?? [bytes(map)];
    run.push(bytes(uri));
    runs.set(discontinuities, run);
  }
  return [...runs.values()].map((run) => Buffer.concat(run));
}

/** Key frames that are none cannot be made of a clip that has them: these are encoded. */
const rare = [
  { name: 'key frames 10 s apart', frames: 300 },
  { name: 'no key frame but the first', frames: 9999 },
];
test.concurrent.each(rare)('$name', async ({ name, frames }) => {
  const path = join(folder, `${frames}.flv`);
  const source = [
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=320x180:rate=30',
    '-f',
    'lavfi',
    '-i',
    'sine',
    '-t',
    '12',
  ];
  const keys = ['-g', `${frames}`, '-keyint_min', `${frames}`, '-sc_threshold', '0', '-pix_fmt', 'yuv420p'];
  await encode([
    ...source,
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    ...keys,
    '-c:a',
    'aac',
    '-ar',
    '48000',
    path,
  ]);
  await judge({ name, bend: (messages) => messages }, messagesOf(await Bun.file(path).bytes()));
});

test.concurrent.each(CASES)('$name', (item) => judge(item, clip));

async function judge(item: TimestampCase, messages: Message[]): Promise<void> {
  const outcome = await sendCase(item.bend(messages));
  let frames = 0;
  let seconds = 0;
  for (const run of runsOf(outcome)) {
    const decoded = await decode(run);
    expect(decoded.said).toBe('');
    frames += decoded.frames;
    seconds = Math.max(seconds, decoded.seconds);
  }
  expect(frames).toBe(outcome.viewer.samples(1).length);
  const listed = outcome.viewer.segments.reduce((sum, { duration }) => sum + duration, 0);
  const wanted = Math.min(item.picture ?? LENGTH, item.discontinuities ? LENGTH : (item.sound ?? LENGTH));
  if (!item.discontinuities) expect(Math.abs(listed - wanted)).toBeLessThanOrEqual(0.01 * wanted);
  expect(seconds).toBeGreaterThan(0);
}

test('another picture size and another codec, in the same session', async () => {
  const source = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30', '-t', '4'];
  const [small, h265] = [join(folder, 'small.flv'), join(folder, 'h265.mp4')];
  await encode([...source, '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', small]);
  const keys = 'log-level=error:keyint=60:min-keyint=60';
  await encode([
    ...source,
    '-c:v',
    'libx265',
    '-preset',
    'ultrafast',
    '-x265-params',
    keys,
    '-tag:v',
    'hvc1',
    h265,
  ]);
  const later = (messages: Message[], ms: number) =>
    messages.map((message) => {
      const time = message.time + ms;
      return { ...message, time, stamp: time, arrival: time };
    });
  const first = clip.filter(({ time, type }) => time < (type === 9 ? 4000 : 12_000));
  const second = messagesOf(await Bun.file(small).bytes());
  const hevc = enhancedClip(await Bun.file(h265).bytes());
  const of = (body: Uint8Array, time: number, isHeader: boolean): Message => ({
    ...{ type: 9, body, isHeader, isKey: false, time, stamp: time, arrival: time },
  });
  const third = [
    of(hevc.videoHeader as Uint8Array, 0, true),
    ...hevc.tags.map(({ body, timestamp }) => of(body, timestamp, false)),
  ];
  const all = [...first, ...later(second, 4000), ...later(third, 8000)].sort((a, b) => a.arrival - b.arrival);
  const outcome = await sendCase(all);
  expect(outcome.publisher.fatal).toEqual([]);
  const runs = runsOf(outcome);
  const decoded = await Promise.all(runs.map(decode));
  expect(decoded.map(({ frames, said }) => [frames, said])).toEqual([
    [120, ''],
    [120, ''],
    [120, ''],
  ]);
  expect(outcome.viewer.segments.at(-1)?.discontinuities).toBe(2);
  expect(await outcome.feed.text('index.m3u8')).toMatch(
    /CODECS="hvc1\.[^,]+,mp4a\.40\.2",RESOLUTION=320x180,FRAME-RATE=30\.000/,
  );
});
