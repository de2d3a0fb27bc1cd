import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { type HookReceiver, startHookReceiver } from './harness/hook-receiver.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** The live half of the dashboard, as a person uses it with a real encoder: Go live, a stream, home, a session. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Set to a folder to look at what the pages showed. */
const shots = process.env.MILLRACE_SCREENSHOTS;
const within = 40_000;
let browser: Browser;
let server: Server;
let receiver: HookReceiver;

beforeAll(async () => {
  [browser, server, receiver] = await Promise.all([
    launchBrowser(),
    startServer({ env: { MILLRACE_OUTBOUND__ALLOW: '["127.0.0.2/32"]' } }),
    startHookReceiver(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

/** A tab of a reader who signed in by the form. */
async function signedIn() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => {
    const { url } = line.location();
    // A browser notes each 404, also that of a playlist whose broadcast just ended.
    const isEnd =
      /^Failed to load resource: .* 404/.test(line.text()) && url.startsWith(`${server.url}/hls/`);
    if (line.type() === 'error' && !isEnd) complaints.push(`${line.text()} ${url}`);
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== server.url) complaints.push(`asked ${origin}`);
  });
  await page.goto(server.url);
  await page.getByLabel('API key').fill(server.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor({ timeout: within });
  return {
    page,
    complaints,
    /** Looks at the page as it is now: nobody is kept out, and nothing went wrong on it. */
    async isSound(name: string) {
      if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
      expect(await barriersOf(page)).toEqual([]);
      expect(complaints).toEqual([]);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** What axe calls serious or critical. */
async function barriersOf(page: Page): Promise<string[]> {
  // As text: a script element would be refused by the policy of the page.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: Axe };
    return (await axe.run(document, { resultTypes: ['violations'] })).violations;
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

interface Axe {
  run(of: Document, options: { resultTypes: string[] }): Promise<{ violations: Violation[] }>;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Waits for the picture to move. */
async function plays(page: Page, seconds = 1) {
  const at = () => page.evaluate(() => document.querySelector('video')?.currentTime ?? 0);
  let first: number | undefined;
  await until(
    'the picture to move',
    async () => {
      const now = await at();
      const width = await page.evaluate(() => document.querySelector('video')?.videoWidth ?? 0);
      if (width === 0 || now === 0) return false;
      first ??= now;
      return now > first + seconds;
    },
    { within, every: 100 },
  );
}

const isDone = (page: Page, stage: string) =>
  page.locator('ol.progress li.done', { hasText: stage }).waitFor({ timeout: within });

describe.concurrent('the live pages of the dashboard', () => {
  it('lead from nothing to a broadcast, show how it is, and what it was', async () => {
    await using tab = await signedIn();
    const { page } = tab;
    await page.getByRole('banner').getByRole('link', { name: 'Go live' }).click();
    await page.getByLabel('Name').fill('Launch party');
    await page.getByRole('button', { name: 'Create the stream' }).click();
    await page.getByText('Listening for the encoder').waitFor({ timeout: within });
    await page.getByLabel('GStreamer').check();
    await page.getByLabel('ffmpeg').check();
    await page.getByRole('button', { name: 'Show' }).click();
    await tab.isSound('go-live-waiting');
    const url = await page.locator('.settings code').first().textContent();
    const id = new URL(page.url()).searchParams.get('stream') ?? '';
    expect(await page.locator('ol.progress li.done').count()).toBe(0);

    const hook = { name: 'Site', url: receiver.urls.ok, events: ['stream.started'], streamId: id };
    expect((await server.api.request('POST', '/api/webhook', hook)).status).toBe(201);
    const encoder = broadcast(url ?? '', { source: 'encode' });
    await isDone(page, 'Connected');
    await isDone(page, 'First key frame');
    await isDone(page, 'Playable');
    await plays(page);
    await page.getByText('H.264 640×360, 30 fps, AAC').waitFor({ timeout: within });
    // The picture of this page is no viewer.
    expect(await page.locator('ol.progress li.done', { hasText: 'First viewer' }).count()).toBe(0);
    const { playbackId } = await server.api.getStream(id);
    const viewer = setInterval(() => void readPlaylist(playbackId), 500);
    await isDone(page, 'First viewer');
    clearInterval(viewer);
    await tab.isSound('go-live-on-air');

    await page.getByRole('link', { name: 'Open the stream' }).click();
    await plays(page);
    await page.getByText('It is on the air').waitFor({ timeout: within });
    const plot = page.locator('.plot', { hasText: 'Bitrate' });
    const drawn = () =>
      plot.locator('canvas').evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await until(
      'a bitrate',
      async () => /\d (k|M)b\/s/.test((await plot.locator('output').textContent()) ?? ''),
      { within },
    );
    const before = await drawn();
    await until('the plot to move', async () => (await drawn()) !== before, { within });
    expect(await page.locator('.plot canvas').count()).toBe(5);
    await tab.isSound('stream');
    for (const tabName of ['Recordings', 'Targets', 'Settings']) {
      await page.getByRole('navigation', { name: 'Parts of this page' }).getByText(tabName).click();
      await page.waitForFunction(() => document.querySelectorAll('[aria-busy]').length === 0);
      await tab.isSound(`stream-${tabName}`);
    }

    await page.getByRole('link', { name: 'Home' }).click();
    await page
      .getByRole('link', { name: /Launch party/ })
      .locator('img')
      .waitFor({ timeout: within });
    await tab.isSound('home');

    await page.goto(`${server.url}/dashboard/stream/${id}?tab=sessions`);
    await page.locator('td a.fill').first().click();
    await page.getByText('The session began').waitFor({ timeout: within });
    // It happened before this page was opened.
    await page.locator('.entries').getByText('stream.started', { exact: true }).waitFor({ timeout: within });
    await page
      .locator('.entries')
      .getByText(/^answered 200 after \d+ ms$/)
      .waitFor({ timeout: within });
    expect(await page.locator('.lane', { hasText: 'Deliveries' }).getByRole('button').count()).toBe(1);
    await encoder.stop();
    await page.getByText('Off air').waitFor({ timeout: within });
    await server.api.terminate(id);
    await page.getByText('Download mp4').waitFor({ timeout: within });
    await page.locator('.entries').getByText('stream.idle', { exact: true }).waitFor({ timeout: within });
    await until(
      'the recording',
      () => page.evaluate(() => (document.querySelector('video')?.duration ?? 0) > 5),
      { within },
    );
    await page.locator('.entries button').last().click();
    expect(new URL(page.url()).searchParams.get('at')).toMatch(/^\d{13}$/);
    await page.getByRole('button', { name: 'Copy a link to this moment' }).waitFor({ timeout: within });
    await tab.isSound('session');
    await page.getByRole('link', { name: 'Open the stream' }).click();
    await page.getByText('It is off the air.').waitFor({ timeout: within });
    await tab.isSound('stream-off-air');
  }, 150_000);

  it('name the setting to change when key frames are rare', async () => {
    const stream = await server.api.createStream({ name: 'Rare key frames' });
    await using tab = await signedIn();
    const { page } = tab;
    await page.goto(`${server.url}/dashboard/go-live?stream=${stream.id}`);
    await page.getByText('Listening for the encoder').waitFor({ timeout: within });
    await using _ = broadcast(server.ingestUrl(stream.streamKey), { source: 'rareKeys' });
    await page.getByText('Key frames are more than 4 s apart').waitFor({ timeout: within });
    await page.getByText('Streaming → Keyframe Interval: 2 s').waitFor({ timeout: within });
    await page.getByLabel('ffmpeg').check();
    await page.getByText('-g 60 -keyint_min 60 -sc_threshold 0 (2 s').waitFor({ timeout: within });
    await tab.isSound('go-live-rare-key-frames');
    await page.getByRole('link', { name: 'Home' }).click();
    await page
      .getByRole('region', { name: 'Issues' })
      .getByRole('link', { name: 'Rare key frames' })
      // A busy machine makes a second one.
      .first()
      .waitFor({ timeout: within });
    await tab.isSound('home-with-issues');
  }, 120_000);

  it('say that an encoder was refused for its key, and where the right one goes', async () => {
    const stream = await server.api.createStream({ name: 'Wrong key' });
    await using tab = await signedIn();
    const { page } = tab;
    await page.goto(`${server.url}/dashboard/go-live?stream=${stream.id}`);
    await page.getByText('Listening for the encoder').waitFor({ timeout: within });
    await using _ = broadcast(server.ingestUrl('not-the-key-of-anybody'));
    await page.getByText('An encoder at 127.0.0.1').waitFor({ timeout: within });
    const advice = page.locator('.notice', { hasText: 'was refused' });
    expect(await advice.textContent()).toContain('The key that was tried ends in body');
    expect(await advice.textContent()).toContain(`the key of this stream in ${stream.streamKey.slice(-4)}`);
    await page
      .getByText('Settings → Stream → Stream Key: paste the key from above')
      .waitFor({ timeout: within });
    expect(await page.locator('ol.progress li.done').count()).toBe(0);
    await tab.isSound('go-live-wrong-key');
  }, 120_000);
});

/** As a player elsewhere asks for it. */
async function readPlaylist(playbackId: string) {
  const headers = { 'user-agent': 'another player' };
  const answer = await fetch(server.playlistUrl(playbackId).replace('index', 'source'), { headers }).catch(
    () => undefined,
  );
  await answer?.text();
}
