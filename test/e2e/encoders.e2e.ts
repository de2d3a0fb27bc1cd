/** Each encoder there is, broadcasting for real: what Chromium decodes plays there, and all of it in ffmpeg. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueTexts } from '../../plugins/health/judge.ts';
import type { Picture } from '../kit/frame-number.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type Clip, readFlvFile } from '../kit/publisher/flv-file.ts';
import { enhancedClip } from '../publisher/enhanced-clip.ts';
import { cert, key } from '../rtmp/tls.ts';
import { launchBrowser, openViewer } from './harness/chromium.ts';
import { type Encoder, encode, ffmpeg, gstreamer, librtmp, publisher } from './harness/encoders.ts';
import { readHls } from './harness/ffmpeg.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

const fps = 30;
const picture = ['-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=${fps}`];
const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'];
const live = [picture, sound].map((source) => ['-re', ...source]);
const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '60', '-b:v', '400k'];
const h265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-tag:v', 'hvc1', '-pix_fmt', 'yuv420p'];
const h265Keys = ['-x265-params', 'log-level=error:keyint=60:min-keyint=60:scenecut=0'];
const av1 = ['-c:v', 'libsvtav1', '-preset', '12', '-g', '60', '-b:v', '300k'];

let browser: Browser;
let server: Server;
let folder: string;
let tlsPort: number;
const clips: Record<string, Clip> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-encoders-'));
  const file = (name: string) => join(folder, name);
  await Promise.all([writeFile(file('cert.pem'), cert), writeFile(file('key.pem'), key)]);
  [tlsPort] = await findFreePorts(1);
  const both = [...picture, ...sound, '-t', '12'];
  await encode([...both, ...h264, '-c:a', 'aac', file('h264.mp4')]);
  await encode([...both, ...h265, ...h265Keys, '-c:a', 'aac', file('h265.mp4')]);
  await encode([...both, ...av1, '-c:a', 'libopus', file('av1.mp4')]);
  await encode([...picture, ...sound, '-t', '60', ...h264, '-bf', '2', '-c:a', 'aac', file('h264.flv')]);
  for (const name of ['h264', 'h265', 'av1'])
    clips[name] = enhancedClip(await Bun.file(file(`${name}.mp4`)).bytes());
  clips.demo = await readFlvFile(join(root, 'demo/clip.flv'));
  browser = await launchBrowser();
  server = await startServer({
    env: {
      MILLRACE_RTMP__TLS_PORT: String(tlsPort),
      MILLRACE_TLS__CERT: file('cert.pem'),
      MILLRACE_TLS__KEY: file('key.pem'),
    },
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Lane {
  readonly name: string;
  readonly begin: (urls: { plain: string; secure: string }) => Encoder | Promise<Encoder>;
  /** RFC 6381; levels are the encoder's business. */
  readonly codecs: RegExp;
  readonly hasPicture?: false;
  readonly hasSound?: false;
  /** Chromium as it is packaged cannot decode it. */
  readonly inBrowser?: false;
  readonly issues?: readonly string[];
  /** How long ffmpeg reads, seconds. */
  readonly seconds?: number;
}

const flv = (url: string) => ['-f', 'flv', url];
const lanes: Lane[] = [
  {
    name: 'ffmpeg, H.264 and AAC by RTMPS',
    begin: ({ secure }) => ffmpeg(...live.flat(), ...h264, '-c:a', 'aac', ...flv(secure)),
    codecs: /"avc1\.42c0..,mp4a\.40\.2"/,
  },
  {
    name: 'ffmpeg, H.264 with MP3, which is left out',
    begin: ({ plain }) =>
      ffmpeg(...live.flat(), ...h264, '-c:a', 'libmp3lame', '-ar', '44100', ...flv(plain)),
    codecs: /"avc1\.42c0.."/,
    hasSound: false,
    issues: ['audio codec MP3 is not supported; use AAC, or Opus by Enhanced RTMP'],
  },
  {
    name: 'ffmpeg, sound alone',
    begin: ({ plain }) => ffmpeg(...live[1], '-c:a', 'aac', ...flv(plain)),
    codecs: /"mp4a\.40\.2"/,
    hasPicture: false,
  },
  {
    name: 'ffmpeg, picture alone',
    begin: ({ plain }) => ffmpeg(...live[0], ...h264, ...flv(plain)),
    codecs: /"avc1\.42c0.."/,
    hasSound: false,
  },
  { name: 'GStreamer', begin: ({ plain }) => gstreamer(plain), codecs: /"avc1\.42c0..,mp4a\.40\.2"/ },
  {
    name: 'GStreamer by RTMPS',
    begin: ({ secure }) => gstreamer(secure),
    codecs: /"avc1\.42c0..,mp4a\.40\.2"/,
  },
  {
    name: 'librtmp as OBS uses it',
    begin: ({ plain }) => librtmp(plain, join(folder, 'h264.flv')),
    codecs: /"avc1\.4d40..,mp4a\.40\.2"/,
  },
  {
    name: 'Enhanced RTMP, H.264 and AAC',
    begin: ({ plain }) => publisher(plain, { clip: clips.h264 }),
    codecs: /"avc1\.42c0..,mp4a\.40\.2"/,
  },
  {
    name: 'Enhanced RTMP, H.265 and AAC',
    begin: ({ plain }) => publisher(plain, { clip: clips.h265 }),
    codecs: /"hvc1\.1\.6\.L\d+\.90,mp4a\.40\.2"/,
    inBrowser: false,
    issues: [issueTexts.videoCodec],
  },
  {
    name: 'Enhanced RTMP, AV1 and Opus',
    begin: ({ plain }) => publisher(plain, { clip: clips.av1 }),
    codecs: /"av01\.0\.\d\dM\.08,opus"/,
    issues: [issueTexts.videoCodec, issueTexts.audioCodec],
  },
  {
    name: 'over the 24-bit border of timestamps',
    begin: ({ plain }) => publisher(plain, { clip: clips.demo, firstTimestamp: 2 ** 24 - 14_000 }),
    codecs: /"avc1\.6400..,mp4a\.40\.2"/,
    inBrowser: false,
    seconds: 8,
  },
  {
    name: 'over the 32-bit wrap of timestamps',
    begin: ({ plain }) => publisher(plain, { clip: clips.demo, firstTimestamp: 2 ** 32 - 14_000 }),
    codecs: /"avc1\.6400..,mp4a\.40\.2"/,
    inBrowser: false,
    seconds: 8,
  },
];

