/**
 * Uploaded films, cut on demand: every packet of them, and what players make of the strange ones, against the file they were cut
 * from. Plain ones are played in test/e2e/upload-playback.e2e.ts.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FilmPlayback } from '../../core/ports/inspector.ts';
import { vod } from '../../core/vod/answer.ts';
import type { Film } from '../../core/vod/films.ts';
import { fsBlobs } from '../../runtime/drivers/blobs/fs/index.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { inspector } from '../../runtime/media/mp4/inspect/inspector.ts';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { root } from '../e2e/harness/server.ts';
import { filmPageFile, openFilm } from '../vod/film-page.ts';
import { playByFfmpeg, playByGstreamer } from '../vod/players.ts';

const run = promisify(execFile);
const clip = ['-i', join(root, 'demo/clip.flv')];
const copy = ['-t', '12', '-c', 'copy'];
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
const noise = ['-f', 'lavfi', '-i', 'anoisesrc=r=48000:a=0.1:d=12'];

interface Made {
  readonly name: string;
  /** Of ffmpeg, from the demo clip, whose pictures have their numbers painted into them. */
  readonly args: readonly string[];
  readonly segments: number;
  /** Players see no other film like it. */
  readonly isStrange?: true;
}

const films: readonly Made[] = [
  { name: 'plain', args: [...clip, ...copy], segments: 3 },
  { name: 'in-front', args: [...clip, ...copy, '-movflags', '+faststart'], segments: 3 },
  { name: 'fragments', args: [...clip, ...copy, '-movflags', 'frag_keyframe+empty_moov'], segments: 3 },
  {
    name: 'small-fragments',
    args: [...clip, ...copy, '-frag_duration', '200000', '-movflags', 'delay_moov+default_base_moof'],
    segments: 3,
    isStrange: true,
  },
  {
    name: 'apart',
    args: [...clip, ...copy, '-max_interleave_delta', '0', '-chunk_duration', '30000000'],
    segments: 3,
    isStrange: true,
  },
  {
    name: 'b-frames',
    args: [...clip, '-t', '12', ...x264, '-bf', '3', '-g', '75', '-keyint_min', '75', '-c:a', 'aac'],
    segments: 3,
  },
  {
    name: 'rare-keys',
    args: [...clip, '-t', '12', ...x264, '-bf', '2', '-g', '1000', '-sc_threshold', '0', '-c:a', 'aac'],
    segments: 1,
    isStrange: true,
  },
  {
    name: 'late-sound',
    args: [...clip, '-itsoffset', '0.7', ...noise, '-map', '0:v', '-map', '1:a', ...copy, '-c:a', 'aac'],
    segments: 3,
    isStrange: true,
  },
  { name: 'no-sound', args: [...clip, '-an', ...copy], segments: 3 },
];

interface Served {
  readonly film: Film;
  readonly file: string;
  /** Bytes of index and heads against those of the file. */
  readonly beside: number;
}

const inspections = inspector({ clock: systemClock() });
const served = new Map<string, Served>();
let folder = '';
let blobs: ReturnType<typeof fsBlobs>;
let server: ReturnType<typeof Bun.serve>;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-on-demand-'));
  blobs = fsBlobs({ folder: join(folder, 'blobs') });
  await blobs.open();
  const player = vod({ blobs, bytes: 64 << 20 });
  server = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1', development: false },
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const [, name, file] = pathname.split('/');
      const found = served.get(name);
      const page = filmPageFile(pathname);
      if (page) return page;
      const answer = found && (await player.answer(found.film, { name: file, request }));
      return answer ?? new Response(null, { status: 404 });
    },
  });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop(true);
  await inspections.close();
  await rm(folder, { recursive: true, force: true });
});

const urlOf = (name: string, file: string) => `${server.url}${name}/${file}`;

