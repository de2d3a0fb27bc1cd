import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, openViewer, type Viewer } from './harness/chromium.ts';
import { type Broadcast, broadcast } from './harness/ffmpeg.ts';
import { type HlsConfig, type HlsPage, hlsPage } from './harness/hls-page.ts';
import { readMediaPlaylist } from './harness/playlist.ts';
import { frontOf } from './harness/proxy.ts';
import { type Server, startServer } from './harness/server.ts';
import { lasting, until } from './harness/wait.ts';

/** Pages of plain hls.js, of which nobody takes care: by default, and as the watch page sets it up. */
const configs: HlsConfig[] = ['default', 'watch'];
/** Pictures that a page may have loaded and not shown yet: 4 s. */
const loaded = 120;
let browser: Browser;
let page: HlsPage;
beforeAll(async () => {
  page = hlsPage();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await page?.[Symbol.asyncDispose]();
});

test.concurrent('plain hls.js goes on with an encoder that was away for 3 s', async () => {
  await using server = await startServer();
  const { playlist, dial } = await streamOf(server);
  await using first = dial();
  const viewers = await watch(playlist);
  await first.kill();
  const brokeAt = Date.now();
  await lasting(3000);
  await using second = dial();
  await goOn(viewers, { brokeAt, encoder: second });
  const { text } = await readMediaPlaylist(playlist);
  expect(text).not.toContain('#EXT-X-GAP');
});

test.concurrent('plain hls.js goes on after kill -9 and restart of the server', async () => {
  await using server = await startServer();
  // A busy machine takes longer to start it than the 3 s for which hls.js tries by default.
  await using front = await frontOf(Number(new URL(server.url).port));
  const { playlist, dial } = await streamOf(server);
  await using encoder = dial();
  const viewers = await watch(playlist.replace(server.url, `http://127.0.0.1:${front.port}`));
  await server.kill('SIGKILL');
  const brokeAt = Date.now();
  await server.restart();
  await goOn(viewers, { brokeAt, encoder });
});

async function streamOf(server: Server) {
  const stream = await server.api.createStream({ name: 'returns' });
  return {
    playlist: server.playlistUrl(stream.playbackId),
    dial: () => broadcast(server.ingestUrl(stream.streamKey), { retry: true }),
  };
}

/** A page of each configuration, until it is some seconds into the clip. */
async function watch(playlist: string): Promise<Viewer[]> {
  const isOn = async () => (await fetch(playlist)).status === 200;
  await until('the stream to be on the air', isOn, { within: 20_000 });
  const viewers = await Promise.all(
    configs.map((config) => openViewer(browser, { url: page.url(playlist, { config }), within: 30_000 })),
  );
  for (const viewer of viewers)
    await until('five seconds of the clip', async () => (await last(viewer)) >= 150, { within: 30_000 });
  return viewers;
}

/**
 * New pictures come on show and go on. The encoder begins the clip anew, so that their numbers are lower than those before, or
 * where it took long, higher than those of anything that a page had loaded.
 */
async function goOn(
  viewers: readonly Viewer[],
  { brokeAt, encoder }: { brokeAt: number; encoder: Broadcast },
): Promise<void> {
  for (const [i, viewer] of viewers.entries()) {
    const newOnes = async () => {
      const shown = await viewer.shown();
      const before = shown.findLast(({ at }) => at <= brokeAt)?.number ?? 0;
      const seen = shown.filter(
        ({ at, number }) => at > brokeAt && (number < before || number > before + loaded),
      );
      if (seen.length >= 10) return true;
      throw new Error(`${seen.length} new pictures; ${(await viewer.sample()).notes.join('\n')}`);
    };
    await until(`new pictures with the config ${configs[i]}`, newOnes, { within: 30_000, every: 200 });
    expect(await viewer.sample()).toMatchObject({ fatalErrors: 0, error: null });
    expect(viewer.loads).toBe(1);
    await viewer[Symbol.asyncDispose]();
  }
  expect(encoder.isRunning, encoder.log).toBe(true);
}

async function last(viewer: Viewer): Promise<number> {
  return (await viewer.shown()).at(-1)?.number ?? 0;
}
