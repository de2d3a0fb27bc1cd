import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FinishedFile } from '../../runtime/media/recording/file/finish-file.ts';
import type { GrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import {
  complaints,
  flashesAndBeeps,
  frameAt,
  playWithGStreamer,
  probe,
  run,
  serveFolder,
  watch,
} from '../e2e/harness/film-tools.ts';
import { readFragments } from '../hls/boxes.ts';
import { type FlvTag, readFlv } from '../hls/flv.ts';
import { enhancedClip } from '../publisher/enhanced-clip.ts';
import { complaintsOfFfmpeg } from '../vod/players.ts';
import { atOnce } from './at-once.ts';
import { MemoryIo } from './memory-io.ts';
import { TappedPackager } from './tapped-packager.ts';

const clip = ['-i', 'demo/clip.flv', '-t', '7'];
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '60'];
const aac = (rate: number) => ['-c:a', 'aac', '-ar', `${rate}`];
const large = ['-vf', 'scale=640:360'];
/** A white picture and a tone in the first tenth of each second. */
const beacon = [
  ...['-f', 'lavfi', '-i', "color=black:s=320x180:r=30,drawbox=t=fill:c=white:enable='lt(mod(t,1),0.1)'"],
  ...['-f', 'lavfi', '-i', "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)':s=48000"],
  ...['-t', '5'],
];

/** What the encoder sends, by name. */
const sources: Readonly<Record<string, readonly string[]>> = {
  plain: [...clip, ...large, ...x264, ...aac(48_000)],
  bframes: [...clip, ...large, ...x264, '-bf', '3', '-b_strategy', '0', ...aac(48_000)],
  ntsc: [...clip, '-vf', 'scale=640:360,fps=30000/1001', ...x264, '-bf', '2', ...aac(44_100)],
  small: [...clip, '-vf', 'scale=320:180', ...x264, ...aac(48_000)],
  mono: [...clip, ...large, ...x264, ...aac(32_000), '-ac', '1'],
  sound: [...clip, '-vn', ...aac(44_100)],
  pictures: [...clip, '-an', ...large, ...x264, '-bf', '2'],
  beacon: [...beacon, ...x264, '-bf', '2', ...aac(48_000)],
  beacon44: [...beacon, ...x264, ...aac(44_100)],
  hevc: [
    ...[
      ...clip,
      '-t',
      '4',
      '-vf',
      'scale=320:180',
      '-c:v',
      'libx265',
      '-preset',
      'ultrafast',
      '-tag:v',
      'hvc1',
    ],
    ...['-x265-params', 'log-level=none:keyint=60', ...aac(48_000)],
  ],
};
const enhanced = new Set(['hevc']);

let folder = '';
let browser: Browser;
let server: ReturnType<typeof serveFolder>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-take-'));
  server = serveFolder(folder);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  server?.stop();
  await rm(folder, { recursive: true });
});

const encoded = new Map<string, Promise<readonly FlvTag[]>>();

/** Encoded once, whoever asks. */
function source(name: string): Promise<readonly FlvTag[]> {
  const known = encoded.get(name) ?? encode(name);
  encoded.set(name, known);
  return known;
}

async function encode(name: string): Promise<readonly FlvTag[]> {
  const path = join(folder, `${name}.${enhanced.has(name) ? 'mp4' : 'flv'}`);
  await run('ffmpeg', ['-v', 'error', ...sources[name], path]);
  const bytes = await Bun.file(path).bytes();
  return enhanced.has(name) ? tagsOf(bytes) : readFlv(bytes);
}

function tagsOf(mp4: Uint8Array): FlvTag[] {
  const { videoHeader, audioHeader, tags } = enhancedClip(mp4);
  const headers: FlvTag[] = [];
  if (videoHeader) headers.push({ type: 9, timestamp: 0, body: videoHeader });
  if (audioHeader) headers.push({ type: 8, timestamp: 0, body: audioHeader });
  return [
    ...headers,
    ...tags.map(({ type, timestamp, body }): FlvTag => ({ type: type === 'video' ? 9 : 8, timestamp, body })),
  ];
}

