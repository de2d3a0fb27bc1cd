import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, openViewer } from './harness/chromium.ts';
import { broadcast, readHls } from './harness/ffmpeg.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

/** The demo clip: 30 pictures a second, a key frame every 2 s. */
const fps = 30;
const gop = 2 * fps;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

test('ffmpeg broadcasts, Chromium and ffmpeg watch', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'on air' });
  const started = events.expect('stream.started', { within: 10_000, streamId: stream.id });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey));
  await started;
  expect((await server.api.getStream(stream.id)).isActive).toBe(true);

  await using viewer = await openViewer(browser, { url: `${server.url}/watch/${stream.playbackId}` });
  // The first two seconds have their seams (the short first segment); what is measured is watching.
  await viewer.watch(4 * fps, { within: 10_000 });
  const firstNumber = await viewer.frameNumber();
  const before = await viewer.sample();
  await lasting(20_000);
  const after = await viewer.sample();
  const secondNumber = await viewer.frameNumber();
  if (process.env.MILLRACE_E2E_SHOT) await viewer.screenshot(process.env.MILLRACE_E2E_SHOT);

  expect(after.frames - before.frames, after.notes.join('\n')).toBeGreaterThanOrEqual(0.95 * 20 * fps);
  expect(after).toMatchObject({ error: null, fatalErrors: 0 });
  expect(viewer.complaints).toEqual([]);
  expect(firstNumber).not.toBeNull();
  expect(secondNumber).not.toBeNull();
  expect(secondNumber).not.toBe(firstNumber);

  const read = await readHls(server.playlistUrl(stream.playbackId), { seconds: 10 });
  expect(read.errors).toEqual([]);
  expect(read.frames).toBeGreaterThanOrEqual(10 * fps - gop);
  expect(read.frames).toBeLessThanOrEqual(10 * fps + gop);
  expect(encoder.isRunning, encoder.log).toBe(true);
});

test('a picture encoded with B-frames reaches both as well', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'B-frames' });
  const playlist = server.playlistUrl(stream.playbackId);
  const started = events.expect('stream.started', { within: 10_000, streamId: stream.id });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey), { source: 'encode' });
  await started;
  await using viewer = await openViewer(browser, { url: `${server.url}/watch/${stream.playbackId}` });
  await viewer.watch(3 * fps, { within: 10_000 });
  // A publish's second segment goes on where the short first one was cut, without a key frame. ffmpeg, which begins
  // three segments from the end, begins there while only four are listed, and says so.
  await until('six segments', async () => (await readMediaPlaylist(playlist)).segments.length >= 6, {
    within: 15_000,
  });
  const read = await readHls(playlist, { seconds: 4 });
  expect(read.errors).toEqual([]);
  expect(Math.abs(read.frames - 4 * fps)).toBeLessThanOrEqual(gop);
  expect(encoder.isRunning, encoder.log).toBe(true);
});

test('an encoder with a wrong key is turned away, and nothing is on air', async () => {
  await using server = await startServer();
  const stream = await server.api.createStream({ name: 'quiet' });
  await using encoder = broadcast(server.ingestUrl('aaaa-bbbb-cccc-dddd'));
  await encoder.ended({ within: 10_000 });
  expect((await server.api.getStream(stream.id)).isActive).toBe(false);
});
