import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import { fsBlobs } from '../../runtime/drivers/blobs/fs/index.ts';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { EventFollower, parseSegmentPlaylist } from '../hls/event-checker.ts';
import { openFilm } from './film-page.ts';
import { fuzzRanges } from './fuzz-ranges.ts';
import { playByFfmpeg, playByGstreamer } from './players.ts';
import { type Recorded, recordClip } from './recorded.ts';
import { type ServedRecording, serveRecording } from './served-recording.ts';

// Playback of a real file: the demo clip through our packager into a take, behind the real routes. Two runs: seconds 0 to
// 12 of the clip, then 14 to 22.

const sessionId = '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
const seam = 12;
const end = 20;
/** The number that the clip's picture has at a second of the recording. */
const pictureAt = (seconds: number) => Math.floor((seconds < seam ? seconds : seconds + 2) * 30 + 1e-6);

let folder = '';
let recorded: Recorded;
let served: ServedRecording;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-vod-'));
  const blobs = fsBlobs({ folder });
  await blobs.open();
  const id = assetIdOf(sessionId);
  const stretches = [
    { from: 0, to: seam },
    { from: 14, to: 22 },
  ];
  recorded = await recordClip(blobs, { folder: `assets/${id}`, stretches });
  served = serveRecording(sessionId, { blobs, file: recorded.file });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await served?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test('every playlist and file of it keeps the rules, alone and together', async () => {
  const text = await (await fetch(`${served.base}/source.m3u8`)).text();
  const playlist = parseSegmentPlaylist(text);
  expect([playlist.type, playlist.isEnded]).toEqual(['VOD', true]);
  const follower = new EventFollower(async (uri) => (await fetch(`${served.base}/${uri}`)).bytes());
  await follower.see(text);
  const pictures = follower.media.runs.filter(({ track }) => track === follower.media.runs[0].track);
  expect(pictures.reduce((sum, { samples }) => sum + samples.length, 0)).toBe(recorded.pictures);
  // Whoever seeks begins with a segment, so each begins with a key frame.
  for (const { sequence } of playlist.segments) {
    const first = pictures.find((one) => one.sequence === sequence);
    expect([sequence, first?.samples[0].isSync]).toEqual([sequence, true]);
  }
});

test('ffmpeg and GStreamer play every picture of it, over HLS and as a file, without a word', async () => {
  for (const name of ['index.m3u8', 'source.mp4']) {
    for (const play of [playByFfmpeg, playByGstreamer]) {
      const played = await play(`${served.base}/${name}`);
      expect([name, play.name, played]).toEqual([
        ...[name, play.name],
        { pictures: recorded.pictures, complaints: '' },
      ]);
    }
  }
});

test('hls.js shows the right picture wherever it seeks to, and plays over the seam', async () => {
  await using film = await openFilm(browser, { page: served.page, url: `${served.base}/index.m3u8` });
  expect(film.duration).toBeCloseTo(end, 0);
  for (const at of [15.05, 3.1, 12.5, 0.5, 19, 13.7, 9.9]) {
    const shown = await film.pictureAt(at);
    // Pictures with B-frames begin two frames behind their timeline, of each run anew.
    expect([at, Math.abs((shown ?? Number.NaN) - pictureAt(at)) <= 6], `${shown}`).toEqual([at, true]);
  }
  const { pictures } = await film.play(seam - 1.5, seam + 1.5);
  expect(pictures).toBeGreaterThan(70);
  expect(await film.errors()).toEqual([]);
});

test('a browser alone shows the right picture of the file wherever it seeks to, and plays over the seam', async () => {
  await using film = await openFilm(browser, { page: served.page, url: `${served.base}/source.mp4` });
  expect(film.duration).toBeCloseTo(end, 1);
  for (const at of [15.05, 3.1, 12.5, 0.5, 19, 11.95, 12.05, 13.7]) {
    const shown = await film.pictureAt(at);
    expect([at, Math.abs((shown ?? Number.NaN) - pictureAt(at)) <= 1], `${shown}`).toEqual([at, true]);
  }
  const { pictures } = await film.play(seam - 1.5, seam + 1.5);
  expect(pictures).toBeGreaterThan(70);
  expect(await film.errors()).toEqual([]);
});

test('any range of any file is those bytes', async () => {
  const { head, from, to } = { head: recorded.head, ...recorded.file.head };
  const whole = Buffer.concat([head, recorded.video.subarray(from, to)]);
  expect(await fuzzRanges(`${served.base}/source.mp4`, { whole, times: 300 })).toBe(300);
  const segment = Buffer.from(await (await fetch(`${served.base}/seg3.mp4`)).bytes());
  expect(recorded.video.includes(segment)).toBe(true);
  expect(await fuzzRanges(`${served.base}/seg3.mp4`, { whole: segment, times: 100 })).toBe(100);
});
