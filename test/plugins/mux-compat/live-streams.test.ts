import { expect, it } from 'vitest';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { ask } from '../../kit/dialect.ts';
import { clientOf, muxWorld, watch } from './kit.ts';

const streams = '/video/v1/live-streams';

it('creates, shows, lists, changes and deletes live streams', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  const made = await mux('POST', streams, {
    playback_policy: ['public'],
    passthrough: 'mine',
    meta: { title: 'Friday' },
    reconnect_window: 60,
    new_asset_settings: { playback_policies: ['signed'], passthrough: 'of the asset' },
  });
  expect(made.status).toBe(201);
  const { data } = made.body;
  const { id, playback_ids: ids } = data;
  expect(data).toEqual({
    ...{ id, created_at: String(Math.floor(w.now() / 1000)), status: 'idle', latency_mode: 'low' },
    ...{
      max_continuous_duration: 43_200,
      reconnect_window: 60,
      passthrough: 'mine',
      meta: { title: 'Friday' },
    },
    stream_key: expect.stringMatching(/^[0-9a-z-]{19}$/),
    playback_ids: [{ id: expect.any(String), policy: 'public' }],
    new_asset_settings: { playback_policies: ['signed'], passthrough: 'of the asset' },
  });
  expect((await mux('GET', `${streams}/${id}`)).body.data).toEqual(data);
  expect((await mux('GET', streams)).body).toEqual({ data: [data] });
  const changed = await mux('PATCH', `${streams}/${id}`, { passthrough: 'other', meta: { title: 'Monday' } });
  expect(changed.body.data).toMatchObject({ passthrough: 'other', playback_ids: ids, reconnect_window: 60 });
  expect((await w.request('GET', `/api/stream/${id}`)).body.name).toBe('Monday');
  const reset = await mux('POST', `${streams}/${id}/reset-stream-key`);
  expect(reset.body.data.stream_key).not.toBe(data.stream_key);
  expect((await mux('DELETE', `${streams}/${id}`)).status).toBe(204);
  expect((await mux('GET', `${streams}/${id}`)).body.error).toMatchObject({ type: 'not_found' });
});

it('pages by number until a page is empty, and filters by status', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  for (let n = 0; n < 5; n += 1) {
    await mux('POST', streams, { passthrough: String(n) });
    await w.advance('1s');
  }
  const page = async (query: string) =>
    (await mux('GET', `${streams}?${query}`)).body.data.map(
      (one: { passthrough: string }) => one.passthrough,
    );
  expect([await page('limit=2'), await page('limit=2&page=2'), await page('limit=2&page=3')]).toEqual([
    ['4', '3'],
    ['2', '1'],
    ['0'],
  ]);
  expect(await page('limit=2&page=4')).toEqual([]);
  const [{ id }] = (await mux('GET', streams)).body.data;
  expect((await mux('PUT', `${streams}/${id}/disable`)).status).toBe(204);
  expect([
    await page('status=disabled'),
    (await page('status=idle')).length,
    await page('status=active'),
  ]).toEqual([['4'], 4, []]);
  expect((await mux('PUT', `${streams}/${id}/enable`)).status).toBe(204);
  expect(await page('status=disabled')).toEqual([]);
});

