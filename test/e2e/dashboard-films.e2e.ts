import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { openReader } from './harness/dashboard-reader.ts';
import { type FileServer, makeFilm, pad, startFileServer } from './harness/films.ts';
import { type HookReceiver, startHookReceiver } from './harness/hook-receiver.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { checkSnippets } from './harness/signature-code.ts';
import { upload } from './harness/uploads.ts';
import { until } from './harness/wait.ts';

/** The dashboard: films, tasks, webhooks, keys, events, the system, and what plugins add. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-dashboard-'));
const large = join(folder, 'Long film.mp4');
const small = join(folder, 'short.mp4');
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
/** Bytes a second of the upload that is paused. */
const slow = 500_000;
let browser: Browser;
let server: Server;
let receiver: HookReceiver;
let files: FileServer;

beforeAll(async () => {
  const plugin = join(root, 'test/kit/page-plugin.ts');
  [browser, receiver, server, files] = await Promise.all([
    launchBrowser(),
    startHookReceiver(),
    startServer({
      env: {
        MILLRACE_OUTBOUND__ALLOW: '["127.0.0.1/32", "127.0.0.2/32"]',
        MILLRACE_PLUGINS: JSON.stringify({ [plugin]: {} }),
      },
    }),
    startFileServer(small),
    makeFilm(large, { seconds: 24, bitrate: '300k' }).then(() => pad(large, 200_000_000)),
    makeFilm(small, { seconds: 4, bitrate: '300k' }),
  ]);
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  files?.close();
  rmSync(folder, { recursive: true });
});

