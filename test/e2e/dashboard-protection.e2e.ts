import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { openReader } from './harness/dashboard-reader.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { makeFilm } from './harness/films.ts';
import { type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { until } from './harness/wait.ts';

/** The dashboard: who may watch, signing keys, usage. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-protection-'));
const film = join(folder, 'film.mp4');
const within = 40_000;
let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    launchBrowser(),
    startServer(),
    makeFilm(film, { seconds: 4, bitrate: '300k' }),
  ]);
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const button = (page: Page | Locator, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true });

/** Without the refusals of what the test types wrong, which a browser notes. */
const unasked = (complaints: readonly string[]) => complaints.filter((text) => !/ of 422 /.test(text));

/** Waits for the picture to move. */
function moves(page: Page) {
  const time = () => page.evaluate(() => document.querySelector('video')?.currentTime ?? 0);
  let first: number | undefined;
  const isOn = async () => {
    const now = await time();
    if (now > 0) first ??= now;
    return first !== undefined && now > first + 0.3;
  };
  return until('the picture to move', isOn, { within });
}

/** Runs the example of the page with the private half that it offered, as a server of the reader would. */
async function signedBy(example: string, { playbackId, viewer }: { playbackId: string; viewer: string }) {
  const script = join(folder, 'sign.mjs');
  writeFileSync(script, `${example}\nconsole.log(playbackToken('${playbackId}', '${viewer}'));\n`);
  return (await promisify(execFile)('node', [script], { cwd: folder })).stdout.trim();
}

describe.concurrent('the dashboard', () => {
  it('makes a stream private, plays it, signs and checks a token, and ends playback', async () => {
    const { id, playbackId, streamKey } = await server.api.createStream({ name: 'Board meeting' });
    await using reader = await openReader(browser, { server });
    const { page } = reader;
    const dialog = page.getByRole('dialog');
    await reader.open(`/dashboard/stream/${id}?tab=access`, 'Board meeting');
    await page.getByText('Today it lets a viewer without a token in.').waitFor();
    await page.getByText('Nobody was refused in the last 24 hours.').waitFor();
    await button(page, 'Change').click();
    await dialog.getByRole('radio', { name: 'Signed' }).check();
    await dialog.getByLabel('Pages').fill('https://www.example.com\nnonsense');
    await button(dialog, 'Save').click();
    await dialog.getByLabel('Pages').locator('..').getByText('Line 2: expected an origin').waitFor();
    expect(await reader.violations()).toEqual([]);
    await dialog.getByLabel('Pages').fill('https://www.example.com');
    await dialog.getByLabel('Also players that name no page').check();
    await button(dialog, 'Save').click();
    await page
      .getByText(
        'Viewers need a token of one of your signing keys, and watch from pages of https://www.example.com or from apps.',
      )
      .waitFor();

    const encoder = broadcast(server.ingestUrl(streamKey));
    await moves(page);
    expect(await reader.violations()).toEqual([]);
    expect((await fetch(server.playlistUrl(playbackId))).status).toBe(403);
    await page.getByText('The request has no token.').waitFor();

    await page.getByRole('link', { name: 'Signing keys' }).click();
    await page.getByRole('heading', { name: 'No signing keys yet' }).waitFor();
    expect(await reader.violations()).toEqual([]);
    await button(page, 'Create a signing key').first().click();
    await dialog.getByLabel('Name').fill('Website');
    await button(dialog, 'Create').click();
    const secret = (await dialog.getByLabel('Private half', { exact: true }).textContent()) ?? '';
    expect(secret).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const download = page.waitForEvent('download');
    await button(dialog, /^Download/).click();
    const file = await download;
    await file.saveAs(join(folder, file.suggestedFilename()));
    expect(readFileSync(join(folder, file.suggestedFilename()), 'utf8')).toBe(secret);
    const example = (await dialog.getByLabel('Example', { exact: true }).textContent()) ?? '';
    expect(await reader.violations()).toEqual([]);
    await button(dialog, 'Done').click();
    await page.getByRole('row', { name: /^Website .* ES256/ }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /^Website .* ES256/ }).waitFor();
    expect(await page.content()).not.toContain('PRIVATE KEY');
    expect(unasked(reader.complaints)).toEqual([]);

    const token = await signedBy(example, { playbackId, viewer: 'user-4711' });
    const asked = `${server.playlistUrl(playbackId)}?token=${token}`;
    expect((await fetch(asked)).status).toBe(200);
    await reader.open(`/dashboard/stream/${id}?tab=access`, 'Board meeting');
    const check = async (text: string, verdict: string) => {
      await dialog.getByLabel('Token').fill(text);
      await button(dialog, 'Check').click();
      await dialog.getByRole('status').getByText(verdict).waitFor();
    };
    await button(page, 'Check a token').click();
    await check(token, 'This viewer may watch.');
    await check('nonsense', 'token.malformed');
    await dialog.getByLabel('IP address').fill('nowhere');
    await button(dialog, 'Check').click();
    await dialog.getByText('expected an IP address').waitFor();
    expect(await reader.violations()).toEqual([]);
    await button(dialog, 'Close').click();

    await button(page, 'End playback').click();
    await dialog.getByRole('radio', { name: 'One viewer' }).check();
    await dialog.getByLabel('Viewer', { exact: false }).last().fill('user-4711');
    expect(await reader.violations()).toEqual([]);
    await button(dialog, 'End playback').click();
    await dialog.waitFor({ state: 'detached' });
    await until('the viewer to be refused', async () => (await fetch(asked)).status === 403, { within });
    await moves(page);
    expect(unasked(reader.complaints)).toEqual([]);

    // Everybody: the reader, too, is let in again by a new token.
    await button(page, 'End playback').click();
    await button(dialog, 'End playback').click();
    await dialog.waitFor({ state: 'detached' });
    await until('a refusal', () => reader.complaints.some((text) => text.includes('403')), { within });
    await moves(page);
    await page.getByRole('link', { name: 'Signing keys' }).click();
    await button(page, 'Delete Website').click();
    await button(dialog, 'Delete the signing key').click();
    await page.getByRole('heading', { name: 'No signing keys yet' }).waitFor();
    expect(unasked(reader.complaints).filter((text) => !/ 403 .*\/hls\//.test(text))).toEqual([]);
    await encoder.stop();
  }, 180_000);

  it('shows and plays a private film, and the use of accounts with limits that change', async () => {
    const { assetId } = await upload(server, film);
    await server.api.request('PATCH', `/api/asset/${assetId}`, { playbackPolicy: { type: 'signed' } });
    await using reader = await openReader(browser, { server, theme: 'dark' });
    const { page } = reader;
    const dialog = page.getByRole('dialog');
    await reader.open('/dashboard/assets', 'Assets');
    const still = page.getByRole('link', { name: /A film/ }).locator('img');
    await until('its picture', () => still.evaluate((image: HTMLImageElement) => image.naturalWidth > 0), {
      within,
    });
    expect(await still.getAttribute('src')).toContain('token=');
    await reader.open(`/dashboard/asset/${assetId}`, 'A film');
    await page.getByText('Viewers need a token').first().waitFor();
    const video = page.locator('.film video');
    await until('a source', () => video.evaluate((one: HTMLVideoElement) => one.readyState > 0), { within });
    await video.evaluate((element: HTMLVideoElement) => {
      element.muted = true;
      return element.play();
    });
    await until(
      'the film to play',
      () => video.evaluate((element: HTMLVideoElement) => element.currentTime > 0.5),
      {
        within,
      },
    );
    await page.getByText('Viewers need a token: add ?token=… to the address of the frame.').waitFor();
    await page.getByRole('checkbox', { name: 'Autoplay' }).check();
    await page.getByRole('checkbox', { name: 'Muted' }).check();
    const preview = page.frameLocator('iframe.preview').locator('video');
    const isOn = () => preview.evaluate((element: HTMLVideoElement) => element.currentTime > 0.3);
    await until('the preview to play', isOn, { within });
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download Film' }).click();
    expect(await (await download).failure()).toBeNull();
    expect(await reader.violations()).toEqual([]);

    const account = await (await server.api.request('POST', '/api/account', { name: 'Acme Films' })).json();
    const body = { name: 'theirs', accountId: account.id };
    const { key } = await (await server.api.request('POST', '/api/api-token', body)).json();
    await reader.open('/dashboard/usage', 'Usage');
    await page.getByLabel('Use of this account').getByText('limit: none').first().waitFor();
    expect(await reader.violations()).toEqual([]);
    await button(page, 'Use and limits of Acme Films').click();
    await dialog.getByRole('combobox', { name: 'Limit: Stored' }).selectOption('At most');
    await dialog.getByRole('spinbutton', { name: 'Stored, at most, GB' }).fill('2.5');
    expect(await reader.violations()).toEqual([]);
    await button(dialog, 'Save').click();
    await page.getByRole('row', { name: /Acme Films .*Stored: 2\.5 GB/ }).waitFor();
    await button(page, 'Who may watch of Acme Films').click();
    await dialog.getByRole('radio', { name: 'Signed' }).check();
    await button(dialog, 'Save').click();
    await page.getByRole('row', { name: /Acme Films .*Signed/ }).waitFor();

    await using theirs = await openReader(browser, { server, key });
    await theirs.open('/dashboard/usage', 'Usage');
    await theirs.page.getByText(/of 2\.5 GB/).waitFor();
    expect(await theirs.page.getByRole('heading', { name: 'Accounts' }).count()).toBe(0);
    const made = await fetch(`${server.url}/api/stream`, {
      ...{ method: 'POST', body: JSON.stringify({ name: 'Theirs' }) },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    const { id } = await made.json();
    await theirs.open(`/dashboard/stream/${id}?tab=access`, 'Theirs');
    await theirs.page.getByText('Today it refuses a viewer without a token').waitFor();
    expect([reader.complaints, theirs.complaints]).toEqual([[], []]);
  }, 180_000);
});
