/**
 * Uploaded films through the whole program: what players make of `playbackUrl`, which is cut on demand from the stored file, against
 * that file. How cutting keeps every packet is in test/mp4/on-demand.e2e.ts, `videoSpec` of more kinds in test/mp4/spec.e2e.ts.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agreeWithFfprobe } from '../mp4/agree-with-ffprobe.ts';
import { filmPageFile, openFilm } from '../vod/film-page.ts';
import { playByGstreamer } from '../vod/players.ts';
import { launchBrowser } from './harness/chromium.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { type Answer, upload } from './harness/uploads.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-upload-playback-'));
const path = (name: string) => join(folder, name);

/** The demo clip has its number in each picture. */
const clip = ['-i', join(root, 'demo/clip.flv'), '-t', '9'];
const picture = (size = '320x180', rate = '30') => ['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${rate}:d=5`];
const sound = (layout = 'stereo') => [
  ...['-f', 'lavfi', '-i'],
  `anoisesrc=d=5:r=48000:a=0.1,aformat=channel_layouts=${layout}`,
];
const plain = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '60', '-c:a', 'aac'];
const bFrames = [...plain.with(3, 'veryfast'), '-bf', '3', '-sc_threshold', '0'];
const flags = (value: string) => ['-movflags', value];

interface Made {
  readonly name: string;
  /** Of ffmpeg, between `-y` and the file. */
  readonly args: readonly string[];
  /** The index lies behind the pictures, so there is a `source.mp4` of its own. */
  readonly isTurned?: true;
  /** Seconds in front that the file has and does not show, for HLS begins at a key frame. */
  readonly early?: number;
}

const films: readonly Made[] = [
  { name: 'moov-at-end', args: [...clip, ...bFrames], isTurned: true },
  { name: 'moov-in-front', args: [...picture(), ...sound(), ...bFrames, ...flags('+faststart')] },
  { name: 'fragments', args: [...picture(), ...sound(), ...plain, ...flags('frag_keyframe+empty_moov')] },
  {
    name: 'negative-shifts',
    args: [...picture(), ...sound(), ...bFrames, ...flags('negative_cts_offsets')],
    isTurned: true,
  },
  {
    name: 'cut-by-edits',
    args: ['-ss', '1.37', '-i', path('moov-in-front.mp4'), '-c', 'copy'],
    isTurned: true,
    early: 1.37,
  },
  {
    name: 'vfr',
    args: [...picture(), ...plain, '-vf', "select='not(mod(n,7))+lt(n,40)'", '-vsync', 'vfr'],
    isTurned: true,
  },
  {
    name: 'rotated',
    args: ['-i', path('moov-in-front.mp4'), '-c', 'copy', '-metadata:s:v', 'rotate=90'],
    isTurned: true,
  },
  { name: 'mono', args: [...picture(), ...sound('mono'), ...plain], isTurned: true },
  { name: '5.1', args: [...picture(), ...sound('5.1'), ...plain], isTurned: true },
  { name: 'only-sound', args: [...sound(), '-c:a', 'aac'], isTurned: true },
  { name: 'only-picture', args: [...picture(), ...bFrames], isTurned: true },
  { name: 'ntsc', args: [...picture('320x180', '30000/1001'), ...sound(), ...bFrames], isTurned: true },
  { name: '4k', args: [...picture('3840x2160'), '-t', '0.5', ...plain], isTurned: true },
];

let server: Server;
const assets = new Map<string, Answer>();

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(films)('$name', ({ name, args, isTurned = false, early = 0 }) => {
  const file = path(`${name}.mp4`);
  const film = (of: string) => assets.get(name).playbackUrl.replace('index.m3u8', of);

  it('is accepted, and described as ffprobe does', async () => {
    await run('ffmpeg', ['-v', 'error', '-y', ...args, file]);
    const { status, body } = await upload(server, file);
    expect([status, body.status], JSON.stringify(body)).toEqual([200, 'ready']);
    assets.set(name, body);
    await agreeWithFfprobe(body.videoSpec, file);
  });

  it('is played as HLS by ffmpeg without a word: every picture, as long as the file, and of its shape', async () => {
    const { playbackUrl, videoSpec } = assets.get(name);
    const playlist = await (await fetch(film('source.m3u8'))).text();
    const lasts = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)].reduce(
      (sum, [, text]) => sum + Number(text),
      0,
    );
    // B-frames are shown up to three frames late, so that none is decoded before 0.
    expect(Math.abs(lasts - videoSpec.duration - early)).toBeLessThan(0.15);
    const played = await decode(playbackUrl);
    expect(played).toMatchObject({ complaints: '', pictures: await picturesIn(file) });
    expect(Math.abs(played.until - lasts)).toBeLessThan(0.15);
    const shapes = await shapesOf(playbackUrl);
    expect(shapes).toEqual(await shapesOf(file));
    expect(shapes.join().includes('rotation=')).toBe(name === 'rotated');
  });

  it('is had as one file with its index in front, which needs no seeking', async () => {
    const whole = await fetch(film('source.mp4'));
    const head = Buffer.from(await whole.bytes())
      .subarray(0, 64)
      .toString('latin1');
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    expect(head.includes('moov')).toBe(true);
    const turned = ['-seekable', '0', '-i', film('source.mp4')];
    expect(await hashesOf(turned)).toEqual(await hashesOf(['-i', file]));
    const { source } = (await playback(name)).meta;
    const mp4 = isTurned ? film('source.mp4') : film('video');
    expect(source.map(({ url }: Answer) => url)).toEqual([film('index.m3u8'), mp4]);
  });
});

