import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, openViewer } from './harness/chromium.ts';
import type { Events } from './harness/events.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { readMediaPlaylist, statusOf } from './harness/playlist.ts';
import { type Server, startServer } from './harness/server.ts';
import { lasting } from './harness/wait.ts';

/** One server with its default windows (hold 30 s, reconnect 6 min); each test is a lane with a stream of its own. */
let server: Server;
let browser: Browser;
let events: Events;
beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), launchBrowser()]);
  events = await server.openEvents();
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

test.concurrent.each([5, 20])(
  'an encoder killed and back after %i s: the player goes on',
  async (seconds) => {
    const stream = await server.api.createStream({ name: `away for ${seconds} s` });
    const started = events.expect('stream.started', { within: 20_000, streamId: stream.id });
    await using first = broadcast(server.ingestUrl(stream.streamKey));
    await started;
    await using viewer = await openViewer(browser, {
      url: `${server.url}/watch/${stream.playbackId}`,
      within: 30_000,
    });
    await viewer.watch(60, { within: 20_000 });
    const before = await readMediaPlaylist(server.playlistUrl(stream.playbackId));

    await first.kill();
    await lasting(seconds * 1000);
    expect(await statusOf(server.playlistUrl(stream.playbackId))).toBe(200);
    expect((await server.api.getStream(stream.id)).isActive).toBe(true);
    await using second = broadcast(server.ingestUrl(stream.streamKey));
    // More than any buffer from before the outage can hold.
    await viewer.watch(20 * 30, { within: 60_000 });

    expect(second.isRunning, second.log).toBe(true);
    expect(viewer.loads).toBe(1);
    expect((await viewer.sample()).error).toBeNull();
    const after = await readMediaPlaylist(server.playlistUrl(stream.playbackId));
    expect(after.url).toBe(before.url);
    expect(after.mediaSequence).toBeGreaterThanOrEqual(before.mediaSequence);
    expect(after.discontinuitySequence + after.discontinuities).toBe(
      before.discontinuitySequence + before.discontinuities + 1,
    );
    expect(await server.api.listSessions(stream.id)).toHaveLength(1);
    expect(events.namesOf(stream.id).filter((name) => /^stream\.(started|idle)$/.test(name))).toEqual([
      'stream.started',
    ]);
  },
);

test.concurrent('a clean stop: idle within 2 s, 404; back after 60 s: the same session goes on', async () => {
  const stream = await server.api.createStream({ name: 'a break' });
  const started = events.expect('stream.started', { within: 20_000, streamId: stream.id });
  const url = server.playlistUrl(stream.playbackId);
  expect(await statusOf(url)).toBe(404);
  await using first = broadcast(server.ingestUrl(stream.streamKey));
  await started;
  await lasting(8000);
  const before = await readMediaPlaylist(url);

  // ffmpeg says goodbye at once, but lives on for a moment: what counts is from here to the event.
  const idle = events.expect('stream.idle', { within: 2000, streamId: stream.id });
  await Promise.all([first.stop(), idle]);
  expect(await statusOf(url)).toBe(404);
  expect((await server.api.getStream(stream.id)).isActive).toBe(false);
  await lasting(60_000);

  const startedAgain = events.expect('stream.started', { within: 10_000, streamId: stream.id });
  await using second = broadcast(server.ingestUrl(stream.streamKey));
  await startedAgain;
  const after = await readMediaPlaylist(url);
  expect(after.mediaSequence).toBeGreaterThan(before.mediaSequence + before.segments.length - 1);
  expect(await server.api.listSessions(stream.id)).toHaveLength(1);
  expect(events.namesOf(stream.id).filter((name) => /^stream\.(started|idle)$/.test(name))).toEqual([
    'stream.started',
    'stream.idle',
    'stream.started',
  ]);
  expect(second.isRunning, second.log).toBe(true);
});
