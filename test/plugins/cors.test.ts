import { describe, expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const site = 'https://studio.example';
const plugins = await allPlugins();

const keyFor = async (w: World, access: unknown): Promise<{ id: string; key: string }> =>
  (await w.request('POST', '/api/api-token', { body: { access } })).body;
const from = (origin: string) => ({ headers: { origin } });
const shared = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');

describe('a key with allowed origins', () => {
  it('is used from their pages: every answer may be read', async () => {
    await using w = await world({ plugins });
    const rules = [{ resources: ['stream', 'stream/*'] }];
    const { key } = await keyFor(w, { rules, cors: { allowedOrigins: ['https://other.example', site] } });
    const answers = [
      [200, await w.request('GET', '/api/stream', { key, ...from(site) })],
      [201, await w.request('POST', '/api/stream', { key, ...from(site), body: { name: 'x' } })],
      [422, await w.request('POST', '/api/stream', { key, ...from(site), body: {} })],
      [404, await w.request('GET', '/api/stream/nobodys', { key, ...from(site) })],
      [403, await w.request('GET', '/api/api-token', { key, ...from(site) })],
    ] as const;
    for (const [status, answer] of answers) {
      expect([answer.status, shared(answer), answer.headers.get('vary')]).toEqual([status, site, 'Origin']);
      expect(answer.headers.get('access-control-expose-headers')).toContain('Link');
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
  });

  it('is refused to other pages, before anything happens', async () => {
    await using w = await world({ plugins });
    const { key } = await keyFor(w, { cors: { allowedOrigins: [site] } });
    for (const origin of [`${site}.evil`, 'http://studio.example', `${site}:8443`, 'null', 'x']) {
      const answer = await w.request('POST', '/api/stream', { key, ...from(origin), body: { name: 'x' } });
      expect([answer.status, answer.body.code, shared(answer)]).toEqual([
        403,
        'auth.origin_not_allowed',
        null,
      ]);
    }
    expect((await w.request('GET', '/api/stream')).body).toEqual([]);
  });

  it('is used outside of browsers as well', async () => {
    await using w = await world({ plugins });
    const { key } = await keyFor(w, { cors: { allowedOrigins: [site] } });
    const answer = await w.request('GET', '/api/stream', { key });
    expect([answer.status, shared(answer), answer.headers.get('vary')]).toEqual([200, null, null]);
  });

  it('may allow all', async () => {
    await using w = await world({ plugins });
    const { key } = await keyFor(w, { cors: { allowedOrigins: ['*'] } });
    expect(shared(await w.request('GET', '/api/stream', { key, ...from('https://any.example') }))).toBe(
      'https://any.example',
    );
  });
});

describe('a key without', () => {
  it('is refused to every page but our own', async () => {
    await using w = await world({ plugins });
    const answer = await w.request('GET', '/api/stream', from(site));
    expect([answer.status, answer.body.code, shared(answer)]).toEqual([403, 'auth.origin_not_allowed', null]);
    expect((await w.request('GET', '/api/stream', from('http://localhost:8080'))).status).toBe(200);
    const proxied = { headers: { origin: 'https://video.example', 'sec-fetch-site': 'same-origin' } };
    expect((await w.request('GET', '/api/stream', proxied)).status).toBe(200);
  });
});

describe('a preflight', () => {
  const ask = (w: World, origin: string) =>
    w.request('OPTIONS', '/api/stream/x', {
      key: null,
      headers: { origin, 'access-control-request-method': 'DELETE' },
    });

  it('is allowed to the origins of some key, as long as that key is there', async () => {
    await using w = await world({ plugins });
    expect((await ask(w, site)).status).toBe(403);
    const { id } = await keyFor(w, { cors: { allowedOrigins: [site, site] } });
    const answer = await ask(w, site);
    expect([answer.status, shared(answer), answer.headers.get('vary')]).toEqual([204, site, 'Origin']);
    expect(answer.headers.get('access-control-allow-methods')).toContain('DELETE');
    expect(answer.headers.get('access-control-allow-headers')).toContain('Authorization');
    const other = await ask(w, 'https://other.example');
    expect([other.status, other.body.code, shared(other)]).toEqual([403, 'auth.origin_not_allowed', null]);
    await w.request('DELETE', `/api/api-token/${id}`);
    expect((await ask(w, site)).status).toBe(403);
  });

  it('is allowed to all when some key allows all', async () => {
    await using w = await world({ plugins });
    await keyFor(w, { cors: { allowedOrigins: ['*'] } });
    expect(shared(await ask(w, 'https://any.example'))).toBe('https://any.example');
  });

  it('allows nobody to read what has no key, or a wrong one', async () => {
    await using w = await world({ plugins });
    await keyFor(w, { cors: { allowedOrigins: [site] } });
    for (const key of [null, 'wrong']) {
      const answer = await w.request('GET', '/api/stream', { key, ...from(site) });
      expect([answer.status, shared(answer)]).toEqual([401, null]);
    }
  });
});
