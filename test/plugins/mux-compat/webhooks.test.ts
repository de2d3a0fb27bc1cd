import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { put } from '../uploads/kit.ts';
import { clientOf, muxWorld } from './kit.ts';

const hooks = '/system/v1/webhooks';
const address = 'https://hooks.example.com/mux';

async function hooked() {
  const w = await muxWorld();
  w.outbound.answer(address, () => ({}));
  const mux = await clientOf(w);
  const made = (await mux('POST', hooks, { address })).body.data;
  const sent = () =>
    w.outbound.sent.map(({ request }) => ({
      text: String(request.body),
      headers: request.headers,
      ...JSON.parse(String(request.body)),
    }));
  return { w, mux, made, sent };
}

it('creates, shows, changes and deletes webhooks; the secret is shown once', async () => {
  const { w, mux, made } = await hooked();
  await using _ = w;
  const { signing_secret: secret, ...shown } = made;
  expect(shown).toEqual({
    id: made.id,
    address,
    enabled: true,
    created_at: String(Math.floor(w.now() / 1000)),
  });
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect((await mux('GET', `${hooks}/${made.id}`)).body.data).toEqual(shown);
  expect((await mux('GET', hooks)).body.data).toEqual([shown]);
  const other = 'https://hooks.example.com/other';
  expect((await mux('PATCH', `${hooks}/${made.id}`, { address: other })).body.data.address).toBe(other);
  expect((await mux('PATCH', `${hooks}/${made.id}`, { enabled: false })).status).toBe(400);
  expect((await mux('POST', hooks, { address: 'ftp://hooks.example.com/x' })).status).toBe(422);
  const { body: native } = await w.request('POST', '/api/webhook', {
    body: { name: 'W', url: address, events: ['stream.idle'] },
  });
  expect((await mux('DELETE', `${hooks}/${native.id}`)).status).toBe(404);
  expect((await mux('DELETE', `${hooks}/${made.id}`)).status).toBe(204);
  expect((await mux('GET', hooks)).body.data).toEqual([]);
});

it('tells of a broadcast: connected, recording, active, disconnected, idle, and of its asset', async () => {
  const { w, mux, made, sent } = await hooked();
  await using _ = w;
  const { data: stream } = (
    await mux('POST', '/video/v1/live-streams', { playback_policy: ['public'], passthrough: 'p' })
  ).body;
  const publish = await w.media.publish(stream.stream_key, { app: 'app' });
  publish.playable();
  await w.settle();
  const { data: active } = (await mux('GET', `/video/v1/live-streams/${stream.id}`)).body;
  expect(active).toMatchObject({
    status: 'active',
    active_asset_id: expect.any(String),
    recent_asset_ids: [active.active_asset_id],
  });
  const live = (await mux('GET', `/video/v1/assets/${active.active_asset_id}`)).body.data;
  expect(live).toMatchObject({
    is_live: true,
    live_stream_id: stream.id,
    progress: { state: 'live', progress: -1 },
  });
  publish.end({ clean: true });
  await w.settle();
  // Events of a stream come in their order; those of its asset beside them.
  const [asset] = sent().filter(({ object }) => object.type === 'asset');
  const ofStream = sent().filter(({ object }) => object.type === 'live');
  expect(ofStream.map(({ type }) => type)).toEqual([
    'video.live_stream.created',
    'video.live_stream.connected',
    'video.live_stream.recording',
    'video.live_stream.active',
    'video.live_stream.disconnected',
    'video.live_stream.idle',
  ]);
  const [, connected, , on, , idle] = ofStream;
  const { stream_key: _key, ...shown } = stream;
  expect(connected).toMatchObject({
    ...{ object: { type: 'live', id: stream.id }, attempts: [], environment: { name: 'Production' } },
    created_at: new Date(w.now()).toISOString(),
    data: {
      ...shown,
      created_at: Number(stream.created_at),
      status: 'active',
      active_asset_id: active.active_asset_id,
    },
  });
  expect(asset).toMatchObject({
    type: 'video.asset.created',
    object: { type: 'asset', id: active.active_asset_id },
    data: { is_live: true },
  });
  expect([on.data.status, idle.data.status]).toEqual(['active', 'idle']);
  const seconds = Math.floor(w.now() / 1000);
  const v1 = createHmac('sha256', made.signing_secret).update(`${seconds}.${idle.text}`).digest('hex');
  expect(idle.headers['mux-signature']).toBe(`t=${seconds},v1=${v1}`);
  const all = JSON.stringify([sent(), w.lines]);
  expect([all.includes(stream.stream_key), all.includes('null')]).toEqual([false, false]);
});

it('tells of uploads and assets', async () => {
  const { w, mux, sent } = await hooked();
  await using _ = w;
  const { data: upload } = (
    await mux('POST', '/video/v1/uploads', { new_asset_settings: { playback_policy: ['public'] } })
  ).body;
  await put(w, upload.url);
  const { asset_id: id } = (await mux('GET', `/video/v1/uploads/${upload.id}`)).body.data;
  await mux('PATCH', `/video/v1/assets/${id}`, { passthrough: 'x' });
  await mux('DELETE', `/video/v1/assets/${id}`);
  const { data: second } = (await mux('POST', '/video/v1/uploads', {})).body;
  await mux('PUT', `/video/v1/uploads/${second.id}/cancel`);
  await w.advance('1s');
  expect(sent().map(({ type, object }) => [type, object.type, object.id])).toEqual([
    ['video.upload.created', 'upload', upload.id],
    ['video.upload.asset_created', 'upload', upload.id],
    ['video.asset.created', 'asset', id],
    ['video.asset.ready', 'asset', id],
    ['video.asset.updated', 'asset', id],
    ['video.asset.deleted', 'asset', id],
    ['video.upload.created', 'upload', second.id],
    ['video.upload.cancelled', 'upload', second.id],
  ]);
});

it('writes no events for accounts without a webhook of Mux', async () => {
  await using w = await muxWorld();
  await w.given.broadcast(await w.given.stream({ record: true }));
  expect((await w.events()).filter(({ event }) => event.startsWith('mux-compat.'))).toEqual([]);
});
