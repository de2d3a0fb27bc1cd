import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Frame } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Key, tokenOf } from '../plugins/protection/kit.ts';
import { launchBrowser, openViewer } from './harness/chromium.ts';
import { encode } from './harness/encoders.ts';
import { type Broadcast, broadcast, readHls } from './harness/ffmpeg.ts';
import { hlsPage } from './harness/hls-page.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { lasting, until } from './harness/wait.ts';
import { hasWebKit, launchWebKit, type WebKit } from './harness/webkit.ts';

/** How long a token opens something, ms; behind `exp`, clocks may differ by `leeway` seconds. */
const life = 8000;
const leeway = 60;
/** What a player plays when its token opens nothing any more, ms. */
const longer = 10_000;
/** What the issue asks of the end of a viewer, and what a busy machine may make of it, seconds. */
const wanted = 5;
const most = 2 * wanted;
const attempts = 3;
const folder = mkdtempSync(join(tmpdir(), 'millrace-private-'));
const site = hlsPage();
/** By the path that it was asked at. */
const signed = new Map<string, ReturnType<typeof brief>>();
/**
 * A site of somebody else: a page with the markup of its query, and, at `/<playlist|embed>/<playback id>`, a token that is signed when a
 * player asks for it, so that no slow start takes of its time.
 */
const host = Bun.serve({
  ...{ port: 0, hostname: '127.0.0.1' },
  fetch({ url }) {
    const { pathname, searchParams } = new URL(url);
    const [, what, sub = ''] = pathname.split('/');
    if (!sub) return new Response(searchParams.get('markup'), { headers: { 'content-type': 'text/html' } });
    const given = brief(sub);
    signed.set(pathname, given);
    const { href } = new URL(what === 'embed' ? embedOf(sub, given.token) : given.url);
    const location = href.replace(server.url, searchParams.get('through') ?? server.url);
    return new Response(null, { status: 302, headers: { location, 'access-control-allow-origin': '*' } });
  },
});
const embedOf = (id: string, token = '') => `${server.url}/embed/${id}?autoplay=1&muted=1&token=${token}`;
let server: Server;
let browser: Browser;
let webkit: WebKit | undefined;
let encoder: Broadcast;
let key: Key;
/** Playback ids, and the URLs that go with them. */
let live: string;
let film: string;
let urls: Record<string, string>;

