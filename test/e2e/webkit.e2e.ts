import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encode } from './harness/encoders.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { upload } from './harness/uploads.ts';
import { lasting, until } from './harness/wait.ts';
import { hasWebKit, launchWebKit, type WebKit } from './harness/webkit.ts';

describe.skipIf(!hasWebKit())('a browser that plays HLS itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-webkit-'));
  let server: Server;
  let webkit: WebKit;

  beforeAll(async () => {
    [server, webkit] = await Promise.all([startServer({ env: { MILLRACE_PLUGINS__PROTECTION: 'false' } }), launchWebKit()]);
  });
  afterAll(async () => {
    await webkit?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it('plays live and a film, from the URL alone', async () => {
    const { streamKey, playbackId } = await server.api.createStream({ name: 'Live' });
    await using _ = broadcast(server.ingestUrl(streamKey));
    const film = join(folder, 'film.mp4');
    await encode(['-i', join(root, 'demo/clip.flv'), '-c', 'copy', film]);
    const { assetId } = await upload(server, film);
    const asset = await (await server.api.request('GET', `/api/asset/${assetId}`)).json();
    const urls = [playbackId, asset.playbackId].map(server.playlistUrl);
    for (const url of urls) await until(url, async () => (await fetch(url)).ok, { within: 20_000 });

    const videos = await webkit.play(urls);
    await Promise.all(
      videos.map(async (video) => {
        await video.watch(1, { within: 30_000 });
        const first = await video.frameNumber();
        await lasting(1000);
        await video.watch(1, { within: 20_000 });
        const second = await video.frameNumber();
        expect([first, second]).not.toContain(null);
        expect(second).not.toBe(first);
        expect(await video.sample()).toMatchObject({ width: 1280, error: null });
      }),
    );
  });
});
