import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import { definePlugin, offer, type Plugin, playbackAliases, uuid } from '../../sdk/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { ask, basic, plugins, secret, tiny, tinyWorld, url } from '../kit/dialect.ts';
import dialect from '../kit/dialect-plugin.ts';
import { type World, world } from '../kit/world.ts';

it('speaks another API: paths, hosts, keys, errors, webhooks, names and RTMP in one go', async () => {
  await using w = await tinyWorld();
  w.outbound.answer(url, () => ({}));
  const { header: authorization } = await basic(w);
  const host = 'api.example.com';
  const made = await ask(w, '/hooks', {
    method: 'POST',
    headers: { host, authorization },
    body: JSON.stringify({ url, secret }),
  });
  expect(made).toMatchObject({ status: 201, body: { url } });
  const stream = await w.given.stream();
  const alias = await ask(w, '/aliases', {
    method: 'POST',
    headers: { host, authorization },
    body: JSON.stringify({ alias: 'My-Show', id: stream.playbackId }),
  });
  expect(alias.status).toBe(204);

  const publish = await w.media.publish(stream.streamKey, { app: 'app' });
  publish.playable();
  await w.settle();
  const { body: shown } = await ask(w, `/streams/${stream.id}`, { headers: { host, authorization } });
  expect(shown.data).toEqual({
    ...{ id: stream.id, status: 'active' },
    url: `http://localhost:8080/tiny/streams/${stream.id}`,
  });
  const { request } = w.outbound.sent[0] ?? {};
  expect(JSON.parse(String(request?.body))).toMatchObject({
    ...{ type: 'live.active', at: w.now(), data: { stream_id: stream.id } },
  });
  const seconds = Math.floor(w.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${seconds}.${request?.body}`).digest('hex');
  expect(request?.headers).toMatchObject({
    ...{ 'tiny-signature': `t=${seconds},v1=${v1}`, 'content-type': 'application/json' },
  });

  const watch = await ask(w, '/My-Show.m3u8', { headers: { host: 'stream.example.com' } });
  expect([watch.status, watch.headers.get('location')]).toEqual([
    302,
    'http://localhost:8080/hls/My-Show/index.m3u8',
  ]);
  expect((await w.request('GET', '/api/playback/My-Show')).body.meta.source[0].url).toContain(
    `/hls/${stream.playbackId}/index.m3u8`,
  );
  const unknown = await ask(w, '/nothing', { headers: { host } });
  expect([unknown.status, unknown.body]).toEqual([
    404,
    { error: { type: 'route.not_found', messages: ['There is no route at this path.'] } },
  ]);
});

describe('paths', () => {
  it('are those of the config, with 405 and hints as everywhere', async () => {
    await using w = await tinyWorld({ config: { tiny: { base: '/video/v1' } } });
    expect(await ask(w, '/video/v1/streams', { method: 'POST' })).toMatchObject({ status: 404 });
    const wrong = await ask(w, '/video/v1/hooks', { method: 'PUT' });
    expect([wrong.status, wrong.headers.get('allow'), wrong.body.error]).toEqual([
      ...[405, 'GET, HEAD, POST'],
      { type: 'route.method_not_allowed', messages: ['PUT is not allowed here. Allowed: GET, HEAD, POST.'] },
    ]);
    const near = await ask(w, '/video/v1/hoks');
    expect(near.body.error.messages).toEqual([
      'There is no route at this path. Did you mean /video/v1/hooks?',
    ]);
    expect((await ask(w, '/tiny/hooks')).body.code).toBe('route.not_found');
    expect(Object.keys(w.document.paths)).toContain('/video/v1/streams/{id}');
  });

  it('that another plugin has are refused', async () => {
    await expect(tinyWorld({ config: { tiny: { base: '/api/webhook/:id' } } })).rejects.toThrow();
    const twin = definePlugin({ ...dialect, id: 'twin', offers: [] }) as unknown as Plugin;
    await expect(world({ plugins: [...plugins, twin] })).rejects.toThrow(
      'the path of errors /tiny is declared twice: by tiny and twin',
    );
    const { errors: _, hosts: __, ...routesAlone } = dialect;
    const same = definePlugin({ ...routesAlone, id: 'same', offers: [] }) as unknown as Plugin;
    await expect(world({ plugins: [...plugins, same] })).rejects.toThrow(
      'route GET /tiny/streams/:id is declared twice: by tiny and same',
    );
  });
});

describe('host names', () => {
  it('stand for paths, in any case and with any port; others are untouched', async () => {
    await using w = await tinyWorld();
    const status = async (host: string, path = '/hooks') =>
      (await ask(w, path, { headers: { host } })).body.error?.type ?? 'none';
    expect(await status('api.example.com')).toBe('auth.missing');
    expect(await status('API.Example.com:8443')).toBe('auth.missing');
    expect(await status('api.example.com.')).toBe('auth.missing');
    for (const host of ['example.com', 'localhost:8080', 'xapi.example.com', '127.0.0.1']) {
      expect((await ask(w, '/hooks', { headers: { host } })).body.code).toBe('route.not_found');
      expect((await ask(w, '/health/live', { headers: { host } })).status).toBe(200);
    }
    // There the routes of others have no place.
    expect(await status('api.example.com', '/api/stream')).toBe('route.not_found');
    expect(await status('api.example.com', '/tiny/hooks')).toBe('route.not_found');
    expect(await status('api.example.com', '/../api/stream')).toBe('route.not_found');
  });

  it('are believed of a trusted proxy alone', async () => {
    await using w = await tinyWorld({ trustedProxies: ['10.0.0.0/8'] });
    const headers = { host: 'localhost:8080', 'x-forwarded-host': 'api.example.com' };
    expect((await ask(w, '/hooks', { headers, peer: '10.1.2.3' })).body.error?.type).toBe('auth.missing');
    expect((await ask(w, '/hooks', { headers, peer: '192.0.2.1' })).body.code).toBe('route.not_found');
    const back = { host: 'api.example.com', 'x-forwarded-host': 'localhost:8080' };
    expect((await ask(w, '/hooks', { headers: back, peer: '10.1.2.3' })).body.code).toBe('route.not_found');
  });

  it('leave method, headers, body, query and client as they are', async () => {
    await using w = await tinyWorld();
    const headers = { host: 'api.example.com' };
    const answer = await ask(w, '/echo?x=1', { method: 'POST', headers, body: 'a body' });
    expect([answer.status, answer.body]).toEqual([200, 'a body']);
    const { header: authorization } = await basic(w);
    const post = () =>
      ask(w, '/hooks', {
        method: 'POST',
        headers: { ...headers, authorization, 'idempotency-key': 'once' },
        body: JSON.stringify({ url, secret }),
      });
    expect((await post()).body.id).toBe((await post()).body.id);
  });

  it('that clash or are none are refused', async () => {
    const problems = (own: Record<string, string>) =>
      tinyWorld({ config: { tiny: { hosts: own } } }).then(
        () => [],
        (error: { problems: string[] }) => error.problems,
      );
    expect(await problems({ 'a b': '/x', 'a.example.com:80': '/x', '10.0.0.1': '/x' })).toEqual([
      'plugin tiny: a b is no host name; expected one such as stream.example.com, without a port',
      'plugin tiny: a.example.com:80 is no host name; expected one such as stream.example.com, without a port',
      'plugin tiny: 10.0.0.1 is no host name; expected one such as stream.example.com, without a port',
    ]);
    expect(
      await problems({ 'a.example.com': 'x', 'b.example.com': '/x/', 'c.example.com': '/../x' }),
    ).toEqual(
      ['x', '/x/', '/../x'].map((path, index) =>
        expect.stringContaining(`the path of ${'abc'[index]}.example.com is ${path}; expected one such as`),
      ),
    );
    expect(await problems({ 'a.example.com': '/x', 'A.example.com': '/y' })).toEqual([
      'host a.example.com is declared twice: by tiny and tiny',
    ]);
    const { hosts: _, ...silent } = dialect;
    const throwing = { ...silent, hosts: () => JSON.parse('no') } as unknown as Plugin;
    await expect(world({ plugins: [...(await allPlugins()), throwing] })).rejects.toThrow(
      'plugin tiny: its hosts, errors or rtmpApps could not be read',
    );
    expect(await problems({ localhost: '/x' })).toEqual([
      'plugin tiny: the host localhost is that of publicUrl, which all other routes need',
    ]);
  });

  it('are a warning where publicUrl is not set', async () => {
    await using w = await tinyWorld();
    expect(w.lines.filter((line) => line.includes('publicUrl is not set'))).toHaveLength(1);
    await using other = await world({ plugins });
    expect(other.lines.filter((line) => line.includes('publicUrl is not set'))).toEqual([]);
  });
});

describe('keys', () => {
  it('may be Basic: id and secret of an API key, which both must be right', async () => {
    await using w = await tinyWorld();
    const one = await basic(w);
    const other = await basic(w);
    const password = (header: string) => Buffer.from(header.slice(6), 'base64').toString().split(':')[1];
    const mixed = Buffer.from(`${one.id}:${password(other.header)}`).toString('base64');
    const status = async (authorization: string) =>
      (await ask(w, '/tiny/hooks', { headers: { authorization } })).status;
    expect(await status(one.header)).toBe(200);
    expect(await status(one.header.replace('Basic', 'bASIC '))).toBe(200);
    const none = [`Basic ${mixed}`, 'Basic', 'Basic !!', `Basic ${Buffer.from('x').toString('base64')}`];
    for (const header of [...none, `Bearer ${password(one.header)}`, 'Basic Og==']) {
      expect([header, await status(header)]).toEqual([header, 401]);
    }
    // The bootstrap key has no id.
    for (const id of ['bootstrap', 'undefined', '']) {
      const named = Buffer.from(`${id}:test-bootstrap-key`).toString('base64');
      expect(await status(`Basic ${named}`)).toBe(401);
    }
    const missing = await ask(w, '/tiny/hooks');
    expect([missing.headers.get('www-authenticate'), missing.body.error.messages]).toEqual([
      'Basic',
      ['An API key is required.'],
    ]);
    await w.request('DELETE', `/api/api-token/${one.id}`);
    expect(await status(one.header)).toBe(401);
    expect(w.document.paths['/tiny/hooks']?.get?.security).toEqual([{ key: [] }, { basic: [] }]);
    expect(w.document.components.securitySchemes.basic).toMatchObject({ scheme: 'basic' });
  });

  it('with access rules are asked for what the dialect says', async () => {
    await using w = await tinyWorld();
    const rules = (resources: string[], methods: string[]) => ({
      access: { rules: [{ resources, methods }] },
    });
    const status = async (body: Record<string, unknown>) => {
      const { header: authorization } = await basic(w, body);
      return (await ask(w, '/tiny/hooks', { headers: { authorization } })).status;
    };
    expect(await status(rules(['stream'], ['get']))).toBe(200);
    expect(await status(rules(['stream'], ['post']))).toBe(403);
    expect(await status(rules(['webhook'], ['get']))).toBe(403);
  });
});

describe('errors', () => {
  it('have the form of the dialect on all its routes, and nowhere else', async () => {
    await using w = await tinyWorld();
    const { header: authorization } = await basic(w);
    const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
      const answer = await ask(w, path, { method: 'POST', headers: { authorization, ...headers }, body });
      return [answer.status, answer.body.error?.type, answer.body.code];
    };
    expect(await post('/tiny/hooks', '{')).toEqual([400, 'body.malformed', undefined]);
    expect(await post('/tiny/hooks', '{}')).toEqual([422, 'body.invalid', undefined]);
    expect(await post('/tiny/hooks', '{}', { 'idempotency-key': 'a b' })).toEqual([
      ...[422, 'idempotency.key_invalid', undefined],
    ]);
    // Also when the answer is stored and repeated.
    const again = () => post('/tiny/hooks', '{"url": "x"}', { 'idempotency-key': 'k' });
    expect([await again(), await again()]).toEqual([
      [422, 'body.invalid', undefined],
      [422, 'body.invalid', undefined],
    ]);
    expect(await post('/tiny/echo', '', { 'x-break': '1' })).toEqual([500, 'internal', undefined]);
    expect(await post('/tiny/echo', 'x'.repeat(300_000), { 'content-length': '300000' })).toEqual([
      ...[413, 'body.too_large', undefined],
    ]);
    expect(await post('/api/webhook', '{')).toEqual([401, undefined, 'auth.missing']);
    expect((await ask(w, '/tinyx')).body.code).toBe('route.not_found');
    expect((await ask(w, '/tiny')).body.error.type).toBe('route.not_found');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no form');
      },
    ],
    ['makes a promise', async () => Response.json({})],
    ['makes nothing', () => undefined],
  ])('are those of all routes when the form itself %s', async (_, answer) => {
    const broken = { ...tiny, errors: { ...tiny.errors, answer } } as unknown as Plugin;
    await using w = await world({ plugins: [...(await allPlugins()), broken] });
    const request = new Request('http://localhost:8080/tiny/nothing');
    // The document promises the form of the plugin for this path, so the check of answers is no help here.
    const got = await w.app.handle(request);
    expect([got.status, ((await got.json()) as { code: string }).code]).toEqual([404, 'route.not_found']);
    expect(w.lines.some((line) => line.includes('could not be written in the form of its plugin'))).toBe(
      true,
    );
  });
});

describe('other names for playback ids', () => {
  const named = async (w: World, alias: string, id: string) => {
    const { header: authorization } = await basic(w);
    const body = JSON.stringify({ alias, id });
    await ask(w, '/tiny/aliases', { method: 'POST', headers: { authorization }, body });
  };

  it('are found in live streams, in playback info, and forgotten names cost nothing', async () => {
    await using w = await tinyWorld();
    const stream = await w.given.stream();
    await named(w, 'show', stream.playbackId);
    await w.given.broadcast(stream);
    w.media.serve = ({ playbackId, file }) =>
      playbackId === stream.playbackId
        ? { type: 'playlist', body: `#EXTM3U\n${file}`, maxAge: 1 }
        : undefined;
    const playlist = await ask(w, '/hls/show/index.m3u8');
    expect([playlist.status, playlist.body]).toEqual([200, '#EXTM3U\nindex.m3u8']);
    expect((await ask(w, '/hls/nothing/index.m3u8')).body.code).toBe('playback.not_live');
    expect((await w.request('GET', '/api/playback/show')).body.type).toBe('live');
    expect((await w.request('GET', '/api/playback/none')).status).toBe(404);
  });

  it('are found in assets and recordings, for every file of theirs', async () => {
    const maker = assetMaker();
    await using w = await tinyWorld({ plugins: [...plugins, maker.plugin] });
    const account = (await w.given.stream()).userId as string;
    const sessionId = uuid();
    const films = [
      { id: uuid(), account, name: 'A', source: { type: 'recording', sessionId: 's' } },
      { id: assetIdOf(sessionId), account, name: 'B', source: { type: 'recording', sessionId } },
    ] as const;
    for (const film of films) {
      await maker.assets.begin(film);
      await maker.assets.ready(film.id, await storeFile(w.blobs, film.id));
    }
    const { body: asset } = await w.request('GET', `/api/asset/${films[0].id}`);
    await named(w, 'film', asset.playbackId);
    await named(w, 'match', sessionId);
    const statuses = (names: readonly string[]) =>
      Promise.all(names.map(async (name) => (await ask(w, name)).status));
    expect(
      await statuses(['/asset/film/video', '/asset/film/source.mp4', '/recordings/match/source.mp4']),
    ).toEqual([200, 200, 200]);
    expect(
      await statuses(['/asset/match/video', '/recordings/film/source.mp4', '/asset/none/video']),
    ).toEqual([404, 404, 404]);
    expect((await w.request('GET', '/api/playback/match')).body.type).toBe('recording');
  });

  it('are looked up for unknown names alone, and not again for a while', async () => {
    const asked: string[] = [];
    const noting = definePlugin({
      id: 'noting',
      contract: 3,
      summary: 'notes what is asked',
      offers: [
        offer(playbackAliases, () => ({
          async find(alias: string) {
            asked.push(alias);
            return undefined;
          },
        })),
      ],
    }) as unknown as Plugin;
    await using w = await tinyWorld({ plugins: [...plugins, noting] });
    const stream = await w.given.stream();
    await w.request('GET', `/api/playback/${stream.playbackId}`);
    expect(asked).toEqual([]);
    for (let n = 0; n < 5; n += 1) await w.request('GET', '/api/playback/unknown');
    expect(asked).toEqual(['unknown']);
    await w.advance('11s');
    await w.request('GET', '/api/playback/unknown');
    expect(asked).toEqual(['unknown', 'unknown']);
    await w.request('GET', `/api/playback/${'x'.repeat(201)}`);
    expect(asked).toHaveLength(2);
  });
});

describe('RTMP applications', () => {
  it('beside live are those that plugins name', async () => {
    await using w = await tinyWorld();
    const { streamKey } = await w.given.stream();
    expect((await w.media.publish(streamKey, { app: 'other' })).answer.granted).toBe(false);
    const publish = await w.media.publish(streamKey, { app: 'app' });
    expect(publish.answer.granted).toBe(true);
    publish.end({ clean: true });
    expect((await w.media.publish(streamKey)).answer.granted).toBe(true);
    // What clients are told stays.
    const told = JSON.stringify((await w.request('GET', '/api/ingest?first=false')).body);
    expect(told).not.toContain('/app');
  });

  it('with names that no URL can have are refused', async () => {
    await expect(tinyWorld({ config: { tiny: { app: 'a?b' } } })).rejects.toThrow(
      'plugin tiny: a?b is no RTMP application; expected one such as app',
    );
  });
});
