import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { broadcast, readHls } from './harness/ffmpeg.ts';
import { statusOf } from './harness/playlist.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** A plugin from outside that decides, with real encoders and viewers. */
const gate = join(root, 'test/kit/gate-plugin.ts');
let server: Server;

beforeAll(async () => {
  server = await startServer({
    env: { MILLRACE_PLUGINS: JSON.stringify({ [gate]: {} }), MILLRACE_DECISIONS__TIMEOUT: '3s' },
  });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const onAir = async (playbackId: string, query = '') =>
  until(
    'it to be on the air',
    async () => (await statusOf(`${server.playlistUrl(playbackId)}${query}`)) === 200,
    {
      within: 20_000,
    },
  );

it('an encoder that is refused ends with the reason', async () => {
  const { id, streamKey } = await server.api.createStream({ name: 'Closed' });
  await using encoder = broadcast(server.ingestUrl(streamKey));
  await encoder.ended({ within: 10_000 });
  expect(encoder.log).toContain('Come back after noon.');
  expect(await server.api.listSessions(id)).toEqual([]);
  expect(server.output).toContain('a plugin refused a broadcast');
  expect(server.output).not.toContain(streamKey);
});

it('a plugin that never answers costs one encoder the time limit, and others nothing', async () => {
  const stuck = await server.api.createStream({ name: 'Stuck' });
  const free = await server.api.createStream({ name: 'Free' });
  await using waiting = broadcast(server.ingestUrl(stuck.streamKey));
  await using encoder = broadcast(server.ingestUrl(free.streamKey));
  await onAir(free.playbackId);
  await waiting.ended({ within: 10_000 });
  expect(waiting.log).toContain('cannot decide at the moment');
  expect((await server.api.getStream(stuck.id)).isActive).toBe(false);
  expect(encoder.isRunning).toBe(true);
  const ready = (await (await fetch(`${server.url}/health/ready`)).json()) as { issues?: string[] };
  expect(ready.issues).toEqual([
    'The plugin gate fails to decide about broadcasts: they are refused. The log says why.',
  ]);
  expect(await readHls(server.playlistUrl(free.playbackId), { seconds: 2 })).toMatchObject({ errors: [] });
});

it('viewers get playlists and parts of a private stream with a token alone', async () => {
  const { playbackId, streamKey } = await server.api.createStream({ name: 'Private' });
  await using _ = broadcast(server.ingestUrl(streamKey));
  await onAir(playbackId, '?token=paid');
  const refused = async (url: string) => {
    const answer = await fetch(url);
    return [answer.status, ((await answer.json()) as { code: string }).code];
  };
  expect(await refused(server.playlistUrl(playbackId))).toEqual([403, 'playback.refused']);
  const index = await (await fetch(`${server.playlistUrl(playbackId)}?token=paid`)).text();
  const [variant = ''] = index.split('\n').filter((line) => line.endsWith('.m3u8'));
  const media = new URL(variant, server.playlistUrl(playbackId)).href;
  expect(await refused(media)).toEqual([403, 'playback.refused']);
  const partIn = async () => {
    const playlist = await (await fetch(`${media}?token=paid`)).text();
    return /#EXT-X-PART:.*URI="([^"]+)"/.exec(playlist)?.[1];
  };
  const uri = await until('a part', partIn, { within: 10_000 });
  const part = new URL(uri, media).href;
  expect(await refused(part)).toEqual([403, 'playback.refused']);
  const answer = await fetch(`${part}?token=paid`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
  expect((await answer.bytes()).length).toBeGreaterThan(1000);
});