it('keeps each film once: beside it lies a hundredth of it, or what a short one needs', async () => {
  for (const { playbackId, id, size } of assets.values()) {
    const lies = join(server.dataDir, 'blobs');
    const { stdout } = await run('find', [lies, '-path', `*${id}*`, '-type', 'f', '-printf', '%s\n']);
    const bytes = stdout.trim().split('\n').map(Number);
    expect([playbackId, bytes.includes(size)]).toEqual([playbackId, true]);
    expect(bytes.reduce((sum, one) => sum + one, 0) - size).toBeLessThan(size * 0.02 + 40_000);
  }
});

it('is played by GStreamer without a word', async () => {
  const pictures = await picturesIn(path('moov-at-end.mp4'));
  const { playbackUrl } = assets.get('moov-at-end');
  expect(await playByGstreamer(playbackUrl)).toEqual({ pictures, complaints: '' });
});

it('is played by hls.js and by a browser alone: the right picture wherever they seek to', async () => {
  const pages = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1', development: false },
    fetch: (request) => filmPageFile(new URL(request.url).pathname) ?? new Response(null, { status: 404 }),
  });
  const browser = await launchBrowser();
  try {
    const { source } = (await playback('moov-at-end')).meta;
    for (const { url } of source) {
      await using film = await openFilm(browser, { page: `${pages.url}film`, url });
      expect(Math.abs(film.duration - 9)).toBeLessThan(0.2);
      for (const at of [7.05, 0.5, 4.9]) {
        const late = at * 30 - ((await film.pictureAt(at)) ?? Number.NaN);
        expect([url, at, late > -2 && late < 6], `${late}`).toEqual([url, at, true]);
      }
      // Over the end of a segment.
      const { pictures } = await film.play(3.5, 5.5);
      expect(pictures).toBeGreaterThan(40);
      expect(await film.errors()).toEqual([]);
    }
  } finally {
    await browser.close();
    await pages.stop(true);
  }
});

it('is played again after a crash, and gone with its asset', async () => {
  const { id, playbackUrl } = assets.get('only-picture');
  await server.kill();
  await server.restart();
  expect(await decode(playbackUrl)).toMatchObject({ complaints: '', pictures: 150 });
  await server.api.request('DELETE', `/api/asset/${id}`);
  expect((await fetch(playbackUrl)).status).toBe(404);
});

async function playback(name: string): Promise<Answer> {
  return (await fetch(`${server.url}/api/playback/${assets.get(name).playbackId}`)).json();
}

/** What ffmpeg makes of it from the first to the last picture: how many, until when (seconds), and every word of complaint. */
async function decode(url: string) {
  const out = ['-fps_mode', 'passthrough', '-f', 'null', '-progress', 'pipe:1', '-'];
  const { stdout, stderr } = await run('ffmpeg', ['-nostdin', '-v', 'error', '-i', url, ...out]);
  const last = (field: string) =>
    Number([...stdout.matchAll(new RegExp(`^${field}=(\\d+)`, 'gm'))].at(-1)?.[1]);
  return { pictures: last('frame') || 0, until: last('out_time_us') / 1e6, complaints: stderr };
}

/** Also those that an edit list hides. */
async function picturesIn(file: string): Promise<number> {
  const show = ['-count_packets', '-show_entries', 'stream=nb_read_packets', '-of', 'csv=p=0'];
  const options = ['-v', 'error', '-ignore_editlist', '1', '-select_streams', 'v', ...show];
  return Number.parseInt((await run('ffprobe', [...options, file])).stdout, 10) || 0;
}

/** Codecs, sizes, how it is turned, channels and rates, a line for each track. */
async function shapesOf(source: string): Promise<string[]> {
  const fields = 'stream=codec_name,profile,level,width,height,pix_fmt,channels,sample_rate';
  const show = ['-show_entries', `${fields}:stream_side_data=rotation`, '-of', 'compact=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...show, source]);
  return [...new Set(stdout.split('\n').filter((line) => line.startsWith('codec_name')))].sort();
}

/** Hashes of all packets of each track, as the file has them. */
async function hashesOf(input: readonly string[]): Promise<string> {
  const out = ['-map', '0', '-c', 'copy', '-f', 'streamhash', '-hash', 'md5', '-'];
  return (await run('ffmpeg', ['-nostdin', '-v', 'error', ...input, ...out])).stdout;
}
