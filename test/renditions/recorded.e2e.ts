import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import { fsBlobs } from '../../runtime/drivers/blobs/fs/index.ts';
import { launchBrowser } from '../e2e/harness/chromium.ts';
import { EventFollower, parseSegmentPlaylist } from '../hls/event-checker.ts';
import { openFilm } from '../vod/film-page.ts';
import { playByFfmpeg } from '../vod/players.ts';
import { type ServedRecording, serveRecording } from '../vod/served-recording.ts';
import { type RecordedLadder, recordLadder } from './recorded-ladder.ts';

// A recording with renditions, behind the real routes, in real players: seconds 0 to 12 of the demo clip, then 14 to 22, in
// 720 lines and in 480 and 240 that ffmpeg made. Both lack something, as if their transcoder had died.

const sessionId = '2b6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
const seam = 12;
const end = 20;
const rungs = [
  // In the middle.
  { name: '480p', height: 480, rate: 180, lacks: [[4, 8]] },
  // At the beginning, and at the end.
  {
    name: '240p',
    height: 240,
    rate: 70,
    lacks: [
      [0, 4],
      [18, 30],
    ],
  },
] as const;
/** The number that the clip's picture has at a second of the recording. */
const pictureAt = (seconds: number) => Math.floor((seconds < seam ? seconds : seconds + 2) * 30 + 1e-6);

let folder = '';
let recorded: RecordedLadder;
let served: ServedRecording;
let browser: Browser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-ladder-'));
  const blobs = fsBlobs({ folder: join(folder, 'blobs') });
  await blobs.open();
  const id = assetIdOf(sessionId);
  const stretches = [
    [0, seam],
    [14, 22],
  ] as const;
  recorded = await recordLadder(blobs, { folder, sessionId, place: `assets/${id}`, stretches, rungs });
  served = serveRecording(sessionId, { blobs, file: recorded.take });
  browser = await launchBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await served?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const text = async (name: string) => (await fetch(`${served.base}/${name}`)).text();

test('its playlists name the source first, then each rendition with what it is', async () => {
  const lines = (await text('index.m3u8')).split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
    ...['source.m3u8', 'r1.m3u8', 'r2.m3u8'],
  ]);
  const infos = lines.filter((line) => line.startsWith('#EXT-X-STREAM-INF'));
  expect(infos.map((line) => /RESOLUTION=(\d+x\d+)/.exec(line)?.[1])).toEqual([
    '1280x720',
    '854x480',
    '426x240',
  ]);
  const rates = infos.map((line) => Number(/:BANDWIDTH=(\d+)/.exec(line)?.[1]));
  expect(rates.toSorted((a, b) => b - a)).toEqual(rates);
  for (const line of infos) expect(line).toMatch(/CODECS="avc1\.[^"]*mp4a\.40\.2.*FRAME-RATE=30\.000/);
});

test('segments, dates and seams of all its playlists are the same, and every file keeps the rules', async () => {
  const source = parseSegmentPlaylist(await text('source.m3u8'));
  const told = (playlist: typeof source) =>
    playlist.segments.map(({ sequence, discontinuities, duration, wall }) => [
      ...[sequence, discontinuities, duration, wall],
    ]);
  for (const [name, borrowed] of [
    ['r1', [2, 3]],
    ['r2', [0, 1, 9]],
  ] as const) {
    const playlist = parseSegmentPlaylist(await text(`${name}.m3u8`), { borrows: true });
    expect(told(playlist)).toEqual(told(source));
    expect([playlist.target, playlist.type]).toEqual([source.target, 'VOD']);
    const isBorrowed = (number: number) => (borrowed as readonly number[]).includes(number);
    expect(playlist.segments.map(({ uri, map }) => [uri, map])).toEqual(
      source.segments.map(({ uri, map }, number) =>
        isBorrowed(number) ? [uri, map] : [`${name}${uri}`, `${name}${map}`],
      ),
    );
    const follower = new EventFollower(
      async (uri) => {
        const answer = await fetch(`${served.base}/${uri}`);
        expect([uri, answer.status]).toEqual([uri, 200]);
        return answer.bytes();
      },
      { borrows: true },
    );
    await follower.see(await text(`${name}.m3u8`));
    const pictures = follower.media.runs.filter(({ track }) => track === follower.media.runs[0].track);
    expect(pictures.reduce((sum, { samples }) => sum + samples.length, 0)).toBe(recorded.pictures);
    // What it borrows has one address.
    for (const number of borrowed)
      expect((await fetch(`${served.base}/${name}seg${number}.mp4`)).status).toBe(404);
  }
});

test('ffmpeg plays every picture of each, over holes and seam, without a word', async () => {
  for (const name of ['source', 'r1', 'r2']) {
    const played = await playByFfmpeg(`${served.base}/${name}.m3u8`);
    expect([name, played]).toEqual([name, { pictures: recorded.pictures, complaints: '' }]);
  }
});

test('hls.js shows the right picture of each wherever it seeks to, and plays over holes and seam', async () => {
  for (const { height } of rungs) {
    await using film = await openFilm(browser, { page: served.page, url: `${served.base}/index.m3u8` });
    expect(film.duration).toBeCloseTo(end, 0);
    await film.watch(height);
    for (const at of [15.05, 3.1, 5.5, 12.5, 0.5, 19, 7.9, 13.7, 9.9]) {
      const shown = await film.pictureAt(at);
      // Pictures begin two frames behind their timeline, of each run anew.
      expect([height, at, Math.abs((shown ?? Number.NaN) - pictureAt(at)) <= 6], `${shown}`).toEqual([
        height,
        at,
        true,
      ]);
    }
    for (const [from, to] of [
      [2.5, 9],
      [10.5, 13.5],
      [16.5, 19.5],
    ] as const)
      await film.play(from, to);
    expect(new Set(await film.heights())).toEqual(new Set([height, 720]));
    expect(await film.errors()).toEqual([]);
  }
});

test('hls.js switches both ways amid what it plays, and nothing is missing in between', async () => {
  await using film = await openFilm(browser, { page: served.page, url: `${served.base}/index.m3u8` });
  await film.watch(240);
  await film.pictureAt(4.2);
  await film.goOnWith(720);
  await film.play(4.2, 5);
  await film.watch(720);
  await film.play(5, 9);
  await film.watch(480);
  await film.play(9, 13);
  await film.watch(240);
  await film.play(13, 16);
  await film.watch(720);
  await film.play(16, 17.5);
  const heights = await film.heights();
  expect(heights.filter((height, number) => heights.indexOf(height) === number).toSorted()).toEqual([
    240, 480, 720,
  ]);
  const around = (await film.buffered()).filter(([from, to]) => from <= 17 && to >= 17);
  expect(around).toHaveLength(1);
  expect(await film.errors()).toEqual([]);
});
