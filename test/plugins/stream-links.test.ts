import { expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';
import { recordingWorld } from './recordings/kit.ts';

const plugins = await allPlugins();
const base = 'http://localhost:8080';

it('a stream says where to broadcast to and where to watch, from the first answer on', async () => {
  await using w = await world({ plugins });
  const { body: stream } = await w.request('POST', '/api/stream', { body: { name: 'A' } });
  const { streamKey, playbackId } = stream;
  const server = 'rtmp://localhost:1935/live';
  const links = {
    ingestUrl: `${server}/${streamKey}`,
    ingest: { url: server, key: streamKey },
    playbackUrl: `${base}/hls/${playbackId}/index.m3u8`,
    watchUrl: `${base}/watch/${playbackId}`,
  };
  expect(stream).toMatchObject({ ...links, createdAtMs: w.now() });
  expect(stream.createdAt).toBe(Math.floor(w.now() / 1000));
  expect((await w.request('GET', '/api/stream')).body[0]).toMatchObject(links);
  expect((await w.request('GET', '/api/ingest')).body[0].ingest).toBe(stream.ingest.url);
  // What was read can be sent back, and says the same whatever it said.
  const change = { ...stream, ingestUrl: 'x', ingest: 1, playbackUrl: 2, watchUrl: [], createdAtMs: 'y' };
  expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: change })).status).toBe(204);
  expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toEqual(stream);
  const { body: rotated } = await w.request('POST', `/api/stream/${stream.id}/rotate-key`);
  expect(rotated.ingestUrl).toBe(`${server}/${rotated.streamKey}`);
});

it('the ingest address is the one that /api/ingest names first to the same client', async () => {
  const place = (region: string, cidrs: string[]) => ({
    ...{ region, cidrs, ingest: `rtmp://${region}-rtmp.example.com/live` },
    ...{ playback: `https://${region}.example.com/hls`, base: `https://${region}.example.com` },
  });
  const config = { ingest: { regions: [place('fra', []), place('lop', ['192.0.2.0/24'])] } };
  await using w = await world({ plugins, config });
  const { id, streamKey } = await w.given.stream();
  for (const [peer, region] of [
    ['192.0.2.7', 'lop'],
    ['198.51.100.1', 'fra'],
  ] as const) {
    const { body } = await w.request('GET', `/api/stream/${id}`, { peer });
    expect(body.ingest).toEqual({ url: `rtmp://${region}-rtmp.example.com/live`, key: streamKey });
    expect((await w.request('GET', '/api/ingest', { peer })).body[0].ingest).toBe(body.ingest.url);
  }
});

it('without ingest discovery and the watch page it is this server, and there is no page', async () => {
  await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'ingest' && id !== 'watch') });
  const stream = await w.given.stream();
  expect(stream).toMatchObject({ ingest: { url: 'rtmp://localhost:1935/live', key: stream.streamKey } });
  expect(stream).not.toHaveProperty('watchUrl');
});

it('a session has no ingest, and is played while it is on the air; events have no secret', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream();
  const publish = await w.given.broadcast(stream);
  const session = async () => (await w.request('GET', `/api/session/${publish.grant.sessionId}`)).body;
  const { playbackUrl, watchUrl } = stream;
  expect(await session()).toMatchObject({ playbackUrl, watchUrl });
  for (const name of ['ingestUrl', 'ingest', 'streamKey']) expect(await session()).not.toHaveProperty(name);
  const [started] = await w.events();
  expect(started.stream).toMatchObject({ playbackUrl, createdAtMs: stream.createdAtMs });
  expect(JSON.stringify(started)).not.toContain(stream.streamKey);
  publish.end({ clean: true });
  await w.settle();
  for (const name of ['playbackUrl', 'watchUrl', 'recordingReadyBy'])
    expect(await session()).not.toHaveProperty(name);
});

it('a recorded session says by when its recording is ready, and then plays it', async () => {
  await using w = await recordingWorld({ more: plugins.filter(({ id }) => id === 'watch') });
  const stream = await w.given.stream({ record: true });
  const first = await w.onAir(stream);
  const { sessionId } = first.grant;
  expect(await w.read(sessionId)).not.toHaveProperty('recordingReadyBy');
  first.end({ clean: true });
  await w.settle();
  const { lastSeen, recordingReadyBy } = await w.read(sessionId);
  expect(recordingReadyBy).toBe(lastSeen + (6 + 5) * 60_000);
  await w.advance('1m');
  const second = await w.onAir(stream);
  expect(await w.read(sessionId)).not.toHaveProperty('recordingReadyBy');
  second.end({ clean: true });
  await w.settle();
  const later = (await w.read(sessionId)).recordingReadyBy;
  expect(later).toBeGreaterThan(recordingReadyBy);
  // Terminating closes the window: the recording is finished at once.
  const terminated = w.now();
  await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
  await w.settle();
  const session = await w.read(sessionId);
  expect(session).not.toHaveProperty('recordingReadyBy');
  expect(session).toMatchObject({
    ...{ recordingStatus: 'ready', playbackUrl: session.recordingUrl },
    watchUrl: `${base}/watch/${sessionId}`,
  });
  expect(w.now()).toBe(terminated);
  expect((await w.read(stream.id)).playbackUrl).toBe(stream.playbackUrl);
});
