import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { readFrameNumber } from '../../kit/frame-number.ts';
import { numbersPainted } from '../../renditions/shown-numbers.ts';
import { filmPageFile, openFilm } from '../../vod/film-page.ts';
import { playByFfmpeg } from '../../vod/players.ts';
import type { Verdict } from './verdict.ts';

const run = promisify(execFile);
const big = 64 << 20;

/** Which number the picture at a second of the recording bears. */
export type NumberAt = (seconds: number) => number;

/** Seconds that ffprobe finds in a file or at a URL. */
export async function probeDuration(film: string): Promise<number> {
  const options = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', film];
  return Number.parseFloat((await run('ffprobe', options)).stdout);
}

/** A picture of a film: when it is shown, seconds, and the number painted into it. */
export interface FilmPicture {
  readonly time: number;
  readonly number: number | null;
}

/** All pictures of an mp4 in order of presentation. */
export async function picturesOf(path: string): Promise<FilmPicture[]> {
  const packets = [
    '-v',
    'error',
    '-select_streams',
    'v',
    '-show_entries',
    'packet=pts_time',
    '-of',
    'csv=p=0',
  ];
  const [{ stdout }, numbers] = await Promise.all([
    run('ffprobe', [...packets, path], { maxBuffer: big }),
    numbersPainted(path),
  ]);
  const times = stdout.split('\n').filter(Boolean).map(Number.parseFloat);
  if (times.length !== numbers.length)
    throw new Error(`${numbers.length} pictures are decoded of ${times.length} in ${path}`);
  times.sort((a, b) => a - b);
  return times.map((time, n) => ({ time, number: numbers[n] }));
}

/** The number of the picture that is on show at a second of the film. */
export function shownNumbers(pictures: readonly FilmPicture[]): NumberAt {
  // Half a millisecond: what is sought is written with fewer digits than what is there.
  return (seconds) => pictures.findLast(({ time }) => time <= seconds + 5e-4)?.number ?? -1;
}

/** ffmpeg decodes all of it and has nothing to complain about. Answers how many pictures there are. */
export async function checkDecoding(
  film: string,
  { on, name }: { on: Verdict; name: string },
): Promise<number> {
  const { pictures, complaints } = await playByFfmpeg(film);
  on.check(`ffmpeg decodes ${name}`, {
    figure: complaints.trim() === '' ? `${pictures} pictures, no complaint` : complaints.slice(0, 300),
    must: 'no complaint',
    isSo: complaints.trim() === '',
  });
  return pictures;
}

/** ffmpeg seeks, as an editor would, and decodes one picture: the right one. */
export async function checkSeeks(
  film: string,
  { on, name, at, numberAt }: { on: Verdict; name: string; at: readonly number[]; numberAt: NumberAt },
): Promise<void> {
  for (const seconds of at) {
    const began = performance.now();
    const { stdout, stderr } = await run(
      'ffmpeg',
      ['-nostdin', '-v', 'error', '-ss', String(seconds), '-i', film, '-frames:v', '1', '-an'].concat([
        '-vf',
        'scale=640:360',
        '-pix_fmt',
        'rgba',
        '-f',
        'rawvideo',
        '-',
      ]),
      { maxBuffer: big, encoding: 'buffer' },
    );
    const took = performance.now() - began;
    const seen = stdout.length > 0 ? readFrameNumber({ width: 640, height: 360, data: stdout }) : null;
    judge(`ffmpeg -ss ${seconds.toFixed(1)} in ${name}`, {
      ...{ on, seen, complaints: String(stderr), took, tolerance: 1 },
      expected: numberAt(seconds),
    });
  }
}

/** Chromium seeks and then plays 3 s on, at each place. An mp4 it plays itself, a playlist by hls.js. */
export async function checkBrowser(
  browser: Browser,
  options: {
    url: string;
    on: Verdict;
    name: string;
    at: readonly number[];
    numberAt: NumberAt;
    tolerance: number;
  },
): Promise<void> {
  const { url, on, name, at, numberAt, tolerance } = options;
  // Of another origin than the recording, as a page of a customer.
  const page = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: ({ url }) => filmPageFile(new URL(url).pathname) ?? new Response(null, { status: 404 }),
  });
  try {
    const opened = performance.now();
    await using film = await openFilm(browser, { page: `${page.url}film`, url });
    on.tell(
      `Chromium opens ${name}`,
      `${ms(performance.now() - opened)}, ${film.duration.toFixed(2)} s long`,
    );
    for (const seconds of at) {
      const began = performance.now();
      const seen = await film.pictureAt(seconds);
      const took = performance.now() - began;
      const complaints = (await film.errors()).join('; ');
      const expected = numberAt(seconds);
      judge(`Chromium at ${seconds.toFixed(1)} s of ${name}`, {
        on,
        seen,
        expected,
        complaints,
        took,
        tolerance,
      });
      const { pictures, dropped } = await film.play(seconds, seconds + 3);
      on.check(`plays on from there`, {
        figure: `${pictures} pictures, ${dropped} late`,
        must: 'about 90',
        isSo: pictures >= 80,
      });
    }
    on.check(`errors of Chromium in ${name}`, {
      ...{ figure: String((await film.errors()).length), must: '0' },
      isSo: (await film.errors()).length === 0,
    });
  } catch (error) {
    on.check(`Chromium and ${name}`, { figure: String(error).slice(0, 300), must: 'to play', isSo: false });
  } finally {
    await page.stop(true);
  }
}

/** The hashes of an asset are those of what is downloaded, by programs that are not ours. The file is at `path` then. */
export async function checkDownload(
  asset: { downloadUrl: string; size: number; hash: readonly { hash: string; algorithm: string }[] },
  { on, path }: { on: Verdict; path: string },
): Promise<void> {
  await run('curl', ['--fail', '--silent', '--show-error', '--output', path, asset.downloadUrl]);
  const { size } = Bun.file(path);
  on.check('bytes of the download', {
    figure: String(size),
    must: String(asset.size),
    isSo: size === asset.size,
  });
  for (const { hash, algorithm } of asset.hash) {
    const found = (await run(`${algorithm}sum`, [path])).stdout.split(' ', 1)[0] ?? '';
    on.check(`${algorithm} of the download`, { figure: found, must: hash, isSo: found === hash });
  }
}

function judge(
  what: string,
  look: {
    on: Verdict;
    seen: number | null;
    expected: number;
    complaints: string;
    took: number;
    tolerance: number;
  },
): void {
  const { on, seen, expected, complaints, took, tolerance } = look;
  on.check(what, {
    figure: `picture ${seen} after ${ms(took)} ${complaints.trim()}`.trim(),
    must: `${expected} ± ${tolerance}`,
    isSo: seen !== null && Math.abs(seen - expected) <= tolerance && complaints.trim() === '',
  });
}

const ms = (duration: number) => `${duration.toFixed(0)} ms`;