it('refuses wrong keys, pages, bodies and ids of others in the form of Mux', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  const other = await clientOf(w, { accountId: (await anotherAccount(w)).id });
  const { id } = (await mux('POST', streams, {})).body.data;
  const problem = async (client: typeof mux, ...[method, path, body]: Parameters<typeof mux>) => {
    const { status, body: answer } = await client(method, path, body);
    expect(answer.error.messages.length).toBeGreaterThan(0);
    return [status, answer.error.type];
  };
  for (const [method, path] of [
    ['GET', `${streams}/${id}`],
    ['DELETE', `${streams}/${id}`],
    ['PUT', `${streams}/${id}/complete`],
    ['PUT', `${streams}/${id}/disable`],
    ['POST', `${streams}/${id}/reset-stream-key`],
    ['GET', `${streams}/..%2F..%2Fasset`],
    ['GET', `${streams}/%00`],
  ] as const)
    expect([path, await problem(other, method, path)]).toEqual([path, [404, 'not_found']]);
  for (const query of [
    'limit=0',
    'limit=101',
    'page=0',
    'page=x',
    'limit=100&page=101',
    'page=1e9',
    'status=x',
    'stream_key=a',
  ])
    expect([query, await problem(mux, 'GET', `${streams}?${query}`)]).toEqual([
      query,
      [400, 'invalid_parameters'],
    ]);
  expect(await problem(mux, 'POST', streams, '{')).toEqual([400, 'invalid_parameters']);
  expect(await problem(mux, 'POST', streams, { nothing: 1 })).toEqual([422, 'invalid_parameters']);
  expect(await problem(mux, 'POST', streams, { playback_policy: ['drm'] })).toEqual([
    400,
    'invalid_parameters',
  ]);
  expect(await problem(mux, 'POST', streams, { passthrough: 'x'.repeat(256) })).toEqual([
    422,
    'invalid_parameters',
  ]);
  const many = { playback_policy: Array(21).fill('public') };
  expect(await problem(mux, 'POST', streams, many)).toEqual([422, 'invalid_parameters']);
  const none = await watch(w, `video/v1/live-streams`);
  expect([none.status, none.headers.get('www-authenticate'), none.body.error.type]).toEqual([
    401,
    'Basic',
    'unauthorized',
  ]);
  const broken = [
    'Basic',
    'Basic !',
    'Basic Og==',
    `Bearer ${mux.header.slice(6)}`,
    `${mux.header}x`,
    `${mux.header} x`,
  ];
  for (const authorization of broken) {
    const { status, body } = await ask(w, `/mux${streams}`, { headers: { authorization } });
    expect([authorization, status, body.error.type]).toEqual([authorization, 401, 'unauthorized']);
  }
  expect((await watch(w, 'video/v1/nothing/at/all')).body.error.type).toBe('not_found');
  expect(w.lines.filter((line) => line.includes('request failed'))).toEqual([]);
});

it('asks the access rules of the key for what it does', async () => {
  await using w = await muxWorld();
  const all = await clientOf(w);
  const { id } = (await all('POST', streams, { playback_policy: ['public'] })).body.data;
  const reader = await clientOf(w, {
    access: { rules: [{ resources: ['stream', 'stream/:id', 'stream/:id/sessions'], methods: ['get'] }] },
  });
  const read = await reader('GET', `${streams}/${id}`);
  expect([read.status, read.body.data.stream_key]).toEqual([200, undefined]);
  for (const [method, path] of [
    ['POST', streams],
    ['DELETE', `${streams}/${id}`],
    ['PUT', `${streams}/${id}/disable`],
    ['POST', `${streams}/${id}/playback-ids`],
    ['GET', '/video/v1/assets'],
    ['POST', '/system/v1/signing-keys'],
    ['POST', '/video/v1/playback-restrictions'],
    ['GET', '/system/v1/webhooks'],
  ] as const)
    expect([path, (await reader(method, path, method === 'POST' ? {} : undefined)).status]).toEqual([
      path,
      403,
    ]);
});