interface Take {
  readonly file: GrowingFile;
  readonly io: MemoryIo;
  readonly finished: FinishedFile;
  /** Samples that were packaged, by track, and the seconds of parts. */
  readonly fed: { readonly video: number; readonly audio: number; readonly seconds: number };
}

/** Publishes one source after the other, and counts by itself what is packaged. */
async function take(names: readonly string[]): Promise<Take> {
  const io = new MemoryIo();
  const file = atOnce(openGrowingFile(io));
  const fed = { video: 0, audio: 0, seconds: 0 };
  const tap: GrowingFile = Object.create(file, {
    part: {
      value: (bytes: Uint8Array, part: Parameters<GrowingFile['part']>[1]) => {
        fed.seconds += part.duration;
        for (const { runs } of readFragments(bytes))
          for (const { track, samples } of runs) fed[track === 1 ? 'video' : 'audio'] += samples.length;
        file.part(bytes, part);
      },
    },
    begin: { value: (init: Parameters<GrowingFile['begin']>[0]) => file.begin(init) },
    pause: { value: () => file.pause() },
  });
  const packager = new TappedPackager(tap);
  for (const [index, name] of names.entries()) {
    packager.publish(await source(name), { restarted: index === 2 });
    packager.clock.advance(20_000);
  }
  const finished = atOnce(file.finish());
  if (finished === undefined) throw new Error('nothing was recorded');
  return { file, io, finished, fed };
}

/** When the second run begins, seconds; the middle where there is none. */
function secondRun({ file, finished }: Take): number {
  let time = 0;
  for (let number = 0; number < file.count; number += 1) {
    const { isDiscontinuity, duration } = file.segment(number);
    if (isDiscontinuity) return time;
    time += duration;
  }
  return finished.spec.duration / 2;
}

/** The file with its moov at the end, and the same film with it in front. */
async function write(name: string, { io, finished }: Take): Promise<string[]> {
  const { bytes } = io;
  const { head } = finished;
  const paths = [join(folder, `${name}.mp4`), join(folder, `${name}.front.mp4`)];
  await Bun.write(paths[0], bytes);
  await Bun.write(paths[1], Buffer.concat([head.bytes, bytes.subarray(head.from, head.to)]));
  return paths;
}

