import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type KeyPair, newKeyPair } from '../../../plugins/protection/signing-keys.ts';
import { publicJwk } from '../../../plugins/protection/verification-key.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { tokenOf } from './kit.ts';

const plugins = await allPlugins();
const [ec, rsa, fresh] = await Promise.all([newKeyPair('ES256'), newKeyPair('RS256'), newKeyPair('ES256')]);
const url = 'https://id.example.com/keys?secret=1';

type Served = { status?: number; body?: unknown; raw?: string } | 'away';

/** A server with a signed stream whose account has keys of its own at a URL. */
async function given(served: Served) {
  const w = await world({ plugins });
  let now = served;
  w.outbound.answer('https://id.example.com/', (_, { owner }) => {
    expect(owner).toBe(stream.userId);
    if (now === 'away') return { ok: false, reason: 'connect', message: 'nobody answers' };
    const { status = 200, body, raw = JSON.stringify(body) } = now;
    return { status, body: Buffer.from(raw), isCut: raw.length > 65_536 };
  });
  const stream = await w.given.stream({ playbackPolicy: { type: 'signed' } });
  const row = (await w.request('POST', '/api/signing-key', { body: { name: 'Own', jwksUrl: url } })).body;
  const check = async (kid: string, { privateKey }: KeyPair, algorithm = 'ES256') => {
    const claims = { sub: stream.playbackId, exp: Math.floor(w.now() / 1000) + 60 };
    const token = tokenOf({ id: kid, privateKey, algorithm }, claims);
    const { body } = await w.request('POST', `/api/playback/${stream.playbackId}/check`, { body: { token } });
    return body.rule ?? 'allowed';
  };
  const reads = () => w.outbound.sent.length;
  const serve = (next: Served) => {
    now = next;
  };
  return { w, stream, row, check, reads, serve };
}

const keysOf = (keys: Record<string, KeyPair>) => ({
  body: { keys: Object.entries(keys).map(([kid, { jwk }]) => ({ ...jwk, kid })) },
});