/** Seconds that the film on a page was played. */
async function plays(page: Page) {
  const video = page.locator('video');
  await video.waitFor();
  // `play()` before it has a source would be in vain.
  await until('a source', () => video.evaluate((element: HTMLVideoElement) => element.readyState > 0), {
    within: 15_000,
  });
  await video.evaluate((element: HTMLVideoElement) => {
    element.muted = true;
    return element.play();
  });
  await until(
    'the film to play',
    () => video.evaluate((element: HTMLVideoElement) => element.currentTime > 0.5),
    {
      within: 15_000,
    },
  );
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

describe.concurrent('the dashboard', () => {
  it('uploads a film with a pause, a reload and a resume, and plays it', async () => {
    await using reader = await openReader(browser, { server });
    const { page } = reader;
    const devtools = await reader.context.newCDPSession(page);
    const limit = (uploadThroughput: number) =>
      devtools.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput },
      });
    await reader.open('/dashboard/assets', 'Assets');
    await limit(slow);
    await page.locator('input[type=file][multiple]').first().setInputFiles(large);
    const dock = page.getByRole('region', { name: 'Uploads' });
    const sent = () => dock.locator('progress').evaluate((bar: HTMLProgressElement) => bar.value);
    await until('some bytes', async () => (await sent()) > 500_000, { within: 15_000 });
    await dock.getByText(/ of 200\.0 MB, .* kB\/s, \d+:\d\d left/).waitFor();
    expect(await reader.violations()).toEqual([]);

    await button(page, /^Pause Long film/).click();
    await dock.getByText(/^Paused/).waitFor();
    const paused = await sent();
    await page.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    await Bun.sleep(500);
    expect(await sent()).toBe(paused);
    await button(page, /^Resume Long film/).click();
    await until('more bytes', async () => (await sent()) > paused + 500_000, { within: 15_000 });

    await page.reload();
    await limit(-1);
    const patch = page.waitForRequest((request) => request.method() === 'PATCH');
    const chooser = page.waitForEvent('filechooser');
    await button(page, 'Choose the same file again to go on').click();
    await (await chooser).setFiles(small);
    await dock.getByText('This is another file. Choose Long film.mp4 as it was.').waitFor();
    const again = page.waitForEvent('filechooser');
    await button(page, 'Choose the same file again to go on').click();
    await (await again).setFiles(large);
    expect(Number((await patch).headers()['upload-offset'])).toBeGreaterThan(500_000);
    await dock.getByText('All files are uploaded').waitFor({ timeout: 60_000 });

    await dock.getByRole('link', { name: 'Long film.mp4' }).click();
    await page.getByRole('heading', { level: 1, name: 'Long film.mp4' }).waitFor();
    await plays(page);
    await page.getByText(hashOf(readFileSync(large))).waitFor();
    expect(await reader.violations()).toEqual([]);
    await button(page, 'Rename').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('A longer film');
    await button(page, 'Save').click();
    await page.getByRole('heading', { level: 1, name: 'A longer film' }).waitFor();
    expect(reader.complaints).toEqual([]);
  });

  it('imports a film, exports it with its progress, deletes it, and undoes that', async () => {
    await using reader = await openReader(browser, { server, theme: 'dark' });
    const { page } = reader;
    await reader.open('/dashboard/assets', 'Assets');
    await button(page, 'Import a URL').click();
    await page.getByRole('dialog').getByLabel('URL').fill(`${files.url}/Imported.mp4`);
    await button(page, 'Import').last().click();
    await page.getByRole('heading', { level: 1, name: 'Imported.mp4' }).waitFor();
    await page.getByRole('heading', { name: 'Embed code' }).waitFor({ timeout: 20_000 });
    const asset = page.url();

    await button(page, 'Export').click();
    await page.getByRole('dialog').getByLabel('URL', { exact: false }).last().fill(`${files.url}/kept.mp4`);
    await button(page, 'Export').last().click();
    await page.getByRole('heading', { level: 1, name: 'Export: Imported.mp4' }).waitFor();
    await page.locator('.state').getByText('Completed').waitFor({ timeout: 20_000 });
    expect(hashOf(files.put.get('/kept.mp4') ?? Buffer.alloc(0))).toBe(hashOf(readFileSync(small)));
    expect(await reader.violations()).toEqual([]);

    await page.goto(asset);
    await button(page, 'Export').click();
    await page.getByRole('radio', { name: 'IPFS' }).check();
    await button(page, 'Export').last().click();
    await page
      .getByText(/ipfs:\/\//)
      .first()
      .waitFor({ timeout: 20_000 });

    await reader.open('/dashboard/tasks?filter.type=export', 'Tasks');
    await page
      .getByRole('row', { name: /Imported\.mp4 export ✓? ?Completed/ })
      .first()
      .waitFor();
    await page.goto(asset);
    await button(page, 'Delete').click();
    await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
    const tile = page.getByRole('link', { name: /Imported\.mp4/ });
    await until('the tile to go', async () => (await tile.count()) === 0, { within: 5000 });
    await button(page, 'Undo').click();
    await tile.first().waitFor();
    await page.goto(asset);
    await button(page, 'Delete').click();
    const id = asset.split('/').at(-1);
    const isGone = async () => (await server.api.request('GET', `/api/asset/${id}`)).status === 404;
    await until('the asset to go', isGone, { within: 15_000 });
    // The task of the import says afterwards what it made.
    expect(reader.complaints).toEqual([]);
  });

  it('makes a webhook, shows what was delivered, resends it, and its code checks the signature', async () => {
    await using reader = await openReader(browser, { server });
    const { page } = reader;
    await reader.open('/dashboard/webhooks', 'Webhooks');
    await button(page, 'Create a webhook').first().click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Name' }).fill('Studio');
    await form.getByLabel('URL').fill(receiver.urls.ok ?? '');
    await form.getByRole('checkbox', { name: 'stream.started' }).check();
    const secret = (await form.locator('.copied code').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    await button(page, 'Create').last().click();
    await page.getByRole('heading', { level: 1, name: 'Studio' }).waitFor();

    await button(page, 'Send a test event').click();
    const delivery = page.getByRole('complementary', { name: 'Delivery' });
    await delivery.getByText('Response 200').waitFor();
    await delivery.getByText('thanks').waitFor();
    const [first] = await until(
      'the delivery',
      () => receiver.received('ok').length > 0 && receiver.received('ok'),
      {
        within: 5000,
      },
    );
    await button(page, 'Resend').click();
    const second = await until('the repeat', () => receiver.received('ok')[1], { within: 5000 });
    expect(second.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    await page.getByText('Delivered: 2 of the last 2 calls').waitFor();
    expect(await reader.violations()).toEqual([]);

    await page.getByRole('link', { name: 'Check the signature' }).click();
    await page.getByText('timingSafeEqual').first().waitFor();
    expect(await reader.violations()).toEqual([]);
    await checkSnippets({ ...second, secret });

    await button(page, 'New secret').click();
    await button(page, 'Make a new secret').click();
    await page.getByRole('heading', { name: 'The new secret' }).waitFor();
    const newer = (await page.getByRole('dialog').locator('.copied code').textContent()) ?? '';
    await button(page, 'Done').click();
    await button(page, 'Send a test event').click();
    const third = await until('the third', () => receiver.received('ok')[2], { within: 5000 });
    // Both sign for 24 h.
    await Promise.all([secret, newer].map((one) => checkSnippets({ ...third, secret: one })));
    expect(reader.complaints).toEqual([]);
  });

  it('makes a key that may read assets, and hides what that key may not do', async () => {
    await using reader = await openReader(browser, { server });
    const { page } = reader;
    await reader.open('/dashboard/keys', 'API keys');
    await button(page, 'Create a key').first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Reader of films');
    await form.getByRole('checkbox', { name: 'get asset, all of it' }).check();
    await form.getByRole('button', { name: /task$/ }).click();
    await form.getByRole('checkbox', { name: 'get task', exact: true }).check();
    await form.getByText('GET: asset, asset/*, task').waitFor();
    await form.getByLabel('Origins').fill('https://studio.example');
    expect(await reader.violations()).toEqual([]);
    await button(page, 'Create').last().click();
    const key = (await page.getByRole('dialog').locator('.copied code').textContent()) ?? '';
    await button(page, 'Done').click();
    await page
      .getByRole('row', { name: /Reader of films .*GET: asset, asset\/\*, task.*studio\.example/ })
      .waitFor();

    await using limited = await openReader(browser, { server, key });
    await limited.open('/dashboard/assets', 'Assets');
    const rail = limited.page.getByRole('navigation', { name: 'Pages' });
    const entries = await rail.getByRole('link').allTextContents();
    expect(entries.map((text) => text.trim())).toEqual(
      expect.arrayContaining(['Assets', 'Tasks', 'Shelf', 'Broken']),
    );
    for (const hidden of ['Streams', 'Webhooks', 'API keys', 'Events', 'System'])
      expect(entries.join()).not.toContain(hidden);
    expect(await button(limited.page, /Upload files|Import a URL/).count()).toBe(0);

    await button(page, 'Delete Reader of films').click();
    await button(page, 'Delete the key').click();
    await until('the key to be refused', () => isRefused(key), { within: 5000 });
    expect(reader.complaints).toEqual([]);
    expect(limited.complaints).toEqual([]);
  });

  it('follows events, shows the system, and what a plugin adds', async () => {
    await using reader = await openReader(browser, { server, theme: 'dark' });
    const { page } = reader;
    await reader.open('/dashboard/events?type=stream.health', 'Events');
    await page.getByRole('combobox', { name: 'Type' }).selectOption('asset.ready');
    const { assetId } = await upload(server, small);
    const row = page.getByRole('link', { name: 'asset.ready' }).last();
    await row.waitFor();
    await row.click();
    await page.getByRole('complementary', { name: 'Event' }).getByText('"event": "asset.ready"').waitFor();
    expect(await reader.violations()).toEqual([]);
    // It happened before this page was opened.
    await page.reload();
    await page.getByRole('complementary', { name: 'Event' }).getByText('"event": "asset.ready"').waitFor();
    await button(page, 'Pause').click();
    await page.getByText('Paused').first().waitFor();

    await page.getByRole('link', { name: 'System' }).click();
    await page.getByText('Disk free, data').waitFor();
    await page
      .getByText(/^[\d.,]+ (GB|TB)$/)
      .first()
      .waitFor();
    expect(await reader.violations()).toEqual([]);
    await page.getByText('A forecast needs readings of an hour').waitFor();
    await page.getByRole('row', { name: /local \(this one\) ✓? ?Alive/ }).waitFor();
    await page.getByRole('link', { name: 'Plugins' }).click();
    await page.getByRole('row', { name: /^pages ✓? ?On adds to the dashboard/ }).waitFor();
    await page.getByRole('link', { name: 'Config' }).click();
    await page.getByRole('searchbox', { name: 'Key' }).fill('bootstrapKey');
    await page.getByRole('row', { name: 'bootstrapKey •••• environment' }).waitFor();
    expect(await page.content()).not.toContain(server.key);
    expect(await reader.violations()).toEqual([]);
    await page.getByRole('link', { name: 'Reactions' }).click();
    await page.getByRole('heading', { name: 'No reaction fails' }).waitFor();

    await page.getByRole('link', { name: 'Shelf' }).click();
    await page.getByText(/\d+ films on the shelf/).waitFor();
    await page.getByRole('link', { name: 'Broken' }).click();
    await page.getByText('Broken failed: the shelf fell down').waitFor();
    await page.getByRole('link', { name: 'Assets' }).click();
    await page.getByRole('link', { name: 'As a table' }).click();
    await page.getByRole('columnheader', { name: 'Shelf mark' }).waitFor();
    expect(await reader.violations()).toEqual([]);
    await reader.open(`/dashboard/asset/${assetId}`, 'A film');
    await page.getByText(`Shelf mark ${assetId}`).waitFor();

    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Search or run a command').waitFor();
    expect(await reader.violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('create an api');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor();
    await reader.open(`/dashboard/asset/${assetId}`, 'A film');
    const { playbackId } = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
    await page.getByRole('checkbox', { name: 'Autoplay' }).check();
    await page.getByRole('checkbox', { name: 'Muted' }).check();
    await page.locator('pre', { hasText: `/embed/${playbackId}?autoplay=1&amp;muted=1"` }).waitFor();
    await page.getByRole('combobox', { name: 'Kind of code' }).selectOption('element');
    await page.getByText(`playback-id="${playbackId}" title="A film" autoplay muted>`).waitFor();
    const preview = page.frameLocator('iframe.preview').locator('video');
    const time = () => preview.evaluate((video: HTMLVideoElement) => video.currentTime);
    await until('the preview to play', async () => (await time()) > 0.3, { within: 20_000 });
    expect(await reader.violations()).toEqual([]);
    const stream = await server.api.createStream({ name: 'On the shelf' });
    await reader.open(`/dashboard/stream/${stream.id}`, 'On the shelf');
    await page.getByText(`Shelf mark ${stream.id}`).waitFor();
    await page.getByRole('link', { name: 'Embed', exact: true }).waitFor();
    expect(reader.complaints).toEqual([]);
  });

  it('fits a phone', async () => {
    await using reader = await openReader(browser, { server, width: 390 });
    const { assetId } = await upload(server, small);
    // The forms of other tests list it: it has none of their labels in it.
    const name = 'The stream that somebody called by far too many words for one evening';
    const spec = { name: 'Elsewhere', url: 'rtmp://live.example.com/app/key' };
    const multistream = { targets: [{ profile: 'source', spec }] };
    const { id } = await server.api.createStream({ name, multistream });
    const own = [
      [`/dashboard/asset/${assetId}`, 'A film'],
      [`/dashboard/go-live?stream=${id}`, 'Go live'],
      [`/dashboard/stream/${id}?tab=targets`, name],
    ] as const;
    for (const [path, title] of [...pages, ...own]) {
      await reader.open(path, title);
      await reader.page.locator('.bone').first().waitFor({ state: 'detached' });
      const width = await reader.page.evaluate(() =>
        Math.max(...['html', '#page', 'nav'].map((part) => document.querySelector(part)?.scrollWidth ?? 0)),
      );
      expect([path, width]).toEqual([path, 390]);
      expect([path, await reader.violations()]).toEqual([path, []]);
    }
    expect(reader.complaints).toEqual([]);
  });
});

const pages = [
  ['/dashboard/assets', 'Assets'],
  ['/dashboard/tasks', 'Tasks'],
  ['/dashboard/webhooks', 'Webhooks'],
  ['/dashboard/events', 'Events'],
  ['/dashboard/keys', 'API keys'],
  ['/dashboard/signing-keys', 'Signing keys'],
  ['/dashboard/usage', 'Usage'],
  ['/dashboard/audit', 'Audit log'],
  ['/dashboard/system', 'System'],
] as const;

async function isRefused(key: string) {
  const answer = await fetch(`${server.url}/api/asset`, { headers: { authorization: `Bearer ${key}` } });
  return answer.status === 401;
}
