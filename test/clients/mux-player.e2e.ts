import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as ask } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { browserFlags, browserPath } from '../e2e/harness/chromium.ts';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { certificates } from '../outbound/certificates.ts';

/** The player as it is published, in a page of another origin, at a domain that stands for this server. */
const player = readFileSync(join(import.meta.dirname, 'node_modules/@mux/mux-player/dist/mux-player.js'));
// biome-ignore lint/suspicious/noExplicitAny: its types are checked where all of its calls are
type Client = any;
const Mux = createRequire(import.meta.url)('@mux/mux-node').default as new (options: object) => Client;
const run = promisify(execFile);
const domain = 'media.millrace.test';
const page = 'https://page.millrace.test';
const folder = mkdtempSync(join(tmpdir(), 'millrace-mux-player-'));
let server: Server;
let tls: HttpsServer;
let browser: Browser;
const film = join(folder, 'film.mp4');

beforeAll(async () => {
  await run('ffmpeg', ['-v', 'error', '-y', '-i', 'demo/clip.flv', '-t', '10', '-c', 'copy', film]);
  const plugins = { 'mux-compat': { streamHost: `stream.${domain}`, imageHost: `image.${domain}` } };
  server = await startServer({
    env: { MILLRACE_PUBLIC_URL: 'https://api.millrace.test', MILLRACE_PLUGINS: JSON.stringify(plugins) },
  });
  tls = tlsProxy(Number(new URL(server.url).port));
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
  const rules = `MAP *.millrace.test 127.0.0.1:${(tls.address() as AddressInfo).port}`;
  const flags = [`--host-resolver-rules=${rules}`, '--ignore-certificate-errors'];
  browser = await chromium.launch({ executablePath: browserPath(), args: [...browserFlags, ...flags] });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  tls?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** All hosts of the test: the page and its script, and otherwise the server, which sees the host that was asked for. */
function tlsProxy(port: number): HttpsServer {
  return createServer({ key: certificates.key, cert: certificates.good }, (incoming, answer) => {
    const { host = '', ...headers } = incoming.headers;
    if (host.startsWith('page.')) {
      const isScript = incoming.url === '/mux-player.js';
      answer.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      answer.end(
        isScript ? player : '<!doctype html><title>page</title><script src="/mux-player.js"></script>',
      );
      return;
    }
    const options = { host: '127.0.0.1', port, path: incoming.url, method: incoming.method };
    const passed = ask({ ...options, headers: { ...headers, host } }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
}

interface Shown {
  readonly page: Page;
  /** Path of what came from the image host → media type of what was got in the end. */
  readonly images: ReadonlyMap<string, string>;
  readonly complaints: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

async function open(attributes: Record<string, string>): Promise<Shown> {
  const context = await browser.newContext({ viewport: { width: 800, height: 600 } });
  const opened = await context.newPage();
  const images = new Map<string, string>();
  const complaints: string[] = [];
  opened.on('pageerror', (error) => complaints.push(String(error)));
  opened.on('response', (answer) => {
    let first = answer.request();
    for (let before = first.redirectedFrom(); before; before = first.redirectedFrom()) first = before;
    const { host, pathname } = new URL(first.url());
    if (host !== `image.${domain}` || (answer.status() >= 300 && answer.status() < 400)) return;
    images.set(pathname, `${answer.status()} ${answer.headers()['content-type']}`);
  });
  await opened.goto(page);
  await opened.evaluate(
    (given) => {
      const element = document.createElement('mux-player');
      for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
      element.style.width = '640px';
      document.body.append(element);
    },
    { 'custom-domain': domain, 'disable-tracking': '', muted: '', ...attributes },
  );
  return { page: opened, images, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** A client of Mux, as it is published, with an API key of this server. */
async function client() {
  const made = await server.api.request('POST', '/api/api-token', { name: 'player' });
  const { id: tokenId, key: tokenSecret } = (await made.json()) as { id: string; key: string };
  return new Mux({ tokenId, tokenSecret, baseURL: `${server.url}/mux` });
}

/** A film with a playback id of this policy. The public address of the server is one that only the browser reaches. */
async function uploaded(mux: Client, policy: 'public' | 'signed'): Promise<string> {
  const settings = { playback_policy: [policy] };
  const { id, url } = await mux.video.uploads.create({ cors_origin: '*', new_asset_settings: settings });
  const { pathname, search } = new URL(url);
  const answer = await fetch(`${server.url}${pathname}${search}`, { method: 'PUT', body: Bun.file(film) });
  expect(answer.status).toBe(200);
  const { asset_id } = await mux.video.uploads.retrieve(id);
  const { playback_ids } = await mux.video.assets.retrieve(asset_id);
  expect(playback_ids).toMatchObject([{ policy }]);
  return playback_ids[0].id;
}

/** Seconds that it has played, once it plays. */
async function played({ page: opened, complaints }: Shown, seconds: number): Promise<void> {
  await opened.evaluate(() => (document.querySelector('mux-player') as HTMLVideoElement).play());
  const at = () =>
    opened.evaluate(() => {
      const { currentTime, error } = document.querySelector('mux-player') as HTMLVideoElement;
      return { currentTime, error: error?.message };
    });
  const begun = (await at()).currentTime;
  await until(
    `${seconds} s to be played`,
    async () => {
      const now = await at();
      if (now.error || now.currentTime < begun + seconds)
        throw new Error(JSON.stringify({ ...now, complaints }));
      return true;
    },
    { within: 30_000, every: 100 },
  );
}

/** Where the image of a part of the player comes from, once it is there. */
async function imageOf(shown: Shown, part: string): Promise<string> {
  const image = () =>
    shown.page.evaluate((name) => {
      const inside = (root: ParentNode): Element[] =>
        [...root.querySelectorAll('*')].flatMap((one) => [
          one,
          ...(one.shadowRoot ? inside(one.shadowRoot) : []),
        ]);
      const images = inside(document)
        .filter(({ localName }) => localName === name)
        .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll('img') ?? [])]);
      return images.find(({ naturalWidth }) => naturalWidth > 0)?.src;
    }, part);
  const src = await until(
    `the image of ${part}`,
    async () => (await image()) ?? Promise.reject(new Error('none')),
    {
      within: 30_000,
      every: 100,
    },
  );
  return src;
}

/** What the player has of the storyboard, and that it shows a picture of it where the mouse is. */
async function expectStoryboard(shown: Shown, playbackId: string): Promise<void> {
  const cues = () =>
    shown.page.evaluate(() => {
      const { textTracks } = document.querySelector('mux-player') as HTMLVideoElement;
      return [...textTracks].find(({ label }) => label === 'thumbnails')?.cues?.length ?? 0;
    });
  await until('the storyboard', async () => (await cues()) >= 3, { within: 30_000, every: 100 });
  const {
    width = 0,
    x = 0,
    y = 0,
    height = 0,
  } = (await shown.page.locator('media-time-range').first().boundingBox()) ?? {};
  await shown.page.mouse.move(x + width / 3, y + height / 2);
  await shown.page.mouse.move(x + width / 2, y + height / 2);
  expect(await imageOf(shown, 'media-preview-thumbnail')).toContain(`/${playbackId}/storyboard.jpg`);
  expect(shown.images.get(`/${playbackId}/storyboard.vtt`)).toBe('200 text/vtt; charset=utf-8');
}

it('plays a film, with its poster and its storyboard', async () => {
  const playbackId = await uploaded(await client(), 'public');
  await using shown = await open({ 'playback-id': playbackId, preload: 'auto' });
  expect(await imageOf(shown, 'media-poster-image')).toContain(`/${playbackId}/thumbnail.webp`);
  expect(shown.images.get(`/${playbackId}/thumbnail.webp`)).toBe('200 image/webp');
  await played(shown, 2);
  await expectStoryboard(shown, playbackId);
  expect(shown.complaints).toEqual([]);
});

it('plays a live stream, with its poster', async () => {
  const mux = await client();
  const stream = await mux.video.liveStreams.create({ playback_policy: ['public'] });
  await using _ = broadcast(server.ingestUrl(stream.stream_key));
  const playbackId = stream.playback_ids[0].id;
  const isThere = async () => (await fetch(`${server.url}/hls/${playbackId}/index.m3u8`)).ok;
  await until('the broadcast', isThere, { within: 20_000, every: 100 });
  await using shown = await open({ 'playback-id': playbackId, 'stream-type': 'live' });
  expect(await imageOf(shown, 'media-poster-image')).toContain(`/${playbackId}/thumbnail.webp`);
  await played(shown, 3);
  expect(shown.complaints).toEqual([]);
});

it('plays a signed film with its tokens, and not without', async () => {
  const mux = await client();
  const playbackId = await uploaded(mux, 'signed');
  const { id: keyId, private_key: keySecret } = await mux.system.signingKeys.create();
  const sign = (type: string, params: Record<string, string> = {}): Promise<string> =>
    mux.jwt.signPlaybackId(playbackId, { keyId, keySecret, type, params, expiration: '1h' });
  const tokens = {
    'playback-token': await sign('video'),
    'thumbnail-token': await sign('thumbnail', { time: '3', width: '320' }),
    'storyboard-token': await sign('storyboard'),
  };
  await using shown = await open({ 'playback-id': playbackId, preload: 'auto', ...tokens });
  expect(await imageOf(shown, 'media-poster-image')).toContain(`/${playbackId}/thumbnail.webp?token=`);
  await played(shown, 2);
  await expectStoryboard(shown, playbackId);
  expect(shown.complaints).toEqual([]);

  await using refused = await open({ 'playback-id': playbackId, preload: 'auto' });
  const statuses = await refused.page.evaluate(
    (urls) => Promise.all(urls.map(async (url) => (await fetch(url)).status)),
    [`image.${domain}/${playbackId}/thumbnail.webp`, `image.${domain}/${playbackId}/storyboard.vtt`].map(
      (path) => `https://${path}`,
    ),
  );
  expect(statuses).toEqual([403, 403]);
  const reason = () =>
    refused.page.evaluate(() => {
      const { media } = document.querySelector('mux-player') as unknown as { media?: HTMLVideoElement };
      return media?.error?.message ?? '';
    });
  await until('the reason', async () => (await reason()).includes('playback-token'), {
    within: 20_000,
    every: 100,
  });
});
