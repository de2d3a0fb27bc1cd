import { describe, expect, it } from 'vitest';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { sharedWorld } from '../../kit/shared-world.ts';
import { api, plugins, studioWorld } from './kit.ts';

describe('a call in the form of Livepeer Studio', () => {
  it('is carried out by the route of our own, with its key, rules and limits', async () => {
    await using w = await studioWorld();
    const { body: stream } = await w.request('POST', `${api}/stream`, { body: { name: 'S' } });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.streamKey).toBe(stream.streamKey);
    const rules = [{ resources: ['stream/:id'], methods: ['get'] }];
    const { body: token } = await w.request('POST', '/api/api-token', {
      body: { name: 'reader', access: { rules } },
    });
    const one = await w.request('GET', `${api}/stream/${stream.id}`, { key: token.key });
    expect([one.status, one.body.id, one.body.streamKey]).toEqual([200, stream.id, undefined]);
    const change = { body: { name: 'T' }, key: token.key };
    expect(await w.request('PATCH', `${api}/stream/${stream.id}`, change)).toMatchObject({
      ...{ status: 403, body: { errors: [expect.any(String)], code: 'auth.not_allowed' } },
    });
    const refused = await w.request('POST', `${api}/webhook`, {
      ...{ key: token.key, body: { name: 'W', url: 'https://example.com/', events: ['stream.idle'] } },
    });
    expect([refused.status, refused.body.code]).toEqual([403, 'auth.not_allowed']);
    const { key } = await anotherAccount(w);
    expect((await w.request('GET', `${api}/stream/${stream.id}`, { key })).status).toBe(404);
    expect((await w.request('GET', `${api}/stream`, { key })).body).toEqual([]);
    const none = await w.request('GET', `${api}/stream`, { key: null });
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it('counts once against the limits of its key, and says when to come again', async () => {
    await using w = await studioWorld({ config: { limits: { keyRate: 1, keyBurst: 3 } } });
    const { key } = (await w.request('POST', '/api/api-token', { body: { name: 'K' } })).body;
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await w.request('GET', `${api}/task`, { key })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const { body, headers } = await w.request('GET', `${api}/task`, { key });
    expect(body).toMatchObject({ errors: [expect.any(String)], code: 'rate.limited' });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('with an Idempotency-Key makes one thing', async () => {
    await using w = await studioWorld();
    const given = { body: { name: 'S' }, headers: { 'idempotency-key': 'k1' } };
    const ids = [
      (await w.request('POST', `${api}/stream`, given)).body.id,
      (await w.request('POST', `${api}/stream`, given)).body.id,
    ];
    expect(ids[0]).toBe(ids[1]);
    const hook = { name: 'W', url: 'https://example.com/', events: ['stream.idle'] };
    for (let n = 0; n < 2; n += 1)
      await w.request('POST', `${api}/webhook`, { body: hook, headers: given.headers });
    expect((await w.request('GET', `${api}/webhook`)).body).toHaveLength(1);
  });

  it('of a list leads on to further pages, each of at most 200', async () => {
    await using w = await studioWorld();
    for (let n = 0; n < 3; n += 1) {
      await w.given.stream({ name: `S${n}` });
      await w.advance('1s');
    }
    const first = await w.request('GET', `${api}/stream?limit=2&streamsonly=1`);
    expect(first.body.map(({ name }: { name: string }) => name)).toEqual(['S2', 'S1']);
    const next = /<http:\/\/localhost:8080(\/studio\/api\/stream\?[^>]+)>; rel="next"/.exec(
      first.headers.get('link') ?? '',
    )?.[1];
    const second = await w.request('GET', next ?? '');
    expect(second.body.map(({ name }: { name: string }) => name)).toEqual(['S0']);
    expect((await w.request('GET', `${api}/stream?limit=1000`)).status).toBe(200);
    const filtered = await w.request('GET', `${api}/stream?filters=[{"id":"name","value":"s1"}]`);
    expect(filtered.body).toHaveLength(1);
  });

  it('of a page is allowed where the key is', async () => {
    await using w = await studioWorld();
    const origin = 'https://app.example.com';
    const preflight = () => w.request('OPTIONS', `${api}/asset/x`, { key: null, headers: { origin } });
    expect((await preflight()).status).toBe(403);
    const access = { cors: { allowedOrigins: [origin] } };
    const { body } = await w.request('POST', '/api/api-token', { body: { name: 'page', access } });
    const allowed = await preflight();
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    for (const path of ['stream', 'stream/none']) {
      const { headers } = await w.request('GET', `${api}/${path}`, { key: body.key, headers: { origin } });
      expect(headers.get('access-control-allow-origin')).toBe(origin);
    }
  });

  it('is at the path and the hosts of the config', async () => {
    const config = { 'studio-compat': { path: '/lp', hosts: ['studio.example.com'] } };
    await using w = await studioWorld({ config });
    expect((await w.request('GET', '/lp/api/stream')).status).toBe(200);
    expect((await w.request('GET', `${api}/stream`)).status).toBe(404);
    const headers = { authorization: 'Bearer test-bootstrap-key', host: 'studio.example.com' };
    const request = new Request('http://studio.example.com/api/asset/request-upload', {
      ...{ method: 'POST', headers, body: '{"name":"A"}' },
    });
    const answer = await w.app.handle(Object.assign(request, { peer: '127.0.0.1' }));
    await w.settle();
    expect(await answer.json()).toMatchObject({
      url: expect.stringMatching(/^http:\/\/localhost:8080\/upload\//),
    });
  });
});

describe('hostile input', () => {
  const shared = sharedWorld({ plugins });
  const stream = { name: 'S' };

  it.each([
    ['no JSON', '{"name":', 400],
    ['no object', '[]', 422],
    ['an unknown field', '{"name":"S","nme":1}', 422],
    ['another type', '{"name":{"a":1}}', 422],
    ['creator of another type', '{"name":"S","creatorId":{"type":"x","value":"y"}}', 422],
    ['policy of another type', '{"name":"S","playbackPolicy":{"type":"all"}}', 422],
    ['policy that is an array', '{"name":"S","playbackPolicy":[]}', 422],
    ['recordingSpec that is a text', '{"name":"S","recordingSpec":"x"}', 422],
    ['recordingSpec without anything', '{"name":"S","recordingSpec":{"profiles":null}}', 201],
    ['profiles that are a text', '{"name":"S","profiles":"x"}', 422],
    ['targets that are none', '{"name":"S","multistream":{"targets":[null]}}', 422],
    ['deep nesting', `{"name":${'['.repeat(40)}${']'.repeat(40)}}`, 400],
    ['many values', `{"userTags":{"a":[${'1,'.repeat(30_000)}1]}}`, 400],
  ])('in the body of a stream: %s', async (_what, body, status) => {
    const w = await shared();
    const headers = { authorization: 'Bearer test-bootstrap-key' };
    const answer = await w.app.handle(
      new Request(`http://localhost:8080${api}/stream`, { method: 'POST', headers, body }),
    );
    await w.settle();
    expect([answer.status, await answer.json()]).toEqual([
      status,
      status === 201
        ? expect.objectContaining(stream)
        : { errors: expect.arrayContaining([expect.any(String)]), code: expect.any(String) },
    ]);
  });

  it.each([
    '%2e%2e',
    '..%2f..%2fapi%2faccount',
    '%252e%252e',
    '%00',
    '%ff',
    'a%3Fb',
    'x'.repeat(3000),
    '%23',
  ])('as an id: %s', async (id) => {
    const w = await shared();
    for (const path of [`stream/${id}`, `asset/${id}`, `webhook/${id}/log/${id}`, `playback/${id}`]) {
      const { status, body } = await w.request('GET', `${api}/${path}`);
      expect([400, 404, 405]).toContain(status);
      expect(body.errors).toEqual([expect.any(String)]);
    }
    expect([404, 405]).toContain((await w.request('DELETE', `${api}/asset/${id}`)).status);
  });

  it('in storage, profiles and encryption of an asset changes nothing', async () => {
    const w = await shared();
    const { asset } = (await w.request('POST', `${api}/asset/request-upload`, { body: { name: 'A' } })).body;
    const fails = async (method: string, path: string, body: object) => {
      const answer = await w.request(method, `${api}${path}`, { body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    };
    for (const storage of [
      'x',
      7,
      { ipfs: 'x' },
      { ipfs: { spec: 'x' } },
      { ipfs: { spec: { nftMetadata: 1 } } },
    ])
      await fails('PATCH', `/asset/${asset.id}`, { name: 'B', storage });
    for (const more of [{ encryption: {} }, { c2pa: true }, { profiles: [{}] }, { storage: { ipfs: true } }])
      await fails('POST', '/asset/request-upload', { name: 'A', ...more });
    for (const body of [{}, { assetId: '..' }, { assetId: asset.id, profile: 'x' }, { assetId: 7 }])
      await fails('POST', '/asset/transcode', body);
    await fails('POST', `/asset/${asset.id}/export`, { ipfs: 7 });
    const webhook = { name: 'W', url: 'http://10.0.0.1/', events: ['stream.detection'] };
    for (const body of [{}, webhook, { ...webhook, events: 'x' }, { ...webhook, sharedSecret: 7 }])
      await fails('POST', '/webhook', body);
    expect((await w.request('GET', `/api/asset/${asset.id}`)).body.name).toBe('A');
    expect((await w.request('GET', '/api/webhook')).body).toEqual([]);
  });
});
