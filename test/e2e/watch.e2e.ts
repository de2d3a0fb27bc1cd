import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from './harness/chromium.ts';
import { encode } from './harness/encoders.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { until } from './harness/wait.ts';

/** The watch page, in words and pictures: what it shows of live streams, recordings, assets and unknown ids. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-watch-'));
/** Set to a folder to look at what the pages showed. */
const shots = process.env.MILLRACE_SCREENSHOTS;
let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    launchBrowser(),
    // However late a page on a busy machine notices that the encoder is gone, the broadcast is still held.
    startServer({ env: { MILLRACE_PLUGINS__STREAMS__HOLD: '2m' } }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** A tab on the page of an id. */
async function watching(id: string) {
  const page = await browser.newPage({ viewport: { width: 960, height: 640 } });
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  // A browser also notes each 404 there, which the page asks for on purpose.
  page.on('console', (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  await page.goto(`${server.url}/watch/${id}`);
  return {
    page,
    complaints,
    says: (words: string) =>
      until(`"${words}"`, async () => (await wordsOf(page)).includes(words) || wrong(await wordsOf(page)), {
        within: 30_000,
        every: 100,
      }),
    /** Until this much of it was shown. */
    plays: (seconds: number) =>
      until(`${seconds} s of it`, async () => (await playedOf(page)) > seconds, {
        within: 30_000,
        every: 100,
      }),
    shoot: (name: string) => (shots ? page.screenshot({ path: join(shots, `${name}.png`) }) : undefined),
    [Symbol.asyncDispose]: () => page.close(),
  };
}

async function wordsOf(page: Page): Promise<string> {
  const link = (await page.isVisible('#recording')) ? ` ${await page.textContent('#recording')}` : '';
  return `${await page.textContent('#message')}${link}`;
}
const playedOf = (page: Page) =>
  page.evaluate(() => {
    const { played } = document.querySelector('video') as HTMLVideoElement;
    return Array.from({ length: played.length }, (_, i) => played.end(i) - played.start(i)).reduce(
      (sum, length) => sum + length,
      0,
    );
  });
function wrong(words: string): never {
  throw new Error(`the page says "${words}"`);
}

describe.concurrent('the watch page', () => {
  it('waits for a broadcast, shows it, says that it dropped and that it is over, and leads to its recording', async () => {
    const stream = await server.api.createStream({ name: 'Watched', record: true });
    await using tab = await watching(stream.playbackId);
    await tab.says('Not on the air yet. This page starts by itself.');
    await tab.shoot('upcoming');
    const encoder = broadcast(server.ingestUrl(stream.streamKey));
    await tab.plays(3);
    await tab.shoot('live');
    await encoder.kill();
    await tab.says("The broadcaster's connection dropped. Waiting …");
    await tab.shoot('dropped');
    await server.api.request('DELETE', `/api/stream/${stream.id}/terminate`);
    await tab.says('The broadcast is over. Watch the recording');
    await tab.shoot('recorded');
    await tab.page.click('text=Watch the recording');
    await tab.plays(1);
    await tab.shoot('recording');
    expect(await tab.page.isVisible('#live')).toBe(false);
    expect(tab.complaints).toEqual([]);
  });

  it('waits for the file of an asset and plays it, with the controls of a film', async () => {
    const made = join(folder, 'clip.mp4');
    await encode(['-i', join(root, 'demo/clip.flv'), '-t', '6', '-c', 'copy', made]);
    const asked = await server.api.request('POST', '/api/asset/request-upload', { name: 'Film' });
    const { url, asset } = await asked.json();
    await using tab = await watching(asset.playbackId);
    await tab.says('This video is not ready yet. This page starts by itself.');
    await tab.shoot('waiting');
    expect((await fetch(url, { method: 'PUT', body: Bun.file(made) })).status).toBe(200);
    await tab.plays(1);
    await tab.shoot('asset');
    const film = await tab.page.evaluate(() => {
      const { duration, controls } = document.querySelector('video') as HTMLVideoElement;
      return { duration, controls };
    });
    expect(film.controls).toBe(true);
    expect(film.duration).toBeCloseTo(6, 0);
    expect(tab.complaints).toEqual([]);
  });

  it('says that an asset failed, and that there is nothing under an id', async () => {
    const file = join(folder, 'no-film.mp4');
    await Bun.write(file, 'no film');
    const { status, assetId } = await upload(server, file);
    expect(status).toBe(422);
    const { playbackId } = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
    for (const [id, words] of [
      [playbackId, 'This video could not be prepared.'],
      ['0123456789abcdef', 'There is no video at this address. Check the link.'],
    ]) {
      await using tab = await watching(id);
      await tab.says(words);
      await tab.shoot(id === playbackId ? 'failed' : 'unknown');
      expect(tab.complaints).toEqual([]);
    }
  });
});
