import { createPrivateKey, sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { ask } from '../../kit/dialect.ts';
import type { World } from '../../kit/world.ts';
import { clientOf, muxWorld } from './kit.ts';

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token as the client of Mux writes it: the id of the key is a claim. */
function token(
  { id, private_key: key }: { id: string; private_key: string },
  claims: Record<string, unknown>,
) {
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ kid: id, ...claims })}`;
  const pem = createPrivateKey(Buffer.from(key, 'base64').toString());
  return `${text}.${sign('sha256', Buffer.from(text), pem).toString('base64url')}`;
}

async function signed() {
  const w = await muxWorld();
  const mux = await clientOf(w);
  const key = (await mux('POST', '/system/v1/signing-keys')).body.data;
  const { data } = (await mux('POST', '/video/v1/live-streams', { playback_policy: ['signed', 'signed'] }))
    .body;
  const native = (await w.request('GET', `/api/stream/${data.id}`)).body;
  await w.given.broadcast(native);
  w.media.serve = () => ({ type: 'playlist', body: '#EXTM3U\n', maxAge: 1 });
  const [{ id: own }, { id: second }] = data.playback_ids;
  return { w, mux, key, own, second };
}

/** What becomes of a token at the playlist that the playback id leads to. */
async function played(w: World, id: string, text: string, headers: Record<string, string> = {}) {
  const first = await ask(w, `/mux/${id}.m3u8?token=${text}`, { headers });
  const { pathname, search } = new URL(first.headers.get('location') ?? 'http://none/none');
  return (await ask(w, `${pathname}${search}`, { headers })).status;
}

it('open what they name: by either playback id, until they expire or their key is gone', async () => {
  const { w, mux, key, own, second } = await signed();
  await using _ = w;
  expect([key.created_at, Buffer.from(key.private_key, 'base64').toString()]).toEqual([
    String(Math.floor(w.now() / 1000)),
    expect.stringContaining('BEGIN PRIVATE KEY'),
  ]);
  const exp = Math.floor(w.now() / 1000) + 3600;
  const claims = { aud: 'v', sub: own, exp };
  expect(await played(w, own, token(key, claims))).toBe(200);
  expect(await played(w, second, token(key, { ...claims, sub: second }))).toBe(200);
  for (const wrong of [
    { aud: 't' },
    { aud: 'd' },
    { sub: 'other' },
    { sub: 1 },
    { exp: 1 },
    { exp: 'x' },
    { kid: 'x' },
    { kid: 1 },
  ])
    expect([wrong, await played(w, own, token(key, { ...claims, ...wrong }))]).toEqual([wrong, 403]);
  expect(await played(w, own, `${token(key, claims).slice(0, -8)}AAAAAAAA`)).toBe(403);
  const keys = '/system/v1/signing-keys';
  const { private_key: _private, ...shown } = key;
  expect((await mux('GET', keys)).body.data).toEqual([shown]);
  expect((await mux('GET', `${keys}/${key.id}`)).body.data).toEqual(shown);
  expect((await mux('DELETE', `${keys}/${key.id}`)).status).toBe(204);
  await w.advance('5s');
  expect(await played(w, own, token(key, claims))).toBe(403);
});

it('without a time of signing are over when everybody is revoked who was seen before', async () => {
  const { w, key, own } = await signed();
  await using _ = w;
  const exp = Math.floor(w.now() / 1000) + 3600;
  const text = token(key, { aud: 'v', sub: own, exp });
  expect(await played(w, own, text)).toBe(200);
  await w.advance('1m');
  expect((await w.request('POST', `/api/playback/${own}/revoke`, { body: {} })).status).toBe(204);
  await w.advance('1m');
  expect(await played(w, own, text)).toBe(403);
  expect(await played(w, own, token(key, { aud: 'v', sub: own, exp: exp + 1 }))).toBe(200);
});

it('of a playback id that another account made up are not asked for', async () => {
  const { w, own } = await signed();
  await using _ = w;
  const { id: asset } = (await w.request('POST', '/api/asset/request-upload', { body: { name: 'a' } })).body
    .asset;
  const mux = { playbackIds: [{ id: 'an-old-id-of-somebody', policy: 'signed' }] };
  await w.request('PATCH', `/api/asset/${asset}`, { body: { mux } });
  const rows = await w.store.resources.list('mux-playback-id', { limit: 10 });
  expect(rows.map(({ id }) => id)).not.toContain('an-old-id-of-somebody');
  expect(own).toMatch(/^[0-9a-z]{16}$/);
});

it('with a playback restriction open it to the pages of its domains', async () => {
  const { w, mux, key, own } = await signed();
  await using _ = w;
  const path = '/video/v1/playback-restrictions';
  const referrer = { allowed_domains: ['*.example.com', 'Example.org'], allow_no_referrer: false };
  const made = await mux('POST', path, { referrer });
  expect(made).toMatchObject({ status: 201, body: { data: { referrer, created_at: expect.any(String) } } });
  const { id } = made.body.data;
  const text = token(key, {
    aud: 'v',
    sub: own,
    exp: Math.floor(w.now() / 1000) + 3600,
    playback_restriction_id: id,
  });
  const from = (origin?: string) => played(w, own, text, origin === undefined ? {} : { origin });
  expect([await from('https://www.example.com'), await from('https://example.org')]).toEqual([200, 200]);
  expect([await from('https://example.net'), await from()]).toEqual([403, 403]);
  const wider = { allowed_domains: ['example.net'], allow_no_referrer: true };
  expect((await mux('PUT', `${path}/${id}/referrer`, wider)).body.data.referrer).toEqual(wider);
  expect([await from('https://example.net'), await from(), await from('https://example.org')]).toEqual([
    200, 200, 403,
  ]);
  expect((await mux('PUT', `${path}/${id}/referrer`, { allowed_domains: ['*'] })).status).toBe(200);
  expect([await from('https://example.org'), await from()]).toEqual([200, 200]);
  expect((await mux('PUT', `${path}/${id}/referrer`, { allowed_domains: [] })).status).toBe(200);
  expect([await from('https://example.org'), await from()]).toEqual([403, 200]);
  expect((await mux('GET', path)).body.data.map((one: { id: string }) => one.id)).toEqual([id]);
  expect((await mux('POST', path, { referrer: { allowed_domains: ['a b'] } })).status).toBe(422);
  const all = { allowed_domains: ['*'], allow_no_referrer: false };
  expect((await mux('POST', path, { referrer: all })).status).toBe(400);
  const agents = { allow_no_user_agent: false, allow_high_risk_user_agent: true };
  expect((await mux('POST', path, { referrer, user_agent: agents })).status).toBe(400);
  expect((await mux('DELETE', `${path}/${id}`)).status).toBe(204);
  expect([await from('https://example.org'), (await mux('GET', `${path}/${id}`)).status]).toEqual([403, 404]);
});
