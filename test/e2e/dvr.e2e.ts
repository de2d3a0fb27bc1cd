import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MediaRecorder } from '../../runtime/media/recording/feed.ts';
import { EventFollower } from '../hls/event-checker.ts';
import { ScriptedTake } from '../hls/scripted-take.ts';
import { scriptedRecorder } from '../kit/scripted-recorder.ts';
import { grant, station } from '../media/kit.ts';
import { launchBrowser, openViewer, type Viewer } from './harness/chromium.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { hlsPage } from './harness/hls-page.ts';
import { startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

/** The demo clip: 30 pictures a second, numbered from its beginning. */
const fps = 30;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** Goes back to the first second of a broadcast that is longer than the live window, and plays on from there. */
async function seesTheBeginning(viewer: Viewer): Promise<void> {
  const { start, end } = await viewer.seekable();
  // The live playlist lists 12 s.
  expect([start, end > 20]).toEqual([0, true]);
  await viewer.seek(start + 0.1);
  const number = await until(
    'a picture of the first second',
    async () => {
      const seen = await viewer.frameNumber();
      return seen !== null && seen < 3 * fps ? seen : undefined;
    },
    { within: 30_000 },
  );
  const before = await viewer.sample();
  // A busy browser also counts pictures that it decodes on its way there.
  const later = await until(
    'pictures of 3 s more',
    async () => {
      const seen = await viewer.frameNumber();
      return seen !== null && seen > number + 3 * fps ? seen : undefined;
    },
    { within: 30_000 },
  );
  const after = await viewer.sample();
  expect(after, after.notes.join('\n')).toMatchObject({ error: null, fatalErrors: 0 });
  // It plays what it says: a busy browser leaves pictures out, which are watched for longer then.
  const played = (after.currentTime - before.currentTime) * fps;
  expect(Math.abs(later - number - played)).toBeLessThan(2 * fps);
  expect(after.currentTime).toBeGreaterThan(before.currentTime + 2);
  // It goes on being live meanwhile.
  await until('the end to move', async () => (await viewer.seekable()).end > end + 4, { within: 30_000 });
  await viewer.seek((await viewer.seekable()).end - 6);
  await viewer.watch(2 * fps, { within: 30_000 });
}

test('hls.js goes back to the first second while it is live, over a reconnect, and reloads by delta updates', async () => {
  const take = new ScriptedTake();
  const recorder: MediaRecorder = { ...scriptedRecorder(), feed: () => take.feed() };
  let count = 0;
  await using media = await station(
    async ({ key }) => {
      count += 1;
      return { ...grant({ token: `t${count}`, playbackId: key, turn: count }), recording: { folder: 'a' } };
    },
    { recorder },
  );
  const asked: string[] = [];
  const sizes: number[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async ({ url, signal }) => {
      const { pathname, searchParams } = new URL(url);
      const file = pathname.slice(1);
      asked.push(`${file}${searchParams.get('_HLS_skip') ?? ''}`);
      const answer = await media.serve(file, { query: searchParams.toString(), signal });
      if (file !== 'dvr.m3u8' || answer?.status !== 200) return answer ?? new Response(null, { status: 404 });
      const text = await answer.text();
      sizes.push(text.match(/#EXTINF/g)?.length ?? 0);
      return new Response(text, { headers: answer.headers });
    },
  });
  const url = (file: string) => `${server.url}${file}`;
  const encoder = broadcast(`rtmp://127.0.0.1:${media.port}/live/key`);
  const get = async (file: string) => (await media.serve(file)) as Response;
  const follower = new EventFollower(async (uri) => (await get(uri)).bytes());
  await until(
    '20 s of it',
    () =>
      take.count > 0 ? take.segment(take.count - 1).wallStart - take.segment(0).wallStart > 20_000 : false,
    {
      within: 40_000,
    },
  );
  await encoder.kill();
  await lasting(1000);
  await using _second = broadcast(`rtmp://127.0.0.1:${media.port}/live/key`);
  const before = take.count;
  await until('more of it', () => take.count > before + 2, { within: 20_000 });
  await follower.see(await (await get('dvr.m3u8')).text());

  await using page = hlsPage();
  await using viewer = await openViewer(browser, { url: page.url(url('index.m3u8?dvr=1')) });
  await viewer.seek(15);
  await until(
    'a picture from before the reconnect',
    async () => ((await viewer.frameNumber()) ?? 0) > 13 * fps,
    {
      within: 10_000,
    },
  );
  await seesTheBeginning(viewer);
  const playlist = await follower.see(await (await get('dvr.m3u8')).text());
  expect(new Set(playlist.segments.map(({ discontinuities }) => discontinuities)).size).toBe(2);
  // The whole once, then what is new alone.
  const [first, ...reloads] = asked.filter((file) => file.startsWith('dvr.m3u8'));
  expect([first, new Set(reloads)]).toEqual(['dvr.m3u8', new Set(['dvr.m3u8YES'])]);
  expect(sizes.slice(1).every((size) => size < sizes[0])).toBe(true);
  expect(viewer.complaints).toEqual([]);
  await server.stop(true);
}, 180_000);

test('a broadcast that is recorded, on the real server: back to its first second, also when the server died meanwhile', async () => {
  await using server = await startServer({ env: { MILLRACE_PLUGINS__STREAMS__HOLD: '30s' } });
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'recorded', record: true });
  const plain = await server.api.createStream({ name: 'plain' });
  const dvr = (of: { playbackId: string }) => `${server.url}/hls/${of.playbackId}/index.m3u8?dvr=1`;
  const file = (name: string) => fetch(`${server.url}/hls/${stream.playbackId}/${name}`);
  const started = events.expect('stream.started', { within: 20_000, streamId: stream.id });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey), { retry: true });
  await using _other = broadcast(server.ingestUrl(plain.streamKey));
  await started;
  const follower = new EventFollower(async (uri) => (await file(uri)).bytes());
  const playlist = async () => {
    const answer = await file('dvr.m3u8');
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return follower.see(await answer.text());
  };
  const lasts = async () => (await playlist()).segments.reduce((sum, { duration }) => sum + duration, 0);
  await until('20 s of it', async () => (await lasts()) > 20, { within: 60_000, every: 500 });
  await until('the other', async () => (await fetch(server.playlistUrl(plain.playbackId))).ok, {
    within: 20_000,
  });
  const refused = await fetch(dvr(plain));
  expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'playback.not_recorded' }]);

  await using page = hlsPage();
  {
    await using viewer = await openViewer(browser, { url: page.url(dvr(stream)) });
    await seesTheBeginning(viewer);
    expect(viewer.complaints).toEqual([]);
  }
  const before = await playlist();
  const answer = await file(before.segments[0].uri);
  const first = await answer.bytes();
  // By this another node knows how much room it needs to pass it on.
  expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(first.length)]);
  await server.kill('SIGKILL');
  await server.restart();
  const again = new EventFollower(async (uri) => (await file(uri)).bytes());
  const after = await until(
    'more than before',
    async () => {
      const answer = await file('dvr.m3u8');
      if (answer.status !== 200) return undefined;
      const seen = await again.see(await answer.text());
      return seen.segments.length > before.segments.length + 2 ? seen : undefined;
    },
    { within: 60_000, every: 500 },
  );
  expect(after.segments[0]).toMatchObject({
    sequence: 0,
    wall: before.segments[0].wall,
    duration: before.segments[0].duration,
  });
  expect(Buffer.compare(await (await file(after.segments[0].uri)).bytes(), first)).toBe(0);
  expect(new Set(after.segments.map(({ discontinuities }) => discontinuities)).size).toBe(2);
  // What was live and in no file yet when it died is missing, and no more than that.
  expect(after.segments.length).toBeGreaterThan(before.segments.length);
  await using viewer = await openViewer(browser, { url: page.url(dvr(stream)) });
  await seesTheBeginning(viewer);

  const idle = events.expect('stream.idle', { within: 60_000, streamId: stream.id });
  await encoder.stop();
  await idle;
  await until('its end', async () => (await fetch(dvr(stream))).status === 404, { within: 10_000 });
}, 300_000);