test.concurrent.each(lanes)('$name', async (lane) => {
  const { hasPicture = true, hasSound = true, inBrowser = true, issues = [], seconds = 4 } = lane;
  const stream = await server.api.createStream({ name: lane.name });
  const playlist = server.playlistUrl(stream.playbackId);
  await using encoder = await lane.begin({
    plain: server.ingestUrl(stream.streamKey),
    secure: `rtmps://localhost:${tlsPort}/live/${stream.streamKey}`,
  });
  // ffmpeg begins three segments from the end; a publish's second segment begins without a key frame.
  await until('six segments', async () => (await readMediaPlaylist(playlist)).segments.length >= 6, {
    within: 40_000,
  }).catch((error) => {
    throw new Error(`${error.message}; the encoder: ${encoder.log}`);
  });
  const master = await (await fetch(playlist)).text();
  expect(master).toMatch(lane.codecs);
  expect(await issuesOf(stream.id)).toEqual(issues);

  if (inBrowser) {
    await using viewer = await openViewer(browser, {
      url: `${server.url}/watch/${stream.playbackId}`,
      within: 30_000,
      hasPicture,
    });
    if (hasPicture) {
      const before = await viewer.picture();
      await viewer.watch(2 * fps, { within: 30_000 });
      const after = await viewer.picture();
      expect(before && after && isSamePicture(before, after), 'the picture stands still').toBe(false);
    } else {
      const { currentTime } = await viewer.sample();
      await until('2 s of sound', async () => (await viewer.sample()).currentTime > currentTime + 2, {
        within: 30_000,
      });
    }
    const sample = await viewer.sample();
    expect(sample).toMatchObject({ error: null, fatalErrors: 0 });
    expect(sample.soundBytes > 0).toBe(hasSound);
    expect(viewer.complaints).toEqual([]);
  }

  const read = await readHls(playlist, { seconds });
  expect(read.errors).toEqual([]);
  expect(Math.abs(read.seconds - seconds)).toBeLessThanOrEqual(0.25);
  if (hasPicture) expect(Math.abs(read.frames - seconds * fps)).toBeLessThanOrEqual(fps);
  expect(await issuesOf(stream.id)).toEqual(issues);
  expect(encoder.isRunning, encoder.log).toBe(true);
});

test.concurrent('MP3 alone is refused with the reason', async () => {
  const stream = await server.api.createStream({ name: 'MP3' });
  const mp3 = ['-c:a', 'libmp3lame', '-ar', '44100'];
  await using encoder = ffmpeg(...live[1], ...mp3, ...flv(server.ingestUrl(stream.streamKey)));
  await until('ffmpeg to end', () => !encoder.isRunning, { within: 20_000 });
  expect(encoder.log).toContain('audio codec MP3 is not supported; use AAC');
});

/** What is said of the media itself. How evenly it comes is a matter of what else runs on this machine. */
async function issuesOf(id: string): Promise<string[]> {
  const names = [
    'jitter',
    'late',
    'dropped',
    'framesIrregular',
    'framesFew',
    'bitrateLow',
    'drift',
    'stall',
  ] as const;
  const ofDelivery = new Set<string>(names.map((name) => issueTexts[name]));
  const { issues = [] } = await server.api.getStream(id);
  return issues.filter((text) => !ofDelivery.has(text));
}

function isSamePicture(a: Picture, b: Picture): boolean {
  return a.data.length === b.data.length && Buffer.compare(Buffer.from(a.data), Buffer.from(b.data)) === 0;
}