it('has playback ids: public and signed, with a policy that follows them', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  const { id, playback_ids: ids } = (await mux('POST', streams, { playback_policy: ['signed'] })).body.data;
  const policy = async () => (await w.request('GET', `/api/stream/${id}`)).body.playbackPolicy;
  expect(await policy()).toEqual({ type: 'signed' });
  const added = await mux('POST', `${streams}/${id}/playback-ids`, { policy: 'public' });
  expect(added).toMatchObject({
    status: 201,
    body: { data: { policy: 'public', id: expect.stringMatching(/^[a-z0-9]{24}$/) } },
  });
  expect(await policy()).toEqual({ type: 'public' });
  const open = added.body.data.id;
  expect((await mux('GET', `/video/v1/playback-ids/${open}`)).body).toEqual({
    data: { id: open, policy: 'public', object: { id, type: 'live_stream' } },
  });
  const statuses = async () => [
    (await watch(w, `${open}.m3u8`)).status,
    (await watch(w, `${ids[0].id}.m3u8`)).status,
    (await watch(w, 'nothing.m3u8')).status,
  ];
  expect(await statuses()).toEqual([412, 403, 404]);
  const native = (await w.request('GET', `/api/stream/${id}`)).body;
  await w.given.broadcast(native);
  await w.advance('11s');
  expect(await statuses()).toEqual([302, 403, 404]);
  expect((await watch(w, `${open}.m3u8`)).headers.get('location')).toBe(
    `http://localhost:8080/hls/${native.playbackId}/index.m3u8`,
  );
  expect((await mux('DELETE', `${streams}/${id}/playback-ids/${open}`)).status).toBe(204);
  expect(await policy()).toEqual({ type: 'signed' });
  await w.advance('11s');
  expect((await watch(w, `${open}.m3u8`)).status).toBe(404);
  expect((await mux('GET', `/video/v1/playback-ids/${open}`)).status).toBe(404);
  const other = await clientOf(w, { accountId: (await anotherAccount(w)).id });
  expect((await other('GET', `/video/v1/playback-ids/${ids[0].id}`)).status).toBe(404);
  for (let n = 1; n < 20; n += 1)
    expect((await mux('POST', `${streams}/${id}/playback-ids`, {})).status).toBe(201);
  expect((await mux('POST', `${streams}/${id}/playback-ids`, {})).status).toBe(400);
});

it('has simulcast targets, without their keys', async () => {
  await using w = await muxWorld();
  const mux = await clientOf(w);
  const first = { url: 'rtmp://push.example.com/app', stream_key: 'secret-one', passthrough: 'a' };
  const made = (await mux('POST', streams, { simulcast_targets: [first] })).body.data;
  expect(made.simulcast_targets).toEqual([
    { id: expect.any(String), url: first.url, status: 'idle', passthrough: 'a' },
  ]);
  const path = `${streams}/${made.id}/simulcast-targets`;
  const second = await mux('POST', path, { url: 'rtmps://other.example.com/app/', stream_key: 'secret-two' });
  expect(second).toMatchObject({
    status: 201,
    body: { data: { status: 'idle', url: 'rtmps://other.example.com/app/' } },
  });
  const { id } = second.body.data;
  expect((await mux('GET', `${path}/${id}`)).body.data).toEqual(second.body.data);
  expect((await mux('POST', path, { url: 'https://x.example.com' })).status).toBe(400);
  expect((await mux('DELETE', `${path}/${id}`)).status).toBe(204);
  expect((await mux('GET', `${path}/${id}`)).status).toBe(404);
  const shown = await mux('GET', `${streams}/${made.id}`);
  expect(shown.body.data.simulcast_targets).toEqual(made.simulcast_targets);
  expect(JSON.stringify([shown.body, w.lines])).not.toContain('secret-one');
});

it('has host names for playlists and pictures', async () => {
  const config = {
    'mux-compat': { path: '/api-of/mux', streamHost: 'stream.example.com', imageHost: 'image.example.com' },
  };
  await using w = await muxWorld({ config });
  const stream = await w.given.stream();
  const at = (host: string, path: string) => ask(w, path, { headers: { host } });
  expect((await at('stream.example.com', `/${stream.playbackId}.m3u8`)).status).toBe(412);
  await w.given.broadcast(stream);
  const playlist = await at('stream.example.com', `/${stream.playbackId}.m3u8`);
  expect([playlist.status, playlist.headers.get('location')]).toEqual([
    302,
    `http://localhost:8080/hls/${stream.playbackId}/index.m3u8`,
  ]);
  const picture = await at('image.example.com', `/${stream.playbackId}/thumbnail.jpg`);
  expect(picture.headers.get('location')).toContain(`/hls/${stream.playbackId}/thumbnail.jpg`);
  expect((await at('localhost:8080', `/mux/${stream.playbackId}.m3u8`)).status).toBe(404);
});
