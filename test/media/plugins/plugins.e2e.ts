/**
 * Plugins that see media, loaded by path as an outsider's are, in the real server: what they get against what ffmpeg sent, what
 * players make of their text tracks, and that one that throws changes nothing for viewers.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkBroadcast } from '../../e2e/harness/check-broadcast.ts';
import { launchBrowser } from '../../e2e/harness/chromium.ts';
import { broadcast, readHls } from '../../e2e/harness/ffmpeg.ts';
import { type HlsConfig, type HlsPage, hlsPage } from '../../e2e/harness/hls-page.ts';
import { root, type Server, startServer } from '../../e2e/harness/server.ts';
import { upload } from '../../e2e/harness/uploads.ts';
import { until } from '../../e2e/harness/wait.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-plugin-media-'));
let browser: Browser;
let server: Server;
let pages: HlsPage;

beforeAll(async () => {
  pages = hlsPage();
  [browser, server] = await Promise.all([
    launchBrowser(),
    startServer({
      env: {
        MILLRACE_CONFIG: configOf('captions', 'throwing'),
        MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '1s',
        MILLRACE_PLUGINS__STREAMS__HOLD: '1s',
      },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await pages?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Path of a config with these plugins of this folder. */
function configOf(...names: string[]): string {
  const config = join(folder, `${names.join('-')}.json`);
  const plugins = names.map((name) => [join(import.meta.dirname, `${name}-plugin.ts`), true]);
  writeFileSync(config, JSON.stringify({ plugins: Object.fromEntries(plugins) }));
  return config;
}

/** What the plugin logged of the broadcasts that have ended. */
const seenBy = (of: Server) =>
  of.output
    .split('\n')
    .filter((line) => line.includes('"captions saw"'))
    .map((line) => JSON.parse(line));

/** A text that came on show, and when its cue begins, in pictures of the time of the video element. */
interface Shown {
  readonly text: string;
  readonly begins: number;
}

/** A tab in which plain hls.js plays a playlist, and notes every cue that comes on show and where numbered pictures lie. */
async function watching(playlist: string, config: HlsConfig = 'default') {
  const page = await browser.newPage();
  await page.goto(pages.url(playlist, { config }));
  await page.evaluate(async (fps) => {
    // biome-ignore lint/suspicious/noExplicitAny: hls.js as the page has it
    const { millrace } = window as any;
    const { readFrameNumber } = await import('/frame-number.js' as string);
    const video = document.querySelector('video') as HTMLVideoElement;
    const shown: Shown[] = [];
    const phases: number[] = [];
    const known = new Set<TextTrackCue>();
    Object.assign(millrace, { cues: shown, phases });
    const note = (track: TextTrack) => {
      track.addEventListener('cuechange', () => {
        for (const cue of track.activeCues ?? []) {
          if (known.has(cue)) continue;
          known.add(cue);
          shown.push({ text: (cue as VTTCue).text, begins: cue.startTime * fps });
        }
      });
    };
    for (const track of video.textTracks) note(track);
    video.textTracks.addEventListener('addtrack', ({ track }) => note(track as TextTrack));
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 180 });
    const context = canvas.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
    const look = (_: number, { mediaTime }: VideoFrameCallbackMetadata) => {
      context.drawImage(video, 0, 0, canvas.width, canvas.height);
      const number = readFrameNumber(context.getImageData(0, 0, canvas.width, canvas.height));
      if (number !== null) phases.push(mediaTime * fps - number);
      setTimeout(() => video.requestVideoFrameCallback(look), 100);
    };
    video.requestVideoFrameCallback(look);
  }, fps);
  return { page, [Symbol.asyncDispose]: () => page.close() };
}

/** Pictures a second of the clip, and how many a segment of it has. */
const fps = 30;
const perSegment = 60;
/** From -30 to 30: how far from a boundary of segments. */
const around = (pictures: number) => pictures - perSegment * Math.round(pictures / perSegment);

/** Where segments begin in the time of the video element. On a busy machine some pictures were read a few too late. */
async function phaseOf(page: Page): Promise<number> {
  // biome-ignore lint/suspicious/noExplicitAny: the page's own
  const all: number[] = await page.evaluate(() => (window as any).millrace.phases);
  const near = (one: number) => all.filter((other) => Math.abs(around(other - one)) < 1).length;
  return all.reduce((best, one) => (near(one) > near(best) ? one : best));
}