describe.each(films)('$name', ({ name, args, segments }) => {
  const url = (file: string) => urlOf(name, file);

  it('is cut into segments that have every packet of it once, and keep sound and picture together', async () => {
    const { file, film, beside } = await serve(name, args);
    const playlist = await (await fetch(url('source.m3u8'))).text();
    expect(playlist.match(/#EXTINF/g)).toHaveLength(segments);
    // The clip has 1.3 Mb/s; films have more, and what is kept beside them is then less of them.
    expect(beside / film.video.size).toBeLessThan(0.05);
    for (const stream of name === 'no-sound' ? ['v'] : ['v', 'a']) {
      const before = await packets(file, stream);
      const after = await packets(url('index.m3u8'), stream);
      // What the encoder puts in front of the sound, which nobody is to hear, need not be there.
      const skipped = before.length - after.length;
      const isHeard = before.slice(0, skipped).some(({ pts }) => pts >= 0);
      expect([stream, isHeard, stream === 'a' || skipped === 0]).toEqual([stream, false, true]);
      expect(after.map(({ hash }) => hash)).toEqual(before.slice(skipped).map(({ hash }) => hash));
      const shifts = after.map(({ pts }, index) => pts - before[index + skipped].pts);
      expect(Math.max(...shifts) - Math.min(...shifts)).toBeLessThan(0.002);
      shiftOf.set(`${name} ${stream}`, shifts[shifts.length - 1]);
    }
    const [picture, sound = picture] = ['v', 'a'].map((stream) => shiftOf.get(`${name} ${stream}`));
    expect(Math.abs((picture as number) - (sound as number))).toBeLessThan(0.002);
  });
});

describe.each(films.filter(({ isStrange }) => isStrange))('$name', ({ name, args }) => {
  const url = (file: string) => urlOf(name, file);

  it('is played by ffmpeg and GStreamer without a word', async () => {
    const { file } = await serve(name, args);
    const pictures = (await packets(file, 'v')).length;
    for (const play of [playByFfmpeg, playByGstreamer])
      expect([play.name, await play(url('index.m3u8'))]).toEqual([play.name, { pictures, complaints: '' }]);
  });

  it('is played by hls.js: the right picture wherever it seeks to, and across segments', async () => {
    await serve(name, args);
    await using film = await openFilm(browser, { page: `${server.url}film`, url: url('index.m3u8') });
    expect(Math.abs(film.duration - 12)).toBeLessThan(0.8);
    for (const at of [9.05, 3.1, 0.5, 10.9]) {
      const shown = await film.pictureAt(at);
      // Shown up to three frames after it would be in the file, so that B-frames need not be decoded before 0.
      const late = at * 30 - (shown ?? Number.NaN);
      expect([at, late > -2 && late < 6], `${shown}`).toEqual([at, true]);
    }
    // Over the end of a segment.
    const { pictures } = await film.play(3.5, 5.5);
    expect(pictures).toBeGreaterThan(40);
    expect(await film.errors()).toEqual([]);
  });
});

it('begins a film that was cut between key frames at the key frame before', async () => {
  await serve('cut', ['-ss', '3.4', ...clip, '-t', '8', '-c', 'copy']);
  const playlist = await (await fetch(`${server.url}cut/source.m3u8`)).text();
  const lengths = [...playlist.matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds));
  expect(lengths.reduce((sum, seconds) => sum + seconds, 0)).toBeGreaterThan(7.9);
  await using film = await openFilm(browser, {
    page: `${server.url}film`,
    url: `${server.url}cut/index.m3u8`,
  });
  expect(await film.pictureAt(0.5)).toBeGreaterThan(60);
  await film.play(3, 5);
  expect(await film.errors()).toEqual([]);
});

const shiftOf = new Map<string, number>();

/** Makes a film, takes it up as an upload is, and serves it. */
async function serve(name: string, args: readonly string[]): Promise<Served> {
  const known = served.get(name);
  if (known) return known;
  const file = join(folder, `${name}.mp4`);
  await run('ffmpeg', ['-v', 'error', '-y', ...args, file]);
  let playback: FilmPlayback | undefined;
  const inspection = await inspections.inspect(
    { path: file },
    {
      signal: AbortSignal.timeout(60_000),
      async keep(made) {
        playback = made;
      },
    },
  );
  if (playback?.hls === undefined) throw new Error(JSON.stringify(inspection));
  const { index, heads } = playback.hls;
  const put = async (key: string, source: Parameters<typeof blobs.put>[1]) => {
    const outcome = await blobs.put(key, source);
    if (outcome.outcome !== 'ok') throw new Error(`${key}: ${outcome.outcome}`);
    return { key, size: outcome.size };
  };
  const film = {
    video: {
      ...(await put(`${name}/video.mp4`, await Bun.file(file).bytes())),
      sha256: name.padEnd(64, '0'),
    },
    index: await put(`${name}/index.bin`, index),
    heads: await put(`${name}/heads.bin`, each(heads)),
  };
  const one = { film, file, beside: film.index.size + film.heads.size };
  served.set(name, one);
  return one;
}

async function* each(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

/** The packets of a stream in the order they are decoded, with a hash of their bytes. */
async function packets(source: string, stream: string): Promise<{ pts: number; hash: string }[]> {
  const show = ['-show_packets', '-show_data_hash', 'md5', '-show_entries', 'packet=pts_time,data_hash'];
  const args = ['-v', 'error', '-select_streams', stream, ...show, '-of', 'json', source];
  const { stdout } = await run('ffprobe', args, { maxBuffer: 64 << 20 });
  const probed = JSON.parse(stdout) as { packets: { pts_time: string; data_hash: string }[] };
  return probed.packets.map(({ pts_time, data_hash }) => ({ pts: Number(pts_time), hash: data_hash }));
}
