import { createHash } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventFollower } from '../hls/event-checker.ts';
import { filmPageFile, openFilm } from '../vod/film-page.ts';
import { fuzzRanges } from '../vod/fuzz-ranges.ts';
import { playByFfmpeg, playByGstreamer } from '../vod/players.ts';
import { launchBrowser } from './harness/chromium.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

/** The demo clip: 30 pictures a second, each with its number; ffmpeg begins it anew at each connection. */
const fps = 30;

let browser: Browser;
let page: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  browser = await launchBrowser();
  // Of another origin than the recording.
  page = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: ({ url }) => filmPageFile(new URL(url).pathname) ?? new Response(null, { status: 404 }),
  });
});
afterAll(async () => {
  await browser?.close();
  await page?.stop(true);
});

test('a broadcast over several connections becomes a recording that plays everywhere, and an asset', async () => {
  await using server = await startServer({
    env: { MILLRACE_PLUGINS__STREAMS__HOLD: '8s', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '10s' },
  });
  const events = await server.openEvents();
  const stream = await server.api.createStream({ name: 'Recorded', record: true });
  const expectEvent = (name: string) => events.expect(name, { within: 30_000, streamId: stream.id });
  const read = async (path: string) => (await server.api.request('GET', path)).json();

  let started = expectEvent('stream.started');
  let encoder = broadcast(server.ingestUrl(stream.streamKey));
  await started;
  await expectTelling(events, stream.id, ['stream.started', 'recording.started']);
  const [{ id: session }] = await server.api.listSessions(stream.id);
  const base = `${server.url}/recordings/${session}`;
  await lasting(7000);
  await encoder.kill();
  // Within hold: nobody is told anything.
  await lasting(1000);
  encoder = broadcast(server.ingestUrl(stream.streamKey));
  await until('it to go on', async () => (await read(`/api/stream/${stream.id}`)).isHealthy === true, {
    within: 15_000,
  });
  await lasting(6000);
  expect(await read(`/api/session/${session}`)).toMatchObject({ recordingStatus: 'waiting' });
  const early = await fetch(`${base}/index.m3u8`);
  expect([early.status, (await early.json()).code]).toEqual([404, 'recording.not_ready']);
  let waiting = expectEvent('recording.waiting');
  await encoder.stop();
  await waiting;
  // Within the window: the same session.
  started = expectEvent('stream.started');
  encoder = broadcast(server.ingestUrl(stream.streamKey));
  await started;
  await lasting(6000);
  waiting = expectEvent('recording.waiting');
  const ready = expectEvent('recording.ready');
  await encoder.stop();
  await waiting;
  const { payload } = (await ready) as { payload: Record<string, string> };
  expect(payload).toMatchObject({ recordingUrl: `${base}/index.m3u8`, mp4Url: `${base}/source.mp4` });
  await expectTelling(events, stream.id, [
    ...['stream.started', 'recording.started', 'stream.idle', 'recording.waiting'],
    ...['stream.started', 'stream.idle', 'recording.waiting', 'recording.ready'],
  ]);

  const { id, recordingStatus, recordingUrl, mp4Url } = await read(`/api/session/${session}`);
  expect([id, recordingStatus]).toEqual([session, 'ready']);
  expect((await server.api.listSessions(stream.id)).map((one) => one.id)).toEqual([session]);
  expect([recordingUrl, mp4Url]).toEqual([payload.recordingUrl, payload.mp4Url]);
  const info = await read(`/api/playback/${session}`);
  expect([info.type, info.meta.source.map(({ url }: { url: string }) => url)]).toEqual([
    'recording',
    [recordingUrl, mp4Url],
  ]);
  const asset = await read(`/api/asset/${payload.assetId}`);
  expect(asset).toMatchObject({ status: 'ready', source: { type: 'recording', sessionId: session } });
  const video = Buffer.from(await (await fetch(asset.downloadUrl)).bytes());
  expect(video.length).toBe(asset.size);
  for (const { hash, algorithm } of asset.hash)
    expect([algorithm, createHash(algorithm).update(video).digest('hex')]).toEqual([algorithm, hash]);

  // Every rule of HLS, over all of it.
  const follower = new EventFollower(async (uri) => {
    const answer = await fetch(`${base}/${uri}`);
    expect([uri, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([uri, 200, '*']);
    return answer.bytes();
  });
  const { segments, type } = await follower.see(await (await fetch(`${base}/source.m3u8`)).text());
  expect(type).toBe('VOD');
  const runs = [...new Set(segments.map(({ discontinuities }) => discontinuities))].map((run) =>
    segments
      .filter(({ discontinuities }) => discontinuities === run)
      .reduce((sum, one) => sum + one.duration, 0),
  );
  expect(runs.length).toBe(3);
  for (const seconds of runs) expect(seconds).toBeGreaterThan(4);
  const lasts = runs.reduce((sum, seconds) => sum + seconds, 0);
  expect(Math.abs(asset.videoSpec.duration - lasts)).toBeLessThan(0.2);
  const pictures = follower.media.runs
    .filter(({ track }) => track === follower.media.runs[0].track)
    .reduce((sum, { samples }) => sum + samples.length, 0);
  expect(Math.abs(pictures - lasts * fps)).toBeLessThan(5);

  for (const url of [recordingUrl, asset.playbackUrl, mp4Url, asset.downloadUrl]) {
    for (const play of [playByFfmpeg, playByGstreamer]) {
      const played = await play(url);
      expect([url, play.name, played.complaints]).toEqual([url, play.name, '']);
      // Over all seams. Where decode times go back, ffmpeg 5.1 drops without a word what lies in the first fragment.
      expect([url, play.name, played.pictures]).toEqual([url, play.name, pictures]);
    }
  }

  /** The number of the clip's picture at a second of the recording. */
  const numberAt = (seconds: number) => {
    let into = seconds;
    for (const run of runs) {
      if (into < run) break;
      into -= run;
    }
    return Math.floor(into * fps + 1e-6);
  };
  const middles = runs.map(
    (run, number) => runs.slice(0, number).reduce((sum, one) => sum + one, 0) + run / 2,
  );
  for (const url of [recordingUrl, asset.playbackUrl, mp4Url]) {
    await using film = await openFilm(browser, { page: `${page.url}film`, url });
    expect(Math.abs(film.duration - lasts)).toBeLessThan(0.5);
    for (const [seams, at] of [
      [2, middles[2]],
      [0, middles[0]],
      [1, middles[1]],
      [1, runs[0] + 1],
    ]) {
      const shown = (await film.pictureAt(at)) ?? Number.NaN;
      // Sound and picture of a run do not end together, and with B-frames its first picture comes two frames late: what is
      // behind a seam is some frames later than the lengths of the pictures say.
      const off = numberAt(at) - shown;
      const most = 6 + 5 * seams;
      expect([url, at, off >= -2 && off <= most], `${shown}, not ${numberAt(at)}`).toEqual([url, at, true]);
    }
    const played = await film.play(runs[0] - 1.5, runs[0] + 1.5);
    expect(played.pictures).toBeGreaterThan(70);
    expect(await film.errors()).toEqual([]);
  }
  const whole = Buffer.from(await (await fetch(mp4Url)).bytes());
  expect(await fuzzRanges(mp4Url, { whole, times: 200 })).toBe(200);
  expect(await fuzzRanges(asset.downloadUrl, { whole: video, times: 100 })).toBe(100);

  // Deleted, it is gone everywhere.
  expect((await server.api.request('DELETE', `/api/asset/${payload.assetId}`)).status).toBe(204);
  for (const url of [recordingUrl, mp4Url, `${base}/seg0.mp4`, asset.playbackUrl, asset.downloadUrl])
    expect([url, (await fetch(url)).status]).toEqual([url, 404]);
  await until('the links to go', async () => !('recordingUrl' in (await read(`/api/session/${session}`))), {
    within: 5000,
  });
}, 240_000);

/** All that a stream's events said so far, in order. */
async function expectTelling(
  events: { namesOf(streamId: string): string[] },
  streamId: string,
  names: readonly string[],
): Promise<void> {
  const own = () =>
    events.namesOf(streamId).filter((name) => /^(stream\.(started|idle)|recording\.)/.test(name));
  await until(`the events ${names.join(', ')}`, () => own().length >= names.length, { within: 5000 });
  expect(own()).toEqual(names);
}