const cuesOf = (page: Page): Promise<Shown[]> =>
  // biome-ignore lint/suspicious/noExplicitAny: the page's own
  page.evaluate(() => (window as any).millrace.cues);
const tracksOf = (page: Page) =>
  page.evaluate(() => {
    const { textTracks } = document.querySelector('video') as HTMLVideoElement;
    return Array.from(textTracks, ({ label, language, mode }) => ({ label, language, mode }));
  });
const troublesOf = (page: Page) =>
  // biome-ignore lint/suspicious/noExplicitAny: the page's own
  page.evaluate(() => ({ fatal: (window as any).millrace.fatalErrors, log: (window as any).millrace.log }));

describe.concurrent('plugins that see media', () => {
  it('get every frame and part that ffmpeg sent', async () => {
    const clip = join(folder, 'cut.flv');
    await run('ffmpeg', ['-v', 'error', '-i', join(root, 'demo/clip.flv'), '-t', '9', '-c', 'copy', clip]);
    const stream = await server.api.createStream({ name: 'Counted' });
    await run('ffmpeg', [
      '-v',
      'error',
      '-re',
      '-i',
      clip,
      '-c',
      'copy',
      '-f',
      'flv',
      server.ingestUrl(stream.streamKey),
    ]);
    const probed = await run('ffprobe', [
      ...[
        '-v',
        'error',
        '-count_packets',
        '-show_entries',
        'stream=codec_type,nb_read_packets',
        '-of',
        'csv=p=0',
        clip,
      ],
    ]);
    const packets = Object.fromEntries(
      probed.stdout
        .trim()
        .split('\n')
        .map((line) => line.split(',')),
    );
    const seen = await until(
      'the end',
      () => seenBy(server).find(({ video }) => video === Number(packets.video)),
      {
        within: 10_000,
      },
    );
    expect(seen).toMatchObject({
      inits: 1,
      audio: Number(packets.audio),
      video: Number(packets.video),
      keys: 5,
    });
    expect(seen.configs).toEqual([expect.stringMatching(/^video avc1\./), 'audio mp4a.40.2']);
    expect(seen.partsTime / 1000).toBeCloseTo(9, 1);
    expect(seen.parts).toBeGreaterThan(25);
    expect(seen.segments).toBeGreaterThanOrEqual(5);
    expect(seen.account).not.toBe('');
  });

  it('add subtitles to the live playlist, which hls.js shows with the pictures that they belong to', async () => {
    const stream = await server.api.createStream({ name: 'Captioned' });
    await using _encoder = broadcast(server.ingestUrl(stream.streamKey));
    const playlist = server.playlistUrl(stream.playbackId);
    await until('the playlist', async () => (await fetch(playlist)).status === 200, { within: 20_000 });
    for (const config of ['default', 'lowLatency', 'segments'] as const) {
      await using tab = await watching(playlist, config);
      const { page } = tab;
      const cues = await until(
        'five cues',
        async () => {
          const all = await cuesOf(page);
          if (all.length >= 5) return all;
          throw new Error(JSON.stringify([all, await tracksOf(page), await troublesOf(page)]));
        },
        { within: 40_000, every: 200 },
      );
      expect(await tracksOf(page)).toEqual([{ label: 'English', language: 'en', mode: 'showing' }]);
      const numbers = cues.map(({ text }) => Number(/^segment (\d+)$/.exec(text)?.[1]));
      // One for each segment, none twice, none left out.
      expect(numbers.map((number, index) => number - numbers[0] - index)).toEqual(numbers.map(() => 0));
      // A segment begins with a picture whose number divides by 60.
      const phase = await phaseOf(page);
      // The first segment is closed early, so that playback can begin: the second starts between two of those.
      for (const { text, begins } of cues.filter(({ text }) => text !== 'segment 2'))
        expect([config, text, Math.abs(around(begins - phase)) < 3]).toEqual([config, text, true]);
      expect((await troublesOf(page)).fatal).toBe(0);
    }
  });

  it('that throw lose their subscription, and viewers get every playlist, part and segment to the letter', async () => {
    const stream = await server.api.createStream({ name: 'Checked' });
    await using _encoder = broadcast(server.ingestUrl(stream.streamKey));
    const playlist = server.playlistUrl(stream.playbackId);
    await until('the playlist', async () => (await fetch(playlist)).status === 200, { within: 20_000 });
    const seen = await checkBroadcast(playlist, { seconds: 12 });
    expect([seen.discontinuities, seen.frames > 300]).toEqual([0, true]);
    const lines = server.output
      .split('\n')
      .filter((line) => line.includes('"throwing"'))
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ streamId }) => streamId === stream.id)).toEqual([
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('a plugin failed') }),
    ]);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', where: 'media', error: expect.stringContaining('a defect') }),
    );
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^millrace_plugin_media_failures_total{plugin="throwing"} [1-9]/m);
    expect(metrics).toMatch(/^millrace_plugin_media_failures_total{plugin="captions"} 0$/m);
    expect((await server.api.getStream(stream.id)).isHealthy).toBe(true);
  });

  it('make a rendition with a process of their own, which keeps every rule of a live playlist', async () => {
    await using own = await startServer({ env: { MILLRACE_CONFIG: configOf('overlay') } });
    const stream = await own.api.createStream({ name: 'Overlaid' });
    await using _encoder = broadcast(own.ingestUrl(stream.streamKey), { source: 'encode' });
    const playlist = own.playlistUrl(stream.playbackId);
    const lines = await until(
      'the rendition',
      async () => {
        const answer = await fetch(playlist);
        const text = await answer.text();
        return text.includes('r1.m3u8') ? text.split('\n') : undefined;
      },
      { within: 30_000 },
    );
    const at = lines.indexOf('r1.m3u8');
    expect(lines[at - 1]).toContain('RESOLUTION=320x180');
    const alone = ['#EXTM3U', lines[at - 1], new URL('r1.m3u8', playlist).href, ''].join('\n');
    const url = `data:application/vnd.apple.mpegurl,${encodeURIComponent(alone)}`;
    const seen = await checkBroadcast(url, { seconds: 12 });
    expect([seen.discontinuities, seen.frames > 300]).toEqual([0, true]);
    const { frames, errors } = await readHls(new URL('r1.m3u8', playlist).href, { seconds: 5 });
    expect([errors, frames]).toEqual([[], 150]);
    expect(own.output).not.toContain('failed to make a rendition');
  });

  it('offer subtitles of films: ffprobe finds them, and hls.js shows them in an asset and in a recording', async () => {
    const stream = await server.api.createStream({ name: 'Recorded', record: true });
    const events = await server.openEvents();
    const ready = events.expect('recording.ready', { within: 90_000, streamId: stream.id });
    const encoder = broadcast(server.ingestUrl(stream.streamKey));
    await Bun.sleep(18_000);
    await encoder.stop();
    const film = join(folder, 'film.mp4');
    await run('ffmpeg', ['-v', 'error', '-i', join(root, 'demo/clip.flv'), '-t', '16', '-c', 'copy', film]);
    const { assetId } = await upload(server, film);
    const { playbackUrl } = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
    await ready;
    const [session] = await server.api.listSessions(stream.id);
    const recordingUrl = `${server.url}/recordings/${session.id}/index.m3u8`;
    for (const url of [playbackUrl, recordingUrl] as string[]) {
      const text = url.replace('index.m3u8', 'text_en.m3u8');
      const { stdout } = await run('ffprobe', [
        ...[
          '-v',
          'error',
          '-allowed_extensions',
          'ALL',
          '-show_entries',
          'stream=codec_type,codec_name',
          '-of',
          'csv=p=0',
          text,
        ],
      ]);
      expect(stdout.trim().split('\n')[0]).toBe('webvtt,subtitle');
      // ffmpeg 5.1 leaves subtitles of a multivariant playlist aside, and must find the rest of it as before.
      const whole = await run('ffprobe', [
        ...['-v', 'error', '-show_entries', 'stream=codec_type', '-of', 'csv=p=0', url],
      ]);
      expect(new Set(whole.stdout.trim().split(/\s+/))).toEqual(new Set(['video', 'audio']));
      await using tab = await watching(url);
      const { page } = tab;
      const cues = await until(
        'three cues',
        async () => {
          const all = await cuesOf(page);
          if (all.length >= 3) return all;
          throw new Error(JSON.stringify([all, await tracksOf(page), await troublesOf(page)]));
        },
        { within: 30_000, every: 200 },
      );
      expect(cues.map(({ text }) => text).slice(0, 3)).toEqual(['second 0', 'second 5', 'second 10']);
      // The clip is broadcast from its first picture on, and uploaded so.
      const phase = await phaseOf(page);
      for (const { text, begins } of cues) {
        const second = Number(text.slice('second '.length));
        const late = begins - phase - second * fps;
        expect([url, text, Math.abs(around(late)) < 20]).toEqual([url, text, true]);
      }
    }
  });
});
