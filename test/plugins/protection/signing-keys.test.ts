import { createPrivateKey, createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { maxSigningKeys, maxWaiting, pairMaker } from '../../../plugins/protection/signing-keys.ts';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { type World, world } from '../../kit/world.ts';
import { tokenOf } from './kit.ts';

const plugins = await allPlugins();
const path = '/api/signing-key';

const make = (
  w: World,
  body: Record<string, unknown> = {},
  more: { key?: string; headers?: Record<string, string> } = {},
) => w.request('POST', path, { body, ...more });
const jwks = async (w: World, account: string) =>
  w.request('GET', `/.well-known/jwks.json?account=${account}`, { key: null });

describe('a signing key', () => {
  it.each(['ES256', 'RS256'] as const)(
    'is a pair, whose private half is shown once and kept nowhere: %s',
    async (algorithm) => {
      await using w = await world({ plugins });
      const { status, body, headers } = await make(w, { name: 'Website', algorithm });
      const { privateKey, ...shown } = body;
      expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
      expect(shown).toEqual({
        ...{ id: body.id, name: 'Website', algorithm, createdAt: w.now() },
        publicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/),
      });
      expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
      const half = createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' });
      expect(half).toBe(body.publicKey);
      expect((await w.request('GET', `${path}/${body.id}`)).body).toEqual(shown);
      expect((await w.request('GET', path)).body).toEqual([shown]);
      const rows = await w.store.resources.list('signing-key', { limit: 10 });
      const kept = JSON.stringify([rows, w.lines, await w.events()]);
      for (const line of privateKey.split('\n').slice(1, 3)) expect(kept).not.toContain(line);
      // `d` is the private member of a JWK.
      expect(JSON.parse(rows[0]?.body ?? '').jwk).not.toHaveProperty('d');
    },
  );

  it('is ES256 by default, and nothing else than ES256 and RS256', async () => {
    await using w = await world({ plugins });
    expect((await make(w)).body).toMatchObject({ algorithm: 'ES256', name: 'Signing key' });
    for (const algorithm of ['HS256', 'none', 'EdDSA', '', null, ['ES256']])
      expect([algorithm, (await make(w, { algorithm })).status]).toEqual([algorithm, 422]);
  });

  it('is not shown by a repeat, nor stored for one', async () => {
    await using w = await world({ plugins });
    const headers = { 'idempotency-key': 'one' };
    const first = await make(w, {}, { headers });
    const again = await make(w, {}, { headers });
    expect([first.status, again.status, again.body.code]).toEqual([201, 409, 'idempotency.shown_once']);
    expect((await w.request('GET', path)).body).toHaveLength(1);
    const rows = JSON.stringify(await w.store.resources.list('idempotency', { limit: 10 }));
    expect(rows).toContain('idempotency.shown_once');
    expect(rows).not.toContain('PRIVATE KEY');
  });

  it('is in the audit log, made and deleted', async () => {
    await using w = await world({ plugins });
    const { id } = (await make(w)).body;
    await w.advance('1s');
    expect((await w.request('DELETE', `${path}/${id}`)).status).toBe(204);
    const { body } = await w.request('GET', '/api/audit');
    expect(body.map(({ action, target }: Record<string, unknown>) => [action, target])).toEqual([
      ['DELETE /api/signing-key/{id}', id],
      ['POST /api/signing-key', id],
    ]);
    expect((await w.request('GET', `${path}/${id}`)).body.code).toBe('signing_key.not_found');
    expect((await w.request('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  it('is of one account', async () => {
    await using w = await world({ plugins });
    const other = await anotherAccount(w);
    const { id } = (await make(w, {}, { key: other.key })).body;
    for (const method of ['GET', 'DELETE'])
      expect((await w.request(method, `${path}/${id}`)).status).toBe(404);
    expect((await w.request('GET', path)).body).toEqual([]);
    expect((await w.request('GET', path, { key: null })).status).toBe(401);
    // It opens nothing of another one.
    const stream = await w.given.stream({ playbackPolicy: { type: 'signed' } });
    const { privateKey, algorithm } = (await make(w, {}, { key: other.key })).body;
    const token = tokenOf(
      { id, privateKey, algorithm },
      { sub: stream.playbackId, exp: w.now() / 1000 + 60 },
    );
    const check = await w.request('POST', `/api/playback/${stream.playbackId}/check`, { body: { token } });
    expect(check.body).toMatchObject({ allowed: false, rule: 'token.key' });
  });

  it('is one of a bounded number, and a deleted one counts no more', async () => {
    await using w = await world({ plugins });
    const ids = [];
    for (let at = 0; at < maxSigningKeys; at += 1) ids.push((await make(w)).body.id);
    const more = await make(w);
    expect([more.status, more.body.code]).toEqual([409, 'signing_key.too_many']);
    await w.request('DELETE', `${path}/${ids[0]}`);
    expect((await make(w)).status).toBe(201);
    const other = await anotherAccount(w);
    expect((await make(w, {}, { key: other.key })).status).toBe(201);
  });

  it('waits for those that are made before it, and not for ever', async () => {
    const making: (() => void)[] = [];
    const make = pairMaker(async () => {
      await new Promise<void>((resolve) => making.push(resolve));
      return { privateKey: '', publicKey: '', jwk: { kty: 'RSA', n: '', e: '' } };
    });
    const made = Array.from({ length: maxWaiting }, () => make('RS256'));
    await expect(make('RS256')).rejects.toMatchObject({ code: 'server.busy', status: 503 });
    for (const one of made) {
      await Promise.resolve();
      await Promise.resolve();
      expect(making).toHaveLength(1);
      making.pop()?.();
      await one;
    }
    const more = make('RS256');
    await Promise.resolve();
    making.pop()?.();
    await more;
  });
});

describe('the public halves', () => {
  it('are for everybody, as a JWKS document', async () => {
    await using w = await world({ plugins });
    const ec = (await make(w)).body;
    await w.advance('1s');
    const rsa = (await make(w, { algorithm: 'RS256' })).body;
    await make(w, { jwksUrl: 'https://id.example.com/keys' });
    const { userId: account } = await w.given.stream();
    await w.advance('1s');
    const { status, headers, body } = await jwks(w, account);
    expect([status, headers.get('cache-control'), headers.get('access-control-allow-origin')]).toEqual([
      200,
      'public, max-age=60',
      '*',
    ]);
    expect(body.keys.map((key: Record<string, unknown>) => [key.kid, key.alg, key.kty, key.use])).toEqual([
      [ec.id, 'ES256', 'EC', 'sig'],
      [rsa.id, 'RS256', 'RSA', 'sig'],
    ]);
    const { kid: _, alg: __, use: ___, ...jwk } = body.keys[0];
    const half = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    expect(half).toBe(ec.publicKey);
    await w.request('DELETE', `${path}/${ec.id}`);
    expect((await jwks(w, account)).body.keys).toHaveLength(1);
  });

  it('are none of an account that is not there, and need one', async () => {
    await using w = await world({ plugins });
    expect((await jwks(w, 'none')).body).toEqual({ keys: [] });
    for (const query of ['', '?account=', `?account=${'a'.repeat(9999)}`]) {
      const answer = await w.request('GET', `/.well-known/jwks.json${query}`, { key: null });
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([422, 'no-store']);
    }
  });
});

it('tokens of a deleted key are refused at once where it was deleted, within 2 s elsewhere', async () => {
  await using w = await world({ plugins });
  const key = (await make(w)).body;
  const { playbackId } = await w.given.stream({ playbackPolicy: { type: 'signed' } });
  const token = tokenOf(key, { sub: playbackId, exp: w.now() / 1000 + 600 });
  const check = async () =>
    (await w.request('POST', `/api/playback/${playbackId}/check`, { body: { token } })).body.rule ??
    'allowed';
  expect(await check()).toBe('allowed');
  // As another node does it.
  const [row] = await w.store.resources.list('signing-key', { limit: 1 });
  if (!row) throw new Error('no row');
  await w.store.write({
    rows: [{ ...row, kind: 'signing-key', body: null, indexes: {} }],
    ...{ events: [], at: w.now() },
  });
  expect(await check()).toBe('allowed');
  await w.advance('2s');
  expect(await check()).toBe('token.key');
  const again = (await make(w)).body;
  const anew = tokenOf(again, { sub: playbackId, exp: w.now() / 1000 + 600 });
  const checked = await w.request('POST', `/api/playback/${playbackId}/check`, { body: { token: anew } });
  expect(checked.body).toEqual({ allowed: true });
  await w.request('DELETE', `${path}/${again.id}`);
  const gone = await w.request('POST', `/api/playback/${playbackId}/check`, { body: { token: anew } });
  expect(gone.body.rule).toBe('token.key');
});