describe('keys of an account’s own', () => {
  it('verify tokens, read once', async () => {
    const { w, row, check, reads } = await given(keysOf({ a: ec, b: rsa }));
    await using _ = w;
    expect(row).toEqual({ id: row.id, name: 'Own', jwksUrl: url, createdAt: w.now() });
    expect(reads()).toBe(0);
    expect(await Promise.all([check('a', ec), check('b', rsa, 'RS256')])).toEqual(['allowed', 'allowed']);
    expect(await check('a', rsa, 'RS256')).toBe('token.key');
    expect(await check('a', fresh)).toBe('token.signature');
    expect(reads()).toBe(1);
    const { request } = w.outbound.sent[0] ?? {};
    expect(request).toMatchObject({ timeout: 3000, maxBytes: 65_536 });
    expect(request?.redirects ?? 0).toBe(0);
    await w.request('DELETE', `/api/signing-key/${row.id}`);
    expect(await check('a', ec)).toBe('token.key');
  });

  it('are looked for again for an unknown one, at most every 30 s', async () => {
    const { w, check, reads, serve } = await given(keysOf({ a: ec }));
    await using _ = w;
    expect(await check('a', ec)).toBe('allowed');
    serve(keysOf({ a: ec, new: fresh }));
    for (let at = 0; at < 20; at += 1) expect(await check(`made-up-${at}`, fresh)).toBe('token.key');
    expect([await check('new', fresh), reads()]).toEqual(['token.key', 1]);
    await w.advance('30s');
    const both = await Promise.all([check('new', fresh), check('a', ec)]);
    expect([both, reads()]).toEqual([['allowed', 'allowed'], 2]);
  });

  it('are read again beside the requests, and a withdrawn one is out', async () => {
    const { w, check, reads, serve } = await given(keysOf({ a: ec, b: rsa }));
    await using _ = w;
    expect(await check('a', ec)).toBe('allowed');
    serve(keysOf({ b: rsa }));
    await w.advance('5m');
    expect([await check('a', ec), reads()]).toEqual(['allowed', 2]);
    expect(await check('a', ec)).toBe('token.key');
    expect(await check('b', rsa, 'RS256')).toBe('allowed');
  });

  it('count for an hour while they cannot be read, and again after that', async () => {
    const { w, check, serve } = await given(keysOf({ a: ec }));
    await using _ = w;
    expect(await check('a', ec)).toBe('allowed');
    serve('away');
    await w.advance('59m');
    expect(await check('a', ec)).toBe('allowed');
    await w.advance('1m');
    expect(await check('a', ec)).toBe('token.key');
    serve(keysOf({ a: ec }));
    await w.advance('30s');
    expect(await check('a', ec)).toBe('allowed');
  });

  it('are none in what is no such document', async () => {
    const { w, check, serve } = await given('away');
    await using _ = w;
    const answers: [string, Served][] = [
      ['nobody', 'away'],
      ['an error', { status: 500, body: keysOf({ a: ec }).body }],
      ['a redirect', { status: 302, body: keysOf({ a: ec }).body }],
      ['more than 64 KiB', { raw: JSON.stringify({ ...keysOf({ a: ec }).body, x: 'x'.repeat(70_000) }) }],
      ['no JSON', { raw: '<html>' }],
      ['null', { body: null }],
      ['no list', { body: { keys: { a: ec.jwk } } }],
      ['null in the list', { body: { keys: [null, 1, 'a', []] } }],
      [
        'it behind fifty others',
        { body: { keys: [...Array(50).fill({ kid: 'x' }), { ...ec.jwk, kid: 'a' }] } },
      ],
      ['it without its id', { body: { keys: [ec.jwk] } }],
      ['it for encryption', { body: { keys: [{ ...ec.jwk, kid: 'a', use: 'enc' }] } }],
      ['it for signing', { body: { keys: [{ ...ec.jwk, kid: 'a', key_ops: ['sign'] }] } }],
      ['it for another algorithm', { body: { keys: [{ ...ec.jwk, kid: 'a', alg: 'ES384' }] } }],
      ['a point that is not on the curve', { body: { keys: [{ ...ec.jwk, kid: 'a', x: 'A'.repeat(43) }] } }],
      ['a secret', { body: { keys: [{ kty: 'oct', kid: 'a', k: 'AAAA' }] } }],
    ];
    for (const [name, served] of answers) {
      serve(served);
      await w.advance('30s');
      expect([name, await check('a', ec)]).toEqual([name, 'token.key']);
    }
    serve(keysOf({ a: ec }));
    await w.advance('30s');
    expect(await check('a', ec)).toBe('allowed');
  });

  it('are at an address that may be asked, without an algorithm', async () => {
    await using w = await world({ plugins });
    for (const body of [
      { jwksUrl: 'ftp://id.example.com/' },
      { jwksUrl: 'https://' },
      { jwksUrl: 'https://user:password@id.example.com/' },
      { jwksUrl: `https://id.example.com/${'x'.repeat(2000)}` },
      { jwksUrl: url, algorithm: 'ES256' },
    ])
      expect([body, (await w.request('POST', '/api/signing-key', { body })).status]).toEqual([body, 422]);
  });
});

describe('an RSA key that costs too much, or is too weak', () => {
  const jwkOf = (modulusLength: number, publicExponent = 65_537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' });
  it('is none', () => {
    expect(publicJwk(jwkOf(2048))).toMatchObject({ kty: 'RSA' });
    expect(publicJwk(jwkOf(1024))).toBeUndefined();
    const long = { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(513, 1).toString('base64url') };
    expect(publicJwk(long)).toBeUndefined();
    expect(publicJwk({ ...jwkOf(2048), e: 'A'.repeat(100) })).toBeUndefined();
    expect(publicJwk({ ...jwkOf(2048), e: 'AQAB ' })).toBeUndefined();
  });
});
