import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { type Picture, readFrameNumber } from '../../kit/frame-number.ts';
import { playByGstreamer } from '../../vod/players.ts';

export const run = promisify(execFile);

/** What ffmpeg complains about when it decodes all of a file, every sample at its own time. */
export async function complaints(path: string): Promise<string> {
  // The stream's own time base: rounded to that of the frame rate, two times in whole milliseconds can coincide.
  const own = ['-fps_mode', 'passthrough', '-enc_time_base:v', '-1'];
  const { stderr } = await run('ffmpeg', [
    '-v',
    'error',
    '-i',
    path,
    '-map',
    '0:v?',
    '-map',
    '0:a?',
    ...own,
    '-f',
    'null',
    '-',
  ]);
  return stderr;
}

export interface Probed {
  readonly format: { readonly start_time: string; readonly duration: string };
  readonly streams: readonly {
    readonly codec_name: string;
    readonly codec_type: 'video' | 'audio';
    readonly start_time: string;
    readonly duration: string;
    readonly nb_read_frames: string;
    readonly nb_read_packets: string;
    readonly pix_fmt?: string;
    readonly width?: number;
    readonly height?: number;
    readonly channels?: number;
    readonly sample_rate?: string;
  }[];
}

/** What ffprobe says of a file when it has decoded it. */
export async function probe(path: string): Promise<Probed> {
  const counts = ['-v', 'quiet', '-count_frames', '-count_packets', '-show_streams', '-show_format'];
  const { stdout } = await run('ffprobe', [...counts, '-of', 'json', path], { maxBuffer: 1 << 24 });
  return JSON.parse(stdout);
}

/** Lets GStreamer play a file as fast as it can; throws what it says when it cannot. */
export async function playWithGStreamer(path: string): Promise<void> {
  const { complaints } = await playByGstreamer(`file://${path}`);
  // What a machine without a display or a sound card has to say is no matter.
  const errors = complaints
    .split('\n')
    .filter((line) => /error/i.test(line) && !/vaapi|libva|drm|display/i.test(line));
  if (errors.length > 0) throw new Error(errors.join('\n'));
}

/** The number painted in the picture that is on show at a time: the last one that ffmpeg decodes up to there. Null: none. */
export async function frameAt(path: string, seconds: number): Promise<number | null> {
  const picture = `${path}.rgba`;
  const upTo = ['-to', `${seconds + 0.001}`, '-an', '-fps_mode', 'passthrough', '-vf', 'scale=640:360'];
  const last = ['-c:v', 'rawvideo', '-pix_fmt', 'rgba', '-f', 'image2', '-update', '1', '-y', picture];
  await rm(picture, { force: true });
  await run('ffmpeg', ['-v', 'error', '-i', path, ...upTo, ...last]);
  if (!(await Bun.file(picture).exists())) return null;
  return readFrameNumber({ width: 640, height: 360, data: await readFile(picture) });
}

/** When the picture flashes and when the tone begins in any of the tracks, seconds. */
export async function flashesAndBeeps(path: string): Promise<{ flashes: number[]; beeps: number[] }> {
  const stats = 'signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-';
  const seen = await run(
    'ffmpeg',
    ['-v', 'error', '-i', path, '-vf', stats, '-an', '-fps_mode', 'passthrough', '-f', 'null', '-'],
    {
      maxBuffer: 1 << 26,
    },
  );
  const flashes: number[] = [];
  let wasBright = false;
  for (const [, time, bright] of seen.stdout.matchAll(
    /pts_time:([\d.]+)\s+lavfi\.signalstats\.YAVG=([\d.]+)/g,
  )) {
    const isBright = Number(bright) > 128;
    if (isBright && !wasBright) flashes.push(Number(time));
    wasBright = isBright;
  }
  const { streams } = await probe(path);
  const sounds = streams.filter(({ codec_type }) => codec_type === 'audio');
  const beeps: number[] = [];
  for (const stream of sounds.keys()) {
    const silence = ['-map', `0:a:${stream}`, '-af', 'silencedetect=noise=-30dB:d=0.3', '-f', 'null', '-'];
    const heard = await run('ffmpeg', ['-i', path, ...silence], { maxBuffer: 1 << 26 });
    beeps.push(...[...heard.stderr.matchAll(/silence_end: ([\d.]+)/g)].map(([, time]) => Number(time)));
  }
  return { flashes, beeps };
}

