/** A 720p30 broadcast with 480p and 240p, in players: levels change both ways, and nobody notices. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, openViewer } from '../e2e/harness/chromium.ts';
import { type Encoder, ffmpeg } from '../e2e/harness/encoders.ts';
import { readHls } from '../e2e/harness/ffmpeg.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { watchByGstreamer } from './live-gstreamer.ts';
import { namesOf, renditionIssues, twoProfiles } from './on-air.ts';
import { paintFile } from './painted-clip.ts';
import { listen } from './steady-tone.ts';
import { lackOfMedia, type Notes, openSwitching, switchingSite, unheldBreaks } from './switching-page.ts';
import { lists, offers, variantsOf } from './variants.ts';

let folder: string;
let server: Server;
let browser: Browser;
let encoder: Encoder;
let streamId: string;
let url: string;
let watchPath: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-switching-'));
  const file = join(folder, 'painted.flv');
  // Longer than the whole file takes, when each test is tried again as well.
  [server, browser] = await Promise.all([
    // Beside players, encoding is as urgent as all else: renditions that lag are not offered.
    startServer({ env: { MILLRACE_RENDITIONS__NICENESS: '0' } }),
    launchBrowser(),
    paintFile(file, { seconds: 200, bFrames: 2 }),
  ]);
  const stream = await server.api.createStream({ name: 'switching', profiles: twoProfiles });
  streamId = stream.id;
  url = server.playlistUrl(stream.playbackId);
  watchPath = `/watch/${stream.playbackId}`;
  encoder = ffmpeg('-re', '-i', file, '-c', 'copy', '-f', 'flv', server.ingestUrl(stream.streamKey));
  await offers(url, { names: namesOf(2), within: 40_000 });
  await lists(url, { seconds: 4, within: 20_000 });
}, 180_000);
afterAll(async () => {
  await encoder?.[Symbol.asyncDispose]();
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test('ffmpeg and GStreamer play every variant without a word', async () => {
  const players = (await variantsOf(url)).flatMap(({ name, url: variant }) => [
    async () => {
      const { frames, errors } = await readHls(variant, { seconds: 6 });
      expect(Math.abs(frames - 180), `${frames} pictures of ${name}`).toBeLessThanOrEqual(15);
      return [`ffmpeg, ${name}`, errors.join('\n')];
    },
    async () => [`GStreamer, ${name}`, await watchByGstreamer(variant, { pictures: 120 })],
  ]);
  const said = await Promise.all(players.map((play) => play()));
  expect(said.filter(([, complaints]) => complaints !== '')).toEqual([]);
});

test('hls.js in Chromium, currentLevel: goes there at once, and shows the right pictures', async () => {
  // On a busy machine they may be too late to be offered for a moment, and a player keeps what it was offered.
  await offers(url, { names: namesOf(2), within: 30_000 });
  await using site = switchingSite();
  await using page = await openSwitching(browser, { url: site.url(url), first: 240 });
  for (const height of [720, 240, 480]) {
    await page.switchTo(height, 'now');
    await page.play(1);
  }
  const notes = await page.notes();
  // It throws away what it has, so it may have to wait for what comes instead, and says so.
  expect(notes.errors.filter((error) => error.startsWith('fatal'))).toEqual([]);
  expect(levelsIn(notes)).toEqual([240, 720, 240, 480]);
  expectPicturesInPlace(notes);
});

test('the watch page plays them close to live, whichever is chosen', async () => {
  await offers(url, { names: namesOf(2), within: 30_000 });
  await using viewer = await openViewer(browser, { url: server.url + watchPath, within: 30_000 });
  for (const level of [0, 2, 1]) {
    await viewer.chooseLevel(level);
    const shown = await until('a picture that can be read', () => viewer.frameNumber(), { within: 15_000 });
    await viewer.watch(90, { within: 30_000 });
    const later = await until('a picture that can be read', () => viewer.frameNumber(), { within: 15_000 });
    expect(later).toBeGreaterThan(shown);
  }
  const sample = await viewer.sample();
  expect(sample).toMatchObject({ error: null, fatalErrors: 0 });
  expect(viewer.complaints).toEqual([]);
  expect(viewer.loads).toBe(1);
});

test('hls.js in Chromium, nextLevel: every picture right, no stall, the tone unbroken', async () => {
  // From each of them to each of the others.
  await switches('next', [240, 480, 720, 480, 240, 720]);
});

test('hls.js in Chromium, loadLevel: every picture right, no stall, the tone unbroken', async () => {
  await switches('load', [240, 720]);
});

async function switches(how: 'next' | 'load', heights: readonly number[]): Promise<void> {
  // A viewer of the first seconds plays all there is, and has no cushion: it waits for the first whole segment, as every player does.
  await lists(url, { seconds: 8, within: 30_000 });
  await offers(url, { names: namesOf(2), within: 30_000 });
  await using site = switchingSite();
  await using page = await openSwitching(browser, { url: site.url(url), first: 720 });
  expect((await page.levels()).toSorted((a, b) => a - b)).toEqual([240, 480, 720]);
  for (const height of heights) {
    await page.switchTo(height, how);
    await page.play(1);
  }
  const notes = await page.notes();
  expect(notes.errors).toEqual([]);
  expect(lackOfMedia(notes)).toEqual([]);
  expect(levelsIn(notes)).toEqual([720, ...heights]);
  expectPicturesInPlace(notes);
  const { seconds, breaks } = listen(notes.sound, { frequency: 440 });
  expect(seconds).toBeGreaterThan(heights.length * 3);
  expect(unheldBreaks(breaks, notes)).toEqual([]);
  expect(await renditionIssues(server, streamId)).toEqual([]);
  expect(encoder.isRunning, encoder.log).toBe(true);
}

/** Heights in the order in which they were on show. */
function levelsIn({ pictures }: Notes): number[] {
  return pictures.map(({ height }) => height).filter((height, n, all) => n === 0 || height !== all[n - 1]);
}

/**
 * Every picture on show is the one of its time, whatever variant it came from: numbers and times go on together. A busy browser paints what
 * is newer than the time that it tells, for a picture or two; a server that is wrong is so for a part at least, which has 15.
 */
function expectPicturesInPlace({ pictures }: Notes): void {
  expect(pictures.length).toBeGreaterThan(100);
  const offsets = pictures.map(({ time, number }) => (number === null ? Number.NaN : number - time * 30));
  const usual = offsets.filter((offset) => !Number.isNaN(offset)).toSorted((a, b) => a - b);
  const median = usual[Math.floor(usual.length / 2)];
  const wrong = pictures.map((picture, n) => ({ ...picture, off: offsets[n] - median }));
  const isWrong = (n: number) => !(Math.abs(wrong[n]?.off ?? 0) <= 1.01);
  const together = wrong.filter((_, n) =>
    [n - 2, n - 1, n].some((from) => isWrong(from) && isWrong(from + 1) && isWrong(from + 2)),
  );
  expect(together, `${wrong.filter((_, n) => isWrong(n)).length} of ${wrong.length} wrong`).toEqual([]);
}
