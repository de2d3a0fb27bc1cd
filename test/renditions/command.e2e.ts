import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RenditionProfile } from '../../core/ports/transcoder.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { ffmpegRunner } from '../../runtime/media/ffmpeg/runner.ts';
import { liveCommand } from '../../runtime/media/renditions/live-command.ts';
import { planOf } from '../../runtime/media/renditions/plan.ts';
import { run } from '../e2e/harness/film-tools.ts';
import { silentLog } from '../kit/silent-log.ts';

/** What ffmpeg makes of our command: the times, key frames and sizes that `ladder.ts` promises. */
const video = { codec: 'avc1.640020', width: 1280, height: 720, frameRate: 60 };
const settings = { encoder: 'libx264', preset: 'ultrafast', device: undefined, threads: 2 };
const profile = (more: Partial<RenditionProfile>): RenditionProfile => ({
  ...{ name: 'x', width: 426, height: 240, bitrate: 300_000, fps: 0 },
  ...more,
});
let folder: string;
let source: string;
let runner: ReturnType<typeof ffmpegRunner>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-renditions-'));
  source = join(folder, 'source.mp4');
  runner = ffmpegRunner({ clock: systemClock(), log: silentLog, env: process.env });
  // B-frames and a key frame each second.
  await run('ffmpeg', [
    ...['-loglevel', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=60'],
    ...['-f', 'lavfi', '-i', 'sine', '-t', '6', '-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '2'],
    ...['-g', '60', '-sc_threshold', '0', '-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov', source],
  ]);
});
afterAll(async () => {
  runner.close();
  await rm(folder, { recursive: true, force: true });
});

interface Packet {
  readonly time: number;
  readonly isKey: boolean;
}

async function packetsOf(path: string, stream: number): Promise<Packet[]> {
  const shown = ['-show_entries', 'packet=pts_time,flags', '-of', 'csv=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', '-select_streams', `v:${stream}`, ...shown, path]);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return rows
    .map(([time, flags]) => ({ time: Number(time), isKey: flags.startsWith('K') }))
    .sort((a, b) => a.time - b.time);
}

/** The renditions of the source, in a file. */
async function encode(profiles: readonly RenditionProfile[], from?: number): Promise<string> {
  const plan = planOf(video, { profiles, counted: undefined });
  if ('reason' in plan) throw new Error(plan.message);
  const pieces: Uint8Array[] = [];
  let onRoom = () => {};
  const child = await runner.start({
    command: liveCommand({ video, from }, { plan, settings }),
    handlers: { onOutput: (bytes) => void pieces.push(bytes.slice()), onDrain: () => onRoom() },
  });
  if (!child.ok) throw new Error(child.reason);
  const bytes = await readFile(source);
  for (let at = 0; at < bytes.length; ) {
    at += child.write(bytes.subarray(at));
    if (at < bytes.length)
      await new Promise<void>((resolve) => {
        onRoom = resolve;
      });
  }
  child.end();
  expect(await child.ended).toMatchObject({ code: 0, errors: '' });
  const path = join(folder, `${profiles.map(({ fps }) => fps).join('-')}-${from}.mp4`);
  await writeFile(path, Buffer.concat(pieces));
  return path;
}

it('gives each picture its time, and key frames where the source has them', async () => {
  const path = await encode([profile({ width: 854, height: 480 }), profile({})]);
  const wanted = await packetsOf(source, 0);
  expect(wanted.filter(({ isKey }) => isKey)).toHaveLength(6);
  for (const stream of [0, 1]) {
    const made = await packetsOf(path, stream);
    expect(made.map(({ isKey }) => isKey)).toEqual(wanted.map(({ isKey }) => isKey));
    made.forEach(({ time }, index) => {
      expect(Math.abs(time - wanted[index].time)).toBeLessThan(0.0001);
    });
  }
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'stream=width,height',
    '-of',
    'csv=p=0',
    path,
  ]);
  expect(stdout.trim().split('\n')).toEqual(['854,480', '426,240']);
});

it('gives each picture its time where renditions have different rates', async () => {
  const wanted = new Set((await packetsOf(source, 0)).map(({ time }) => Math.round(time * 10_000)));
  const path = await encode([profile({ fps: 15 }), profile({}), profile({ fps: 24 })]);
  for (const [stream, count] of [90, 360, 144].entries()) {
    const made = (await packetsOf(path, stream)).map(({ time }) => Math.round(time * 10_000));
    expect(new Set(made).size).toBe(made.length);
    expect(made.filter((time) => !wanted.has(time))).toEqual([]);
    expect(Math.abs(made.length - count)).toBeLessThanOrEqual(6);
  }
});

it('begins with the first picture that is wanted, as a key frame', async () => {
  const wanted = (await packetsOf(source, 0)).filter(({ time }) => time >= 2.5);
  const made = await packetsOf(await encode([profile({})], wanted[0].time), 0);
  expect(made[0].isKey).toBe(true);
  expect(Math.abs(made[0].time - wanted[0].time)).toBeLessThan(0.0001);
  expect(made).toHaveLength(wanted.length);
  expect(made.slice(1).map(({ isKey }) => isKey)).toEqual(wanted.slice(1).map(({ isKey }) => isKey));
});

it.each([
  [30, 1, 30],
  [24, 1, 24],
  [15, 1, 15],
  [30_000, 1001, 30],
  [100, 1, 60],
])(
  'leaves out pictures for %i/%i a second, moves none and loses no key frame',
  async (fps, fpsDen, expected) => {
    const made = await packetsOf(await encode([profile({ fps, fpsDen })]), 0);
    const wanted = await packetsOf(source, 0);
    // Each second may have one more: it begins anew with its key frame.
    expect(made.length / 6).toBeGreaterThanOrEqual(expected - 0.5);
    expect(made.length / 6).toBeLessThanOrEqual(expected + 1);
    expect(made.filter(({ isKey }) => isKey)).toHaveLength(6);
    const times = new Set(wanted.map(({ time }) => Math.round(time * 10_000)));
    expect(made.every(({ time }) => times.has(Math.round(time * 10_000)))).toBe(true);
  },
);
