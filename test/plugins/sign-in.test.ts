import { describe, expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { sharedWorld } from '../kit/shared-world.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const unchanged = sharedWorld({ plugins });

const newCode = async (w: World, key?: string) => {
  const { status, body } = await w.request('POST', '/api/sign-in-code', key === undefined ? {} : { key });
  expect([status, body.errors]).toEqual([201, undefined]);
  return body as { code: string; expiresAt: number };
};
const signIn = (w: World, code: string, peer?: string) =>
  w.request('POST', '/api/sign-in', { key: null, body: { code }, ...(peer !== undefined && { peer }) });
const outcome = async (w: World, code: string, peer?: string) => {
  const { status, body } = await signIn(w, code, peer);
  return [status, body.code ?? 'signed in'];
};

describe('a sign-in code', () => {
  it('makes one key, with the account and the access of the key that asked for it', async () => {
    await using w = await world({ plugins });
    const other = await anotherAccount(w);
    const access = { rules: [{ resources: ['sign-in-code', 'stream'] }] };
    const { body: made } = await w.request('POST', '/api/api-token', { key: other.key, body: { access } });
    const { code, expiresAt } = await newCode(w, made.key);
    expect(code).toMatch(/^[\w-]{43}$/);
    expect(expiresAt).toBe(w.now() + 300_000);

    const { status, body } = await signIn(w, code);
    expect([status, Object.keys(body)]).toEqual([200, ['key']]);
    const { body: current } = await w.request('GET', '/api/api-token/current', { key: body.key });
    expect(current).toMatchObject({ name: 'Dashboard', userId: other.id, isAdmin: false, access });
    expect((await w.request('GET', '/api/stream', { key: body.key })).status).toBe(200);
    expect((await w.request('GET', '/api/asset', { key: body.key })).status).toBe(403);

    const again = await signIn(w, code);
    const unknown = await signIn(w, 'x'.repeat(43));
    expect([again.status, again.body]).toEqual([403, unknown.body]);
    const { body: keys } = await w.request('GET', '/api/api-token', { key: other.key });
    expect(keys.filter(({ name }: { name: string }) => name === 'Dashboard')).toHaveLength(1);
  });

  it('of the bootstrap key makes a key of the admin account', async () => {
    await using w = await world({ plugins });
    const { body } = await signIn(w, (await newCode(w)).code);
    const { body: current } = await w.request('GET', '/api/api-token/current', { key: body.key });
    expect(current).toMatchObject({ isAdmin: true, access: {} });
  });

  it('works for five minutes, also after a crash', async () => {
    await using w = await world({ plugins, durable: true });
    const [early, late] = [await newCode(w), await newCode(w)];
    await w.crash({ downFor: '1m' });
    await w.advance('3m');
    expect(await outcome(w, early.code)).toEqual([200, 'signed in']);
    await w.advance('1m');
    expect(await outcome(w, late.code)).toEqual([403, 'sign_in.refused']);
    await newCode(w);
    expect(await w.store.resources.count('sign-in-code', {})).toBe(1);
  });

  it('makes one key however many take it at once', async () => {
    await using w = await world({ plugins });
    const { code } = await newCode(w);
    const taken = await Promise.all([1, 2, 3, 4].map(() => outcome(w, code)));
    expect(taken.filter(([status]) => status === 200)).toHaveLength(1);
    expect(taken.filter(([, what]) => what === 'sign_in.refused')).toHaveLength(3);
  });

  it('and its key, like every secret, are kept by no cache', async () => {
    await using w = await world({ plugins });
    const made = await w.request('POST', '/api/sign-in-code');
    const taken = await signIn(w, made.body.code);
    const token = await w.request('POST', '/api/api-token', { body: {} });
    const stream = await w.request('POST', '/api/stream', { body: { name: 'x' } });
    const shown = await w.request('GET', `/api/stream/${stream.body.id}`);
    for (const { status, headers } of [made, taken, token, stream, shown])
      expect([status < 300, headers.get('cache-control')]).toEqual([true, 'no-store']);
  });

  it('does not outlive the key that asked for it', async () => {
    await using w = await world({ plugins });
    const { body: maker } = await w.request('POST', '/api/api-token', { body: {} });
    const { code } = await newCode(w, maker.key);
    await w.request('DELETE', `/api/api-token/${maker.id}`);
    expect(await outcome(w, code)).toEqual([403, 'sign_in.refused']);
  });

  it('is only in the answer that made it', async () => {
    await using w = await world({ plugins });
    const headers = { 'idempotency-key': 'once' };
    const { body } = await w.request('POST', '/api/sign-in-code', { headers });
    const repeat = await w.request('POST', '/api/sign-in-code', { headers });
    expect([repeat.status, repeat.body.code]).toEqual([409, 'idempotency.shown_once']);
    const { key } = (await signIn(w, body.code)).body;
    await signIn(w, body.code);
    const stored = await w.store.resources.list('idempotency', { limit: 10 });
    const tokens = await w.store.resources.list('api-token', { limit: 10 });
    const written = JSON.stringify([stored, tokens, w.lines]);
    for (const secret of [body.code, key]) expect(written).not.toContain(secret);
  });

  it('cannot be asked for without a key that may', async () => {
    const w = await unchanged();
    expect((await w.request('POST', '/api/sign-in-code', { key: null })).status).toBe(401);
    const access = { rules: [{ resources: ['stream'] }] };
    const { body } = await w.request('POST', '/api/api-token', { body: { access } });
    expect((await w.request('POST', '/api/sign-in-code', { key: body.key })).status).toBe(403);
  });

  it.each([{}, { code: 5 }, { code: 'x'.repeat(201) }, { code: 'x', more: 1 }])(
    'is refused as %j',
    async (body) => {
      const w = await unchanged();
      expect((await w.request('POST', '/api/sign-in', { key: null, body })).status).toBe(422);
    },
  );

  it('counts as a key: an account that is full signs nobody in, and the code still works later', async () => {
    await using w = await world({ plugins, config: { accounts: { maxKeys: 1 } } });
    const { code } = await newCode(w);
    const { body: full } = await w.request('POST', '/api/api-token', { body: {} });
    expect(await outcome(w, code)).toEqual([403, 'api_token.too_many']);
    await w.request('DELETE', `/api/api-token/${full.id}`);
    expect(await outcome(w, code)).toEqual([200, 'signed in']);
  });

  it('is one of at most 100 of its account', async () => {
    await using w = await world({ plugins });
    for (let made = 0; made < 100; made += 1) await newCode(w);
    const full = await w.request('POST', '/api/sign-in-code');
    expect([full.status, full.body.code]).toEqual([403, 'sign_in_code.too_many']);
    await newCode(w, (await anotherAccount(w)).key);
    await w.advance('5m');
    await newCode(w);
  });

  it('is one of at most 100 however many are asked for at one time', async () => {
    await using w = await world({ plugins });
    const asked = await Promise.all(
      Array.from({ length: 120 }, () => w.request('POST', '/api/sign-in-code')),
    );
    expect(asked.filter(({ status }) => status === 201)).toHaveLength(100);
  });
});

describe('who guesses codes', () => {
  it('is slowed by address, and only for a minute', async () => {
    await using w = await world({ plugins });
    const { code } = await newCode(w);
    for (let guess = 0; guess < 20; guess += 1)
      expect(await outcome(w, `guess${guess}`, '192.0.2.1')).toEqual([403, 'sign_in.refused']);
    const slowed = await signIn(w, code, '192.0.2.1');
    expect([slowed.status, slowed.body.code, slowed.headers.get('retry-after')]).toEqual([
      429,
      'sign_in.too_many',
      '60',
    ]);
    expect(await outcome(w, 'guess', '192.0.2.2')).toEqual([403, 'sign_in.refused']);
    await w.advance('1m');
    expect(await outcome(w, code, '192.0.2.1')).toEqual([200, 'signed in']);
  });

  it('is slowed with all IPv6 addresses of the network', async () => {
    await using w = await world({ plugins });
    for (let guess = 0; guess < 20; guess += 1)
      expect(await outcome(w, `guess${guess}`, `2001:db8:1:2::${guess}`)).toEqual([403, 'sign_in.refused']);
    expect(await outcome(w, 'guess', '2001:db8:1:2:3:4:5:6')).toEqual([429, 'sign_in.too_many']);
    expect(await outcome(w, 'guess', '2001:db8:1:3::1')).toEqual([403, 'sign_in.refused']);
  });
});