beforeAll(async () => {
  server = await startServer();
  browser = await launchBrowser();
  if (hasWebKit()) webkit = await launchWebKit();
  const clip = join(folder, 'clip.flv');
  const minute = join(folder, 'minute.mp4');
  const picture = ['-vf', 'scale=320:180', '-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '0', '-g', '60'];
  await encode(['-i', join(root, 'demo/clip.flv'), ...picture, '-c:a', 'copy', clip]);
  await encode(['-stream_loop', '2', '-i', clip, '-c', 'copy', minute]);

  const playbackPolicy = { type: 'signed' };
  const stream = await server.api.createStream({ name: 'Private', playbackPolicy });
  encoder = broadcast(server.ingestUrl(stream.streamKey), { clip });
  const { assetId } = await upload(server, minute);
  const patched = await server.api.request('PATCH', `/api/asset/${assetId}`, { playbackPolicy });
  expect(patched.status).toBe(200);
  const asset = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
  key = await (await server.api.request('POST', '/api/signing-key', {})).json();
  [live, film] = [stream.playbackId, asset.playbackId];
  urls = { [live]: server.playlistUrl(live), [film]: asset.playbackUrl };
  const token = tokenOf(key, { sub: live, exp: now() + 60 });
  const isOn = async () => (await fetch(`${urls[live]}?token=${token}`)).ok;
  await until('the broadcast', isOn, { within: 20_000 });
}, 60_000);
afterAll(async () => {
  await encoder?.kill();
  await webkit?.[Symbol.asyncDispose]();
  await browser?.close();
  await site[Symbol.asyncDispose]();
  await host.stop(true);
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const now = () => Math.floor(Date.now() / 1000);

/** A token for the next seconds. */
function brief(sub: string) {
  const token = tokenOf(key, { sub, exp: now() - leeway + life / 1000 });
  return {
    token,
    url: `${urls[sub]}?token=${token}`,
    /** Waits until it lets nobody in any more, and then as long as players are to go on. */
    async outlived() {
      const isRefused = async () => (await fetch(`${urls[sub]}?token=${token}`)).status === 403;
      await until('the token to be refused', isRefused, { within: life + 20_000, every: 200 });
      await lasting(longer);
    },
  };
}

/** Hands on to the server, and notes what was asked for. */
function noted(base: string) {
  const seen: { at: number; path: string; status: number }[] = [];
  const proxy = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const answer = await fetch(base + pathname + search, { headers: request.headers });
      seen.push({ at: Date.now(), path: pathname, status: answer.status });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  return { seen, url: proxy.url.origin, [Symbol.asyncDispose]: () => proxy.stop(true) };
}

const kinds = () => [
  ['live', live],
  ['a film', film],
];

describe.concurrent('for longer than its token lives, and not at all without one', () => {
  it('hls.js plays', async () => {
    await Promise.all(
      kinds().map(async ([name, id]) => {
        const url = `${host.url}playlist/${id}`;
        await using viewer = await openViewer(browser, { url: site.url(url), within: 60_000 });
        await signed.get(new URL(url).pathname)?.outlived();
        const before = await viewer.sample();
        await viewer.watch(30, { within: 20_000 });
        expect([name, before.fatalErrors, before.error]).toEqual([name, 0, null]);
        expect(before.currentTime).toBeGreaterThan(longer / 1000 - 2);
      }),
    );
    await expect(openViewer(browser, { url: site.url(urls[live]), within: 6000 })).rejects.toThrow('403');
  });

  it('ffmpeg plays', async () => {
    const seconds = (life + longer) / 1000 + 6;
    await Promise.all(
      kinds().map(async ([name, id]) => {
        const { url, outlived } = brief(id);
        let isOutlived = false;
        const waits = outlived().then(() => {
          isOutlived = true;
        });
        const read = await readHls(url, { seconds, paced: true });
        expect([name, read.errors, isOutlived]).toEqual([name, [], true]);
        expect(read.seconds).toBeGreaterThan(seconds - 1);
        await waits;
        const { errors } = await readHls(urls[id], { seconds: 1 });
        expect(errors.join('\n')).toContain('403');
      }),
    );
  });

  it.skipIf(!hasWebKit())('a browser plays by itself, with neither script nor headers', async () => {
    await using proxy = noted(server.url);
    const [ofLive, ofFilm, refused] = await (webkit as WebKit).play([
      ...kinds().map(([, id]) => `${host.url}playlist/${id}?through=${proxy.url}`),
      urls[film],
    ]);
    await until('a refusal', async () => (await refused.sample()).error, { within: 20_000 });
    expect((await refused.sample()).width).toBe(0);
    await Promise.all([ofLive, ofFilm].map((video) => video.watch(1, { within: 20_000 })));
    await Promise.all(kinds().map(([, id]) => signed.get(`/playlist/${id}`)?.outlived()));
    const outlivedAt = Date.now();
    for (const video of [ofLive, ofFilm]) {
      const before = await video.frameNumber();
      expect(before).not.toBeNull();
      const moves = async () => ![null, before].includes(await video.frameNumber());
      // GStreamer's demuxer shows the first picture of live until its clock comes to the time of that: 10 s, and the age of the broadcast.
      await until('another picture', moves, { within: 40_000 });
      const { error, currentTime } = await video.sample();
      expect(error).toBeNull();
      expect(currentTime).toBeGreaterThan(longer / 1000);
    }
    for (const [name, id] of kinds()) {
      const mine = proxy.seen.filter(({ path }) => path.includes(id));
      const late = mine.filter(({ at }) => at > outlivedAt - longer);
      console.log(`${name} in WebKitGTK: ${mine.length} requests, ${late.length} of them with a dead token`);
      expect([name, late.filter(({ status }) => status >= 400)]).toEqual([name, []]);
      expect(late.filter(({ path }) => path.endsWith('.mp4'))).not.toEqual([]);
    }
  });

  it('the embeddable player plays in a frame on a page of another origin', async () => {
    const open = async (url: string) => {
      const page = await browser.newPage({ viewport: { width: 480, height: 270 } });
      const markup = `<iframe src="${url}" width="460" height="250" allow="autoplay"></iframe>`;
      await page.goto(`${host.url}?${new URLSearchParams({ markup })}`);
      const found = () => page.frames().find((one) => one.url().startsWith(server.url));
      const frame = await until('the player', found, { within: 30_000 });
      return { frame, [Symbol.asyncDispose]: () => page.close() };
    };
    /** The player asks several times until it plays: a busy machine can need longer for that than the token lives. */
    const openWithToken = async (id: string) => {
      for (let attempt = 1; ; attempt += 1) {
        const one = await open(`${host.url}embed/${id}`);
        const first = await until('pictures or a refusal', () => playsOrRefuses(one.frame), {
          within: 30_000,
        });
        if (first.frames > 0 || attempt === attempts) return one;
        await one[Symbol.asyncDispose]();
      }
    };
    await Promise.all(
      kinds().map(async ([name, id]) => {
        await using tab = await openWithToken(id);
        await signed.get(`/embed/${id}`)?.outlived();
        const before = await seenIn(tab.frame);
        await lasting(1000);
        const after = await seenIn(tab.frame);
        expect([name, after.message]).toEqual([name, '']);
        expect(after.frames, JSON.stringify(after)).toBeGreaterThan(before.frames);
        expect(after.currentTime).toBeGreaterThan(longer / 1000 - 2);

        await using stranger = await open(embedOf(id));
        const seen = await until('a refusal', () => playsOrRefuses(stranger.frame), { within: 30_000 });
        expect(seen).toMatchObject({ message: 'You may not play this video.', frames: 0 });
      }),
    );
  });
});

describe('a viewer who is revoked', () => {
  it('is ended, and nobody else', async () => {
    const urlFor = (viewer: string) =>
      site.url(
        `${urls[live]}?token=${tokenOf(key, { sub: live, exp: now() + 600, iat: now() - 5, viewer })}`,
      );
    await using evil = await openViewer(browser, { url: urlFor('evil') });
    await using good = await openViewer(browser, { url: urlFor('good') });
    const at = performance.now();
    const answer = await server.api.request('POST', `/api/playback/${live}/revoke`, { viewer: 'evil' });
    expect(answer.status).toBe(204);
    const isEnded = async () => (await evil.sample()).fatalErrors > 0 || fail(await evil.sample());
    await until('its end', isEnded, { within: most * 1000, every: 50 });
    console.log(
      `revoked viewer: ended after ${((performance.now() - at) / 1000).toFixed(1)} s (wanted: ${wanted} s)`,
    );
    expect((await evil.sample()).notes.join('\n')).toContain('403');
    await good.watch(60, { within: 10_000 });
    expect((await good.sample()).fatalErrors).toBe(0);
  });
});

const seenIn = (frame: Frame) =>
  frame.evaluate(() => {
    const video = document.querySelector('video') as HTMLVideoElement;
    return {
      frames: video.getVideoPlaybackQuality().totalVideoFrames,
      currentTime: video.currentTime,
      message: document.getElementById('message')?.textContent,
    };
  });

const playsOrRefuses = async (frame: Frame) => {
  const seen = await seenIn(frame);
  return seen.frames > 5 || seen.message === 'You may not play this video.' ? seen : fail(seen);
};

const fail = (seen: unknown): never => {
  throw new Error(JSON.stringify(seen));
};
