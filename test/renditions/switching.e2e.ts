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
import { type Notes, openSwitching, switchingSite } from './switching-page.ts';
import { offers, variantsOf } from './variants.ts';

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
  await paintFile(file, { seconds: 240, bFrames: 2 });
  server = await startServer();
  browser = await launchBrowser();
  const stream = await server.api.createStream({ name: 'switching', profiles: twoProfiles });
  streamId = stream.id;
  url = server.playlistUrl(stream.playbackId);
  watchPath = `/watch/${stream.playbackId}`;
  encoder = ffmpeg('-re', '-i', file, '-c', 'copy', '-f', 'flv', server.ingestUrl(stream.streamKey));
  await offers(url, { names: namesOf(2), within: 40_000 });
}, 180_000);
afterAll(async () => {
  await encoder?.[Symbol.asyncDispose]();
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const switches = [
  ['next', [240, 480, 720, 480, 240, 720]],
  ['load', [480, 240, 720]],
] as const;

test.each(switches)(
  'hls.js in Chromium, %sLevel: every picture right, no stall, the tone unbroken',
  async (how, heights) => {
    await using site = switchingSite();
    await using page = await openSwitching(browser, { url: site.url(url), first: 720 });
    expect((await page.levels()).toSorted((a, b) => a - b)).toEqual([240, 480, 720]);
    for (const height of heights) {
      await page.switchTo(height, how);
      await page.play(3);
    }
    const notes = await page.notes();
    expect(notes.errors).toEqual([]);
    expect(notes.waits).toBe(0);
    expect(levelsIn(notes)).toEqual([720, ...heights]);
    expectPicturesInPlace(notes);
    const { seconds, breaks } = listen(notes.sound, { frequency: 440 });
    expect(seconds).toBeGreaterThan(heights.length * 3);
    expect(breaks).toEqual([]);
    expect(await renditionIssues(server, streamId)).toEqual([]);
    expect(encoder.isRunning, encoder.log).toBe(true);
  },
);

test('hls.js in Chromium, currentLevel: goes there at once, and shows the right pictures', async () => {
  await using site = switchingSite();
  await using page = await openSwitching(browser, { url: site.url(url), first: 240 });
  for (const height of [720, 240, 480]) {
    await page.switchTo(height, 'now');
    await page.play(3);
  }
  const notes = await page.notes();
  // It throws away what it has, so it may have to wait for what comes instead, and says so.
  expect(notes.errors.filter((error) => error.startsWith('fatal'))).toEqual([]);
  expect(levelsIn(notes)).toEqual([240, 720, 240, 480]);
  // While it seeks, a picture may be painted when the time is still that of the one before.
  expectPicturesInPlace(notes, { but: 3 });
});

test('the watch page plays them close to live, whichever is chosen', async () => {
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

test('ffmpeg plays every variant without a word', async () => {
  for (const variant of await variantsOf(url)) {
    const read = await readHls(variant.url, { seconds: 6 });
    expect([variant.name, read.errors]).toEqual([variant.name, []]);
    expect(Math.abs(read.frames - 180), `${read.frames} pictures of ${variant.name}`).toBeLessThanOrEqual(15);
  }
});

test('GStreamer plays every variant without a word', async () => {
  for (const { name, url: variant } of await variantsOf(url))
    expect([name, await watchByGstreamer(variant, { pictures: 120 })]).toEqual([name, '']);
});

/** Heights in the order in which they were on show. */
function levelsIn({ pictures }: Notes): number[] {
  return pictures.map(({ height }) => height).filter((height, n, all) => n === 0 || height !== all[n - 1]);
}

/** Every picture on show is the one of its time, whatever variant it came from: numbers and times go on together. */
function expectPicturesInPlace({ pictures }: Notes, options: { but?: number } = {}): void {
  expect(pictures.length).toBeGreaterThan(100);
  const [first] = pictures;
  const wrong = pictures.filter(({ time, number }) => {
    if (number === null || first.number === null) return true;
    return Math.abs(number - first.number - (time - first.time) * 30) > 1.01;
  });
  expect(wrong.slice(options.but ?? 0, 10)).toEqual([]);
}
