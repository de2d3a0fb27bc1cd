import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import type { Plugin } from '../../sdk/plugin.ts';
import { definePlugin, offer, playbackAliases, uuid, webhookFormats } from '../../sdk/plugin.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import dialect from '../kit/dialect-plugin.ts';
import { type World, world } from '../kit/world.ts';

const tiny = dialect as unknown as Plugin;
const plugins = [...(await allPlugins()), tiny];
const hosts = { 'api.example.com': '/tiny', 'stream.example.com': '/tiny/stream' };
const secret = 'a secret of some length';
const url = 'https://tiny.example.com/in';

const tinyWorld = (more: Partial<Parameters<typeof world>[0]> = {}) =>
  world({ plugins, config: { tiny: { hosts } }, ...more });

/** A request as it comes over the network: with a Host, and whatever else is given. */
async function ask(
  w: World,
  path: string,
  given: { method?: string; headers?: Record<string, string>; body?: string; peer?: string } = {},
) {
  const { method = 'GET', headers = {}, body, peer = '127.0.0.1' } = given;
  const at = headers.host ?? 'localhost:8080';
  const request = new Request(`http://${at}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  const answer = await w.app.handle(Object.assign(request, { peer }));
  const text = await answer.text();
  await w.settle();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}

/** An API key as a client of the dialect has it. */
async function basic(w: World, body: Record<string, unknown> = {}): Promise<{ id: string; header: string }> {
  const { id, key } = (await w.request('POST', '/api/api-token', { body })).body;
  return { id, header: `Basic ${Buffer.from(`${id}:${key}`).toString('base64')}` };
}

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

  it('are those of all routes when the form itself fails', async () => {
    const broken = {
      ...tiny,
      errors: {
        ...tiny.errors,
        answer() {
          throw new Error('no form');
        },
      },
    } as unknown as Plugin;
    await using w = await world({ plugins: [...(await allPlugins()), broken] });
    const request = new Request('http://localhost:8080/tiny/nothing');
    // The document promises the form of the plugin for this path, so the check of answers is no help here.
    const answer = await w.app.handle(request);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      404,
      'route.not_found',
    ]);
    expect(w.lines.some((line) => line.includes('could not be written in the form of its plugin'))).toBe(
      true,
    );
  });
});

describe('webhooks', () => {
  const hookOf = async (w: World, more: { account?: { key: string; id: string } } = {}) => {
    const { header: authorization } = await basic(w, more.account ? { accountId: more.account.id } : {});
    const answer = await ask(w, '/tiny/hooks', {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ url, secret }),
    });
    return { ...answer.body, authorization } as { id: string; authorization: string };
  };
  const broadcast = async (w: World) => {
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    return stream;
  };

  it('of a format are listed by the API with its name, and keep it when they are replaced', async () => {
    await using w = await tinyWorld();
    const { id, authorization } = await hookOf(w);
    const plain = { name: 'W', url, events: ['stream.started'] };
    const { body: other } = await w.request('POST', '/api/webhook', { body: plain });
    expect(other).not.toHaveProperty('format');
    const { body: shown } = await w.request('GET', `/api/webhook/${id}`);
    expect(shown).toMatchObject({ id, format: 'tiny' });
    const replaced = await w.request('PUT', `/api/webhook/${id}`, { body: { ...shown, name: 'New' } });
    expect(replaced.body).toMatchObject({ name: 'New', format: 'tiny' });
    // Nobody can choose one there.
    const chosen = await w.request('POST', '/api/webhook', { body: { ...plain, format: 'tiny' } });
    expect(chosen.body).not.toHaveProperty('format');
    const list = async () => (await ask(w, '/tiny/hooks', { headers: { authorization } })).body;
    expect((await list()).map((one: { id: string }) => one.id)).toEqual([id]);
    const remove = (of: string) =>
      ask(w, `/tiny/hooks/${of}`, { method: 'DELETE', headers: { authorization } });
    expect((await remove(id)).status).toBe(204);
    expect((await remove(id)).body.error.type).toBe('webhook.not_found');
    expect(await list()).toEqual([]);
  });

  it('are of one account, and as many as it may have', async () => {
    await using w = await tinyWorld({ config: { tiny: { hosts }, webhooks: { maxPerAccount: 1 } } });
    const { id } = await hookOf(w);
    const account = await anotherAccount(w);
    const { authorization } = await hookOf(w, { account });
    const foreign = await ask(w, `/tiny/hooks/${id}`, { method: 'DELETE', headers: { authorization } });
    expect(foreign.status).toBe(404);
    const more = await ask(w, '/tiny/hooks', {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ url, secret }),
    });
    expect([more.status, more.body.error.type]).toEqual([409, 'webhook.too_many']);
  });

  it('are retried, logged and sent again by the same machinery, signed anew', async () => {
    await using w = await tinyWorld();
    let status = 500;
    w.outbound.answer(url, () => ({ status }));
    const { id } = await hookOf(w);
    await broadcast(w);
    status = 200;
    await w.advance('10s');
    expect(w.outbound.sent).toHaveLength(2);
    const [first, second] = w.outbound.sent.map(({ request }) => request);
    expect(second?.body).toBe(first?.body);
    const signatures = [first, second].map((one) => one?.headers?.['tiny-signature']);
    expect(new Set(signatures).size).toBe(2);
    const { body: log } = await w.request('GET', `/api/webhook/${id}/log`);
    expect(log.map((one: { success: boolean }) => one.success)).toEqual([true, false]);
    expect(log[0].request).toMatchObject({
      headers: { 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1' },
      body: first?.body,
    });
    expect(JSON.stringify(log)).not.toContain('signature');
    const again = await w.request('POST', `/api/webhook/${id}/log/${log[1].id}/resend`);
    expect(again.body.success).toBe(true);
    expect(w.outbound.sent.at(-1)?.request.body).toBe(first?.body);
    expect(JSON.stringify([...w.lines, log, again])).not.toContain(secret);
  });

  it('send nothing for an event that the format has no words for', async () => {
    await using w = await tinyWorld();
    w.outbound.answer(url, () => ({}));
    const { id } = await hookOf(w);
    const test = (event: string) => w.request('POST', `/api/webhook/${id}/test`, { body: { event } });
    const unsaid = await test('recording.ready');
    expect([unsaid.status, unsaid.body.errors]).toEqual([
      422,
      ['event: the format tiny of this webhook says nothing about recording.ready'],
    ]);
    expect((await test('stream.idle')).body).toMatchObject({ success: true, event: 'stream.idle' });
    expect(JSON.parse(String(w.outbound.sent[0]?.request.body)).type).toBe('live.idle');
    const body = { name: 'R', record: true };
    const { body: stream } = await w.request('POST', '/api/stream', { body });
    await w.given.broadcast(stream);
    await w.advance('1m');
    const types = w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)).type);
    expect(types).toEqual(['live.idle', 'live.active']);
  });

  it('of a plugin that is off are kept, and delivered when it is on again', async () => {
    await using w = await tinyWorld({ durable: true });
    const { id } = await hookOf(w);
    const without = await allPlugins();
    await w.crash({ downFor: '1s', plugins: without });
    w.outbound.answer(url, () => ({}));
    await broadcast(w);
    await w.advance('1s');
    const { body: shown } = await w.request('GET', `/api/webhook/${id}`);
    expect(shown.status.lastFailure.error).toBe('The plugin with the webhook format "tiny" is off.');
    expect(w.outbound.sent).toEqual([]);
    await w.crash({ downFor: '1s', plugins });
    w.outbound.answer(url, () => ({}));
    await w.advance('10m');
    // The crash has ended the broadcast.
    expect(w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)).type)).toEqual([
      ...['live.active', 'live.idle'],
    ]);
  });

  it('of a format that fails are failures in the log, without what was thrown', async () => {
    let how: 'throws' | 'headers' | 'fine' = 'throws';
    const format = definePlugin({
      id: 'broken',
      contract: 3,
      summary: 'a format that fails',
      offers: [
        offer(webhookFormats, () => ({
          name: 'broken',
          body() {
            if (how === 'throws') throw new Error('with a secret-thing');
            return 'text';
          },
          headers: () => ({ 'content-type': 'text/plain', [how === 'headers' ? 'x y' : 'x-y']: 'z' }),
        })),
      ],
      needs: [],
    }) as unknown as Plugin;
    await using w = await tinyWorld({ plugins: [...plugins, format] });
    w.outbound.answer(url, () => ({}));
    const { id } = await hookOf(w);
    const row = await w.store.resources.get('webhook', id);
    const body = JSON.stringify({ ...JSON.parse(row?.body ?? '{}'), format: 'broken' });
    const indexes = { 'on stream.started': '*' };
    await w.store.write({
      at: w.now(),
      rows: [{ ...row!, kind: 'webhook', body, indexes, revision: row!.revision }],
      events: [],
    });
    await broadcast(w);
    const newest = async () => (await w.request('GET', `/api/webhook/${id}/log`)).body[0];
    const error = 'The webhook format "broken" failed. The log of the server has the details.';
    expect(await newest()).toMatchObject({ success: false, error });
    expect(JSON.stringify(await newest())).not.toContain('secret-thing');
    how = 'headers';
    await w.advance('10s');
    expect(await newest()).toMatchObject({ attempt: 2, success: false, error });
    expect(w.outbound.sent).toEqual([]);
    how = 'fine';
    await w.advance('1h');
    expect(await newest()).toMatchObject({ success: true });
    expect(w.outbound.sent[0]?.request).toMatchObject({
      body: 'text',
      headers: { 'content-type': 'text/plain', 'x-y': 'z' },
    });
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