describe.each([
  ['bframes', ['bframes'], [0.5, 3, 5.5]],
  ['ntsc', ['ntsc'], [0.5, 3, 5.5]],
  ['sound alone', ['sound'], [1, 3, 6]],
  ['pictures alone', ['pictures'], [0.5, 3, 5.5]],
  ['a reconnect and a restart', ['bframes', 'bframes', 'bframes'], [3, 10, 18]],
  ['another size', ['plain', 'small', 'bframes'], [18, 3, 10]],
  ['another sample rate', ['plain', 'ntsc', 'plain'], [3, 10, 18]],
  ['a much lower sample rate', ['plain', 'mono', 'ntsc'], [3, 10, 18]],
  ['sound that is away', ['plain', 'pictures', 'plain'], [3, 10, 18]],
  ['pictures that are away', ['plain', 'sound', 'plain'], [3, 10, 18]],
  ['sound first', ['sound', 'bframes'], [3, 9, 12]],
  ['pictures first', ['pictures', 'bframes'], [3, 9, 12]],
  ['another codec', ['plain', 'hevc', 'bframes'], []],
])('a film of %s', { concurrent: true }, (name, publishes, at) => {
  let made: Take;
  let paths: string[] = [];
  beforeAll(async () => {
    made = await take(publishes);
    paths = await write(name.replaceAll(' ', '-'), made);
  });

  it('is decoded by ffmpeg without a word, with every sample, from 0 to its end', async () => {
    const { fed, finished } = made;
    for (const path of paths) {
      expect(await complaints(path)).toBe('');
      expect(await complaintsOfFfmpeg(path)).toBe('');
      const { format, streams } = await probe(path);
      expect(Number(format.start_time)).toBe(0);
      expect(Math.abs(Number(format.duration) - fed.seconds)).toBeLessThan(0.35 * publishes.length);
      expect(Math.abs(Number(format.duration) - finished.spec.duration)).toBeLessThan(0.01);
      const count = (type: string) =>
        streams
          .filter(({ codec_type }) => codec_type === type)
          .reduce((sum, stream) => sum + Number(stream.nb_read_packets), 0);
      expect({ video: count('video'), audio: count('audio') }).toEqual({
        video: fed.video,
        audio: fed.audio,
      });
      for (const { codec_type, nb_read_frames, nb_read_packets } of streams)
        if (codec_type === 'video') expect(nb_read_frames).toBe(nb_read_packets);
      expect(finished.spec.tracks.map(({ codec }) => codec)).toEqual(
        streams.map(({ codec_name }) => codec_name),
      );
      for (const [index, track] of finished.spec.tracks.entries()) {
        const { pix_fmt, width, height, channels, sample_rate } = streams[index];
        if (publishes.length > 1) continue;
        if (track.type === 'video')
          expect({ pixelFormat: track.pixelFormat, width: track.width, height: track.height }).toEqual({
            pixelFormat: pix_fmt,
            width,
            height,
          });
        else expect([track.channels, track.sampleRate]).toEqual([channels, Number(sample_rate)]);
      }
      if (streams.length !== 2 || name.endsWith('first')) continue;
      expect(Math.abs(Number(streams[0].start_time) - Number(streams[1].start_time))).toBeLessThan(1 / 30);
    }
  });

  it('is played by GStreamer', async () => {
    for (const path of paths) await playWithGStreamer(path);
  });

  it('has segments that are decoded with their init', async () => {
    const { file, io } = made;
    const path = `${paths[0]}.segment.mp4`;
    const { bytes } = io;
    for (let number = 0; number < file.count; number += 1) {
      const { at, size, init } = file.segment(number);
      const { at: initAt, size: initSize } = file.inits[init];
      await Bun.write(
        path,
        Buffer.concat([bytes.subarray(initAt, initAt + initSize), bytes.subarray(at, at + size)]),
      );
      expect(await complaints(path), `segment ${number}`).toBe('');
    }
  });

  if (at.length === 0) return;

  it('is played by Chromium, which goes to any place of it', async () => {
    for (const path of paths) {
      const url = new URL(path.slice(folder.length + 1), server.url).href;
      const { duration, sought, played } = await watch(browser, {
        url,
        at,
        across: secondRun(made),
      });
      expect(Math.abs(duration - made.finished.spec.duration)).toBeLessThan(0.05);
      for (const [index, { currentTime, frame, error }] of sought.entries()) {
        expect(error).toBeNull();
        expect(currentTime).toBeCloseTo(at[index], 2);
        if (made.fed.video === 0) continue;
        const expected = await frameAt(path, at[index]);
        // Before the first picture a browser shows that one.
        if (expected === null) expect(name).toBe('sound first');
        else expect(Math.abs((frame ?? -9) - expected), `at ${at[index]}`).toBeLessThanOrEqual(1);
      }
      expect(played.error).toBeNull();
      expect(played.reached).toBeGreaterThan(secondRun(made) + 0.4);
    }
  });
});

it('shows the number that was painted, where it was painted', async () => {
  const [path] = await write('numbers', await take(['bframes', 'bframes']));
  const url = new URL(path.slice(folder.length + 1), server.url).href;
  const { sought } = await watch(browser, { url, at: [0, 1.02, 4.52], across: 1 });
  expect(sought.map(({ frame }) => frame)).toEqual([0, 30, 135]);
});

it('flashes and beeps at once, after a reconnect and at another sample rate too', async () => {
  const made = await take(['beacon', 'beacon44', 'beacon']);
  const [path] = await write('beacon', made);
  const { flashes, beeps: heard } = await flashesAndBeeps(path);
  // The silence at the end of a track ends with it, half a second behind the last beep or more.
  const ends = made.finished.spec.tracks.map(({ duration }) => duration);
  const beeps = heard.filter((beep) => ends.every((end) => Math.abs(beep - end) > 0.1));
  expect(flashes.length).toBeGreaterThanOrEqual(14);
  // The first tone has no silence before it.
  for (const beep of beeps) {
    const nearest = Math.min(...flashes.map((flash) => Math.abs(flash - beep)));
    expect(nearest, `a beep at ${beep}, flashes at ${flashes}`).toBeLessThan(1 / 30 + 0.022);
  }
  expect(beeps.length).toBeGreaterThanOrEqual(12);
});
