import { expect, it } from 'vitest';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { put } from '../uploads/kit.ts';
import { clientOf, muxWorld, watch } from './kit.ts';

const assets = '/video/v1/assets';
const uploads = '/video/v1/uploads';

async function uploaded() {
  const w = await muxWorld();
  const mux = await clientOf(w);
  const settings = {
    playback_policies: ['public'],
    passthrough: 'mine',
    meta: { title: 'Film', creator_id: 'me' },
  };
  const asked = await mux('POST', uploads, {
    cors_origin: 'https://x.example.com',
    new_asset_settings: settings,
  });
  return { w, mux, settings, asked, upload: asked.body.data };
}

it('takes direct uploads: waiting, then an asset', async () => {
  const { w, mux, settings, asked, upload } = await uploaded();
  await using _ = w;
  expect(asked.status).toBe(201);
  const { id, url } = upload;
  const waiting = { id, status: 'waiting', timeout: 43_200, cors_origin: 'https://x.example.com' };
  expect(upload).toEqual({ ...waiting, url, new_asset_settings: settings });
  expect((await mux('GET', `${uploads}/${id}`)).body.data).toEqual({
    ...waiting,
    new_asset_settings: settings,
  });
  expect((await put(w, url)).status).toBe(200);
  const after = (await mux('GET', `${uploads}/${id}`)).body.data;
  expect(after).toMatchObject({ status: 'asset_created', asset_id: expect.any(String) });
  const { body } = await mux('GET', `${assets}/${after.asset_id}`);
  expect(body.data).toMatchObject({
    ...{ id: after.asset_id, status: 'ready', progress: { state: 'completed', progress: 100 } },
    ...{ passthrough: 'mine', meta: settings.meta, upload_id: id, ingest_type: 'on_demand_direct_upload' },
    ...{ encoding_tier: 'smart', master_access: 'none', max_resolution_tier: '2160p' },
    playback_ids: [{ id: expect.any(String), policy: 'public' }],
    duration: expect.any(Number),
  });
  expect(JSON.stringify(body)).not.toContain('null');
  expect((await mux('GET', `${assets}?upload_id=${id}`)).body.data).toEqual([body.data]);
  const [{ id: playbackId }] = body.data.playback_ids;
  const played = await watch(w, `${playbackId}.m3u8`);
  expect([played.status, played.headers.get('location')]).toEqual([
    302,
    `http://localhost:8080/asset/${playbackId}/index.m3u8`,
  ]);
  expect(played.headers.get('access-control-allow-origin')).toBe('*');
  const file = await watch(w, `${playbackId}/high.mp4`);
  expect(file.headers.get('location')).toBe(`http://localhost:8080/asset/${playbackId}/source.mp4`);
  const [info] = (await mux('GET', `${assets}/${after.asset_id}/input-info`)).body.data;
  expect(info.file.tracks.length).toBeGreaterThan(0);
  const access = await mux('PUT', `${assets}/${after.asset_id}/master-access`, {
    master_access: 'temporary',
  });
  expect(access.body.data).toMatchObject({
    master_access: 'temporary',
    master: { status: 'ready', url: expect.stringContaining('token=') },
  });
  const changed = await mux('PATCH', `${assets}/${after.asset_id}`, {
    passthrough: 'other',
    meta: { title: 'New' },
  });
  expect(changed.body.data).toMatchObject({ passthrough: 'other', meta: { title: 'New', creator_id: 'me' } });
  expect((await mux('PUT', `${uploads}/${id}/cancel`)).status).toBe(409);
  expect((await mux('DELETE', `${assets}/${after.asset_id}`)).status).toBe(204);
  expect((await mux('GET', `${assets}/${after.asset_id}`)).status).toBe(404);
  await w.advance('11s');
  expect((await watch(w, `${playbackId}.m3u8`)).status).toBe(404);
});

it('cancels direct uploads, and lists them', async () => {
  const { w, mux, upload } = await uploaded();
  await using _ = w;
  const cancelled = await mux('PUT', `${uploads}/${upload.id}/cancel`);
  expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'cancelled']);
  expect((await mux('GET', uploads)).body.data).toEqual([cancelled.body.data]);
  expect((await mux('GET', `${uploads}?page=2`)).body.data).toEqual([]);
  const other = await clientOf(w, { accountId: (await anotherAccount(w)).id });
  expect((await other('GET', `${uploads}/${upload.id}`)).status).toBe(404);
  expect((await other('PUT', `${uploads}/${upload.id}/cancel`)).status).toBe(404);
});

it('makes assets of URLs, and pages by cursor', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  const url = 'https://films.example.com/a.mp4';
  const made = await mux('POST', assets, {
    input: [{ url }],
    playback_policy: ['signed', 'public'],
    test: true,
  });
  expect(made).toMatchObject({
    status: 201,
    body: {
      data: {
        ...{ status: 'preparing', progress: { state: 'ingesting', progress: 0 }, test: true },
        ...{ ingest_type: 'on_demand_url', playback_ids: [{ policy: 'signed' }, { policy: 'public' }] },
      },
    },
  });
  await w.advance('1s');
  await mux('POST', assets, { inputs: [{ url }], passthrough: 'second' });
  const first = (await mux('GET', `${assets}?limit=1`)).body;
  expect([first.data.length, first.data[0].passthrough]).toEqual([1, 'second']);
  const next = (await mux('GET', `${assets}?limit=1&cursor=${first.next_cursor}`)).body;
  expect([next.data.map(({ id }: { id: string }) => id), next.next_cursor]).toEqual([
    [made.body.data.id],
    undefined,
  ]);
  // Without a policy it has no playback id, and nobody can watch it.
  expect(first.data[0].playback_ids).toEqual([]);
  expect((await w.request('GET', `/api/asset/${first.data[0].id}`)).body.playbackPolicy).toEqual({
    type: 'signed',
  });
  for (const [status, body] of [
    [400, { input: [] }],
    [400, { input: [{ url }, { url, type: 'text' }] }],
    [400, { input: [{ url, start_time: 3 }] }],
    [400, { input: [{ url }], playback_policy: ['drm'] }],
    [422, { input: [{ url: 'ftp://films.example.com/a.mp4' }] }],
    [422, { input: [{ url }], whatever: true }],
  ] as const) {
    const { status: got, body: answer } = await mux('POST', assets, body);
    expect([body, got, answer.error.type]).toEqual([body, status, 'invalid_parameters']);
  }
  for (const cursor of ['x', '', `${first.next_cursor}x`, '%00', 'x'.repeat(9000)]) {
    const { status } = await mux('GET', `${assets}?cursor=${cursor}`);
    expect([cursor.slice(0, 20), status]).toEqual([cursor.slice(0, 20), cursor === '' ? 200 : 400]);
  }
  expect(w.lines.filter((line) => line.includes('request failed'))).toEqual([]);
});
