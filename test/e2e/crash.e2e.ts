import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, openViewer } from './harness/chromium.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { type Server, startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

test('kill -9 of the server in a broadcast: same session, same URL, the player recovers, nothing acknowledged is lost', async () => {
  await using server = await startServer();
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'survivor' });
  const started = events.expect('stream.started', { within: 10_000, streamId: stream.id });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey), { retry: true });
  await started;
  await using viewer = await openViewer(browser, { url: `${server.url}/watch/${stream.playbackId}` });
  await viewer.watch(120, { within: 20_000 });
  const [session] = await server.api.listSessions(stream.id);
  const before = await readMediaPlaylist(server.playlistUrl(stream.playbackId));

  const created: Created[] = [];
  const writer = writeUntilCut(server, created);
  await lasting(2000);
  await until('writes', () => created.length > 10, { within: 20_000 });
  await server.kill('SIGKILL');
  const renamed = await writer;
  await server.restart();

  // More than any buffer from before the crash can hold.
  await viewer.watch(20 * 30, { within: 60_000 });
  expect(viewer.loads).toBe(1);
  expect((await viewer.sample()).error).toBeNull();
  const after = await readMediaPlaylist(server.playlistUrl(stream.playbackId));
  expect(after.mediaSequence).toBeGreaterThan(before.mediaSequence + before.segments.length - 1);
  expect((await server.api.listSessions(stream.id)).map(({ id }) => id)).toEqual([session?.id]);
  expect(events.namesOf(stream.id).filter((name) => /^stream\.(started|idle)$/.test(name))).toEqual([
    'stream.started',
  ]);
  expect(encoder.isRunning, encoder.log).toBe(true);

  for (const { id, name } of created) expect(await server.api.getStream(id)).toMatchObject({ id, name });
  const target = await server.api.getStream(renamed.id);
  // The last one was cut off unanswered: it may have happened, the one before it must have.
  expect([`name ${renamed.acknowledged}`, `name ${renamed.acknowledged + 1}`]).toContain(target.name);
});

interface Created {
  readonly id: string;
  readonly name: string;
}

/** Creates and renames streams one after another until the server does not answer; hands back what was acknowledged. */
async function writeUntilCut(server: Server, created: Created[]) {
  const { id } = await server.api.createStream({ name: 'name 0' });
  let acknowledged = 0;
  try {
    for (;;) {
      const name = `written ${created.length}`;
      created.push({ id: (await server.api.createStream({ name })).id, name });
      await server.api.patchStream(id, { name: `name ${acknowledged + 1}` });
      acknowledged += 1;
    }
  } catch {
    return { id, acknowledged };
  }
}
