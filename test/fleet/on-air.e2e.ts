import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { openEvents } from '../e2e/harness/events.ts';
import { broadcast, readHls } from '../e2e/harness/ffmpeg.ts';
import { readMediaPlaylist, statusOf } from '../e2e/harness/playlist.ts';
import { until } from '../e2e/harness/wait.ts';
import { type Key, tokenOf } from '../plugins/protection/kit.ts';
import { lacksEngines, threeNodes } from './three-nodes.ts';

/** Two nodes that decide and answer, and one that takes broadcasts, on the real engines. */
describe.skipIf(await lacksEngines())('three nodes', () => {
  const fleet = threeNodes();
  const on = (id: string) => apiClient(fleet().node(id).url, { key: fleet().key });
  const ingest = (streamKey: string) =>
    `rtmp://127.0.0.1:${fleet().node('media').rtmpPort}/live/${streamKey}`;
  const playlist = (id: string, playbackId: string) => `${fleet().node(id).url}/hls/${playbackId}/index.m3u8`;

  test('made on one, broadcast to another, watched through all, with events in order on each', async () => {
    const events = await Promise.all(
      ['a', 'b'].map((id) => openEvents(fleet().node(id).url, { key: fleet().key })),
    );
    const stream = await on('a').createStream({ name: 'on air' });
    expect((await on('b').getStream(stream.id)).name).toBe('on air');
    const started = events.map((one) =>
      one.expect('stream.started', { within: 30_000, streamId: stream.id }),
    );
    await using encoder = broadcast(ingest(stream.streamKey));
    await Promise.all(started);

    for (const id of ['a', 'b', 'media']) {
      await until(
        `six segments on ${id}`,
        async () => {
          const { segments } = await readMediaPlaylist(playlist(id, stream.playbackId));
          return segments.length >= 6;
        },
        { within: 20_000 },
      );
      const read = await readHls(playlist(id, stream.playbackId), { seconds: 4 });
      expect(read.errors).toEqual([]);
      expect(read.frames).toBeGreaterThanOrEqual(60);
    }
    expect(encoder.isRunning, encoder.log).toBe(true);

    // Through whichever nodes they come, viewers are counted where the media is, each once.
    const media = new URL('source.m3u8', playlist('b', stream.playbackId));
    const watch = async () => {
      await Promise.all(
        ['a', 'b', 'media'].flatMap((id) =>
          Array.from({ length: 20 }, (_, n) =>
            fetch(media.href.replace(fleet().node('b').url, fleet().node(id).url), {
              headers: { 'x-playback-session-id': `viewer-${n}` },
            }).then((answer) => answer.text()),
          ),
        ),
      );
      return (await on('b').getStream(stream.id)).viewerCount ?? 0;
    };
    const counted = await until(
      'twenty viewers',
      async () => {
        const count = await watch();
        return count >= 18 ? count : false;
      },
      { within: 20_000, every: 300 },
    );
    expect(counted).toBeLessThanOrEqual(26);

    const idle = events.map((one) => one.expect('stream.idle', { within: 30_000, streamId: stream.id }));
    await encoder.stop();
    await Promise.all(idle);
    for (const one of events) {
      expect(one.namesOf(stream.id)).toEqual(['stream.started', 'stream.idle']);
      one.close();
    }
    const gone = await until(
      'the end of the playlist',
      async () => {
        const answer = await fetch(playlist('b', stream.playbackId));
        await answer.text();
        return answer.status === 404 && answer;
      },
      { within: 5000 },
    );
    expect(gone.headers.has('retry-after')).toBe(true);
  }, 180_000);

  test('a token opens a private stream at each node, until its key is deleted at one', async () => {
    const key = (await (await on('a').request('POST', '/api/signing-key', {})).json()) as Key;
    const playbackPolicy = { type: 'signed' };
    const { streamKey, playbackId } = await on('a').createStream({ name: 'private', playbackPolicy });
    await using _ = broadcast(ingest(streamKey));
    const exp = Math.floor(key.createdAt / 1000) + 600;
    const query = `?token=${tokenOf(key, { sub: playbackId, exp })}`;
    const nodes = ['b', 'media'];
    // By the URIs of its playlist alone, as a player goes.
    const uris = await Promise.all(
      nodes.map(async (id) => {
        const media = await until(
          `a playlist on ${id}`,
          () => readMediaPlaylist(playlist(id, playbackId) + query),
          { within: 20_000 },
        );
        expect(media.url).not.toContain(query);
        const parts = [...media.text.matchAll(/^#EXT-X-PART:.*URI="([^"]+)"/gm)].map(([, uri = '']) => uri);
        const last = [media.segments.at(-1), parts.at(-1)].map((uri = '') => new URL(uri, media.url).href);
        const files = [media.url, ...last];
        for (const url of files) expect([url, await statusOf(url)]).toEqual([url, 200]);
        const bare = files.map((url) => url.replace(/\?.*/, ''));
        for (const url of [playlist(id, playbackId), ...bare])
          expect([url, await statusOf(url)]).toEqual([url, 403]);
        return media.url;
      }),
    );
    expect((await on('a').request('DELETE', `/api/signing-key/${key.id}`)).status).toBe(204);
    const at = performance.now();
    await Promise.all(
      nodes.map(async (id, n) => {
        for (const url of [uris[n], playlist(id, playbackId) + query])
          await until(`the end on ${id}`, async () => (await statusOf(url)) === 403, { within: 10_000 });
        const seconds = ((performance.now() - at) / 1000).toFixed(1);
        console.log(`signing key deleted on a: viewers on ${id} ended after ${seconds} s (wanted: 5 s)`);
      }),
    );
  }, 90_000);

  test('a node answers nodes alone below /internal/, and a media node no API', async () => {
    const { url } = fleet().node('media');
    expect((await fetch(`${url}/internal/hls/aaaaaaaaaaaaaaaa/source.m3u8`)).status).toBe(401);
    const stranger = { headers: { 'x-millrace-node': 'not the secret of the nodes' } };
    expect((await fetch(`${url}/internal/hls/aaaaaaaaaaaaaaaa/source.m3u8`, stranger)).status).toBe(403);
    expect(await (await fetch(`${url}/api/stream`)).json()).toMatchObject({ code: 'node.no_api' });
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });

  test('what happens to the engines is seen by /health/ready, and nothing tells a secret', async () => {
    const { url } = fleet().node('b');
    const ready = async () => (await fetch(`${url}/health/ready`)).status;
    await until('200', async () => (await ready()) === 200, { within: 20_000 });
    await fleet().redis.freeze();
    try {
      await until('503', async () => (await ready()) === 503, { within: 20_000 });
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
    } finally {
      fleet().redis.thaw();
    }
    await until('200', async () => (await ready()) === 200, { within: 20_000 });
    // It owns no partition: nothing is read there that could be missed.
    const media = async () => {
      const answer = await fetch(`${fleet().node('media').url}/health/ready`);
      const { engines = [] } = (await answer.json()) as { engines?: string[] };
      return { status: answer.status, engines };
    };
    // It looks for itself, and may see it a moment later.
    await until('200 of the media node', async () => (await media()).status === 200, { within: 20_000 });
    await fleet().kafka.freeze();
    try {
      const silent = await until(
        '503',
        async () => {
          const answer = await media();
          return answer.status === 503 && answer;
        },
        { within: 30_000 },
      );
      expect(silent.engines).toEqual(['kafka']);
    } finally {
      fleet().kafka.thaw();
    }
    await until('200', async () => (await media()).status === 200, { within: 30_000 });
    const secrets = JSON.parse(readFileSync(`${fleet().folder}/fleet.json`, 'utf8')) as Record<
      string,
      string
    >;
    for (const node of fleet().nodes) {
      const told = readFileSync(node.logFile, 'utf8') + (await (await fetch(`${node.url}/metrics`)).text());
      for (const secret of [...Object.values(secrets), fleet().s3?.secretAccessKey as string]) {
        expect(told).not.toContain(secret);
      }
    }
  }, 150_000);
});