export interface Sought {
  readonly currentTime: number;
  readonly frame: number | null;
  readonly error: string | null;
}

/** Opens a film in a page, goes to each of these times, then plays across `across`. */
export async function watch(
  browser: Browser,
  options: { url: string; at: readonly number[]; across: number },
): Promise<{ duration: number; sought: Sought[]; played: { reached: number; error: string | null } }> {
  const page = await browser.newPage();
  try {
    await page.goto(new URL('/', options.url).href);
    const seen = await page.evaluate(async ({ url, at, across }) => {
      const video = document.createElement('video');
      video.muted = true;
      document.body.append(video);
      const error = () => video.error && `${video.error.code} ${video.error.message}`;
      const happens = (event: string) =>
        new Promise<void>((resolve) => {
          video.addEventListener(event, () => resolve(), { once: true });
          video.addEventListener('error', () => resolve(), { once: true });
          setTimeout(resolve, 10_000);
        });
      video.src = url;
      await happens('loadeddata');
      const sought: { currentTime: number; error: string | null; base64: string }[] = [];
      for (const time of at) {
        const done = happens('seeked');
        video.currentTime = time;
        await done;
        // The picture is on show a moment after it was said to be.
        await new Promise((resolve) => setTimeout(resolve, 300));
        let base64 = '';
        if (video.videoWidth > 0) {
          const canvas = document.createElement('canvas');
          canvas.width = 640;
          canvas.height = 360;
          const context = canvas.getContext('2d') as CanvasRenderingContext2D;
          context.drawImage(video, 0, 0, 640, 360);
          const { data } = context.getImageData(0, 0, 640, 360);
          let text = '';
          for (let from = 0; from < data.length; from += 32_768)
            text += String.fromCharCode(...data.subarray(from, from + 32_768));
          base64 = btoa(text);
        }
        sought.push({ currentTime: video.currentTime, error: error(), base64 });
      }
      video.currentTime = Math.max(0, across - 1);
      await happens('seeked');
      await video.play().catch(() => {});
      const until = Math.min(across + 1, video.duration - 0.1);
      for (let wait = 0; wait < 150 && video.currentTime < until && !video.error; wait += 1)
        await new Promise((resolve) => setTimeout(resolve, 100));
      return { duration: video.duration, sought, played: { reached: video.currentTime, error: error() } };
    }, options);
    return {
      ...seen,
      sought: seen.sought.map(({ base64, ...rest }) => {
        const picture: Picture = { width: 640, height: 360, data: Buffer.from(base64, 'base64') };
        return { ...rest, frame: base64 === '' ? null : readFrameNumber(picture) };
      }),
    };
  } finally {
    await page.close();
  }
}

/** A folder over HTTP with ranges, as a plain web server has it. */
export function serveFolder(folder: string): { url: string; stop(): void } {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const name = new URL(request.url).pathname.slice(1);
      if (name === '') return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
      const file = Bun.file(`${folder}/${name}`);
      if (!(await file.exists())) return new Response('', { status: 404 });
      const headers = { 'accept-ranges': 'bytes', 'content-type': 'video/mp4' };
      const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get('range') ?? '');
      if (range === null) return new Response(file, { headers });
      const from = Number(range[1]);
      const to = range[2] === '' ? file.size : Math.min(file.size, Number(range[2]) + 1);
      return new Response(file.slice(from, to), {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${from}-${to - 1}/${file.size}` },
      });
    },
  });
  return { url: server.url.href, stop: () => void server.stop(true) };
}
