import { createHmac, createPrivateKey, sign } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { type FoundKey, newKeyPair } from '../../../plugins/protection/signing-keys.ts';
import { tokenVerifier } from '../../../plugins/protection/token.ts';
import { publicJwk, verificationKey } from '../../../plugins/protection/verification-key.ts';

const [es, rs, other] = await Promise.all([newKeyPair('ES256'), newKeyPair('RS256'), newKeyPair('ES256')]);
const pairs = { es, rs, other };
const algorithmOf = { es: 'ES256', rs: 'RS256', other: 'ES256' } as const;
const now = Date.UTC(2026, 0, 1);
const seconds = now / 1000;
const account = 'a';

const found = new Map<string, FoundKey>();
for (const id of ['es', 'rs'] as const) {
  const jwk = publicJwk(pairs[id].jwk);
  if (jwk) found.set(id, { id, ...(await verificationKey(jwk)) });
}
const lookups: string[] = [];
const keys = {
  find: async (of: string, kid: string) => {
    lookups.push(kid);
    return of === account ? found.get(kid) : undefined;
  },
};
const verify = tokenVerifier({}, { keys });
const at = (text: string, time = now) => verify(text, { account, now: time });

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A token as a customer makes it. Headers and claims may be text, for what no JSON writer makes. */
function signed(
  claims: Record<string, unknown> | string,
  { by = 'es', header = {} }: { by?: keyof typeof pairs; header?: Record<string, unknown> | string } = {},
): string {
  const head = typeof header === 'string' ? header : { alg: algorithmOf[by], kid: by, ...header };
  const text = `${part(head)}.${part(claims)}`;
  const key = createPrivateKey(pairs[by].privateKey);
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const good = { sub: 'p', exp: seconds + 600 };
const ruleOf = async (text: string, time = now) => {
  const result = await at(text, time);
  return 'problem' in result ? result.problem.rule : 'good';
};

describe('a token', () => {
  it.each(['es', 'rs'] as const)('is verified with its key: %s', async (by) => {
    expect(await at(signed(good, { by }))).toMatchObject({
      claims: { keyId: by, subject: 'p', audience: 'all', expiresAt: seconds + 600 },
    });
  });

  it('says for whom, where and how long it is', async () => {
    const claims = {
      ...{ nbf: seconds - 5, iat: seconds - 5, aud: ['playback', 'image'], maxHeight: 720, viewer: 'ann' },
      ...{ origins: ['https://*.example.com'], cidrs: ['192.0.2.0/24'], countries: ['DE'] },
    };
    const { nbf: notBefore, iat: issuedAt, aud: audience, ...same } = claims;
    expect(await at(signed({ ...good, ...claims }))).toMatchObject({
      claims: {
        ...{ keyId: 'es', subject: 'p', expiresAt: seconds + 600, notBefore, issuedAt, audience },
        ...same,
      },
    });
  });

  it.each([
    [undefined, 'all'],
    ['playback', 'all'],
    ['download', ['download']],
    [['playback'], ['playback']],
    [
      ['image', 'download', 'https://other.example'],
      ['download', 'image'],
    ],
  ])('opens what aud says: %j', async (aud, audience) => {
    expect(await at(signed({ ...good, aud }))).toMatchObject({ claims: { audience } });
  });

  it('counts 60 s longer and sooner than it says, for clocks that differ', async () => {
    const text = signed({ sub: 'p', nbf: seconds + 120, exp: seconds + 240 });
    expect(await Promise.all([59, 60, 299, 300].map((after) => ruleOf(text, now + after * 1000)))).toEqual([
      'token.not_yet',
      'good',
      'good',
      'token.expired',
    ]);
    // Made in the future, it would outlive the next revocation.
    expect(await ruleOf(signed({ ...good, iat: seconds + 61 }))).toBe('token.not_yet');
    expect(await ruleOf(signed({ ...good, iat: seconds + 60 }))).toBe('good');
  });

  it('takes the last of two claims of one name, as RFC 7519 has it', async () => {
    const text = signed(`{"sub":"p","exp":1,"exp":${seconds + 60},"sub":"q"}`);
    expect(await at(text)).toMatchObject({ claims: { subject: 'q', expiresAt: seconds + 60 } });
  });

  it('costs no second signature, and none is remembered beyond its key, its account or its end', async () => {
    const text = signed({ ...good, sub: 'again' });
    const signatures = vi.spyOn(crypto.subtle, 'verify');
    expect(await Promise.all([ruleOf(text), ruleOf(signed({ ...good, sub: 'once' }))])).toEqual([
      'good',
      'good',
    ]);
    expect(await ruleOf(text)).toBe('good');
    expect(signatures).toHaveBeenCalledTimes(2);
    signatures.mockRestore();
    const key = found.get('es') as FoundKey;
    // With another key of the same id it would not be verified.
    found.set('es', { id: 'es', ...(await verificationKey(pairs.other.jwk)) });
    expect(await ruleOf(text)).toBe('token.signature');
    // The very key that it was verified with: what is remembered counts.
    found.set('es', key);
    expect(await ruleOf(text)).toBe('good');
    expect(await ruleOf(text, now + 700_000)).toBe('token.expired');
    found.delete('es');
    expect(await ruleOf(text)).toBe('token.key');
    found.set('es', key);
    expect(await verify(text, { account: 'b', now })).toMatchObject({ problem: { rule: 'token.key' } });
  });
});

describe('a token that is none', () => {
  const [head, claims, signature] = signed(good).split('.') as [string, string, string];
  const hmacOf = (secret: string) => {
    const text = `${part({ alg: 'HS256', kid: 'es' })}.${part(good)}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const noSignature = (alg: string) => `${part({ alg, kid: 'es' })}.${part(good)}`;

  it.each([
    ['nothing', '', 'token.malformed'],
    ['two parts', `${head}.${claims}`, 'token.malformed'],
    ['four parts', `${head}.${claims}.${signature}.`, 'token.malformed'],
    ['five parts, as an encrypted one', `${head}.a.${claims}.${signature}.b`, 'token.malformed'],
    ['another alphabet', `${head}.${claims}.${signature.slice(0, -1)}+`, 'token.malformed'],
    ['padding', `${head}.${claims}.${signature}==`, 'token.malformed'],
    ['a line break', `${head}.${claims}.${signature}\n`, 'token.malformed'],
    ['a NUL', `${head}.${claims}.\u0000`, 'token.malformed'],
    [
      'JSON serialization',
      JSON.stringify({ protected: head, payload: claims, signature }),
      'token.malformed',
    ],
    ['more than 4 KB', signed({ ...good, x: 'x'.repeat(4096) }), 'token.malformed'],
    ['no signature', `${noSignature('none')}.`, 'token.malformed'],
    ['alg none, with a signature', `${noSignature('none')}.${signature}`, 'token.malformed'],
    ['alg NONE', `${noSignature('NONE')}.${signature}`, 'token.malformed'],
    ['HS256 with the public key', hmacOf(es.publicKey), 'token.malformed'],
    ['HS256 with the key as JWK', hmacOf(JSON.stringify(es.jwk)), 'token.malformed'],
    ['another algorithm of the key', signed(good, { by: 'rs', header: { alg: 'PS256' } }), 'token.malformed'],
    ['a longer hash', signed(good, { header: { alg: 'ES384' } }), 'token.malformed'],
    ['alg of the other kind', signed(good, { header: { alg: 'RS256' } }), 'token.key'],
    ['alg of a prototype', signed(good, { header: { alg: 'constructor' } }), 'token.malformed'],
    ['alg as a list', signed(good, { header: { alg: ['ES256'] } }), 'token.malformed'],
    ['no kid', signed(good, { header: { kid: undefined } }), 'token.malformed'],
    ['kid as a number', signed(good, { header: { kid: 1 } }), 'token.malformed'],
    ['a long kid', signed(good, { header: { kid: 'k'.repeat(201) } }), 'token.malformed'],
    ['an unknown kid', signed(good, { header: { kid: 'none' } }), 'token.key'],
    ['kid of a prototype', signed(good, { header: { kid: '__proto__' } }), 'token.key'],
    ['the kid of another key', signed(good, { by: 'other', header: { kid: 'es' } }), 'token.signature'],
    [
      'a key of its own',
      signed(good, { by: 'other', header: { kid: 'es', jwk: other.jwk } }),
      'token.signature',
    ],
    [
      'the address of a key',
      signed(good, { by: 'other', header: { kid: 'es', jku: 'http://a.example' } }),
      'token.signature',
    ],
    ['b64', signed(good, { header: { b64: false, crit: ['b64'] } }), 'token.malformed'],
    ['b64 without crit', signed(good, { header: { b64: false } }), 'token.malformed'],
    ['crit', signed(good, { header: { crit: ['exp'], exp: 1 } }), 'token.malformed'],
    ['empty crit', signed(good, { header: { crit: [] } }), 'token.malformed'],
    ['a header that is a list', signed(good, { header: '[]' }), 'token.malformed'],
    ['a header that is no JSON', signed(good, { header: '{' }), 'token.malformed'],
    ['claims that are a list', signed('[]'), 'token.malformed'],
    ['claims that are null', signed('null'), 'token.malformed'],
    ['claims that are no UTF-8', signedBytes(Buffer.from([0x7b, 0xff, 0x7d])), 'token.malformed'],
    ['other claims', `${head}.${part({ ...good, exp: seconds + 9999 })}.${signature}`, 'token.signature'],
    ['another signature', `${head}.${claims}.${part('a'.repeat(64))}`, 'token.signature'],
    ['a short signature', `${head}.${claims}.AAAA`, 'token.signature'],
    [
      'a signature of zeros',
      `${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`,
      'token.signature',
    ],
  ])('%s', async (_name, text, rule) => {
    expect(await ruleOf(text)).toBe(rule);
  });

  function signedBytes(bytes: Buffer): string {
    const text = `${part({ alg: 'ES256', kid: 'es' })}.${bytes.toString('base64url')}`;
    const key = { key: createPrivateKey(es.privateKey), dsaEncoding: 'ieee-p1363' } as const;
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  }
});

describe('claims that are none', () => {
  const many = (one: string) => Array(101).fill(one);
  it.each([
    ['no exp', { sub: 'p' }],
    ['exp as text', { ...good, exp: String(seconds + 60) }],
    ['exp as null', { ...good, exp: null }],
    ['exp as 1e300', `{"sub":"p","exp":1e300}`],
    ['exp as 1e999, which is infinite', `{"sub":"p","exp":1e999}`],
    ['exp in milliseconds', { ...good, exp: now * 1000 }],
    ['negative exp', { ...good, exp: -1 }],
    ['nbf as text', { ...good, nbf: '0' }],
    ['nbf as a list', { ...good, nbf: [] }],
    ['iat as text', { ...good, iat: 'now' }],
    ['no sub', { exp: good.exp }],
    ['empty sub', { ...good, sub: '' }],
    ['sub as a list', { ...good, sub: ['p'] }],
    ['a long sub', { ...good, sub: 'p'.repeat(129) }],
    ['aud of others', { ...good, aud: 'https://other.example' }],
    ['no aud in the list', { ...good, aud: [] }],
    ['aud as null', { ...good, aud: null }],
    ['a wrong one in aud', { ...good, aud: ['playback', 1] }],
    ['too many in aud', { ...good, aud: many('playback') }],
    ['no origins in the list', { ...good, origins: [] }],
    ['origins as text', { ...good, origins: 'https://a.example' }],
    ['origins as null', { ...good, origins: null }],
    ['an origin with a path', { ...good, origins: ['https://a.example/'] }],
    ['the origin of everybody', { ...good, origins: ['*'] }],
    ['the opaque origin', { ...good, origins: ['null'] }],
    ['too many origins', { ...good, origins: many('https://a.ex') }],
    ['a cidr that is none', { ...good, cidrs: ['192.0.2.0/33'] }],
    ['a cidr as a number', { ...good, cidrs: [1] }],
    ['too many cidrs', { ...good, cidrs: many('::/0') }],
    ['a country in small letters', { ...good, countries: ['de'] }],
    ['a country with three letters', { ...good, countries: ['DEU'] }],
    ['too many countries', { ...good, countries: many('DE') }],
    ['maxHeight 0', { ...good, maxHeight: 0 }],
    ['maxHeight as text', { ...good, maxHeight: '720' }],
    ['maxHeight in halves', { ...good, maxHeight: 720.5 }],
    ['a huge maxHeight', { ...good, maxHeight: 1e9 }],
    ['an empty viewer', { ...good, viewer: '' }],
    ['a long viewer', { ...good, viewer: 'v'.repeat(129) }],
    ['a viewer as an object', { ...good, viewer: {} }],
  ])('%s', async (_name, claims) => {
    expect(await ruleOf(signed(claims))).toBe('token.claims');
  });

  it('are none by a name of the prototype', async () => {
    expect(await ruleOf(signed(`{"__proto__":{"sub":"p","exp":${seconds + 60}}}`))).toBe('token.claims');
  });
});

it('tells the owner the id of an unknown key only if it looks like one', async () => {
  expect(await at(signed(good, { header: { kid: '<script>' } }))).toEqual({
    problem: { rule: 'token.key', reason: 'The account has no signing key of this id (kid).' },
  });
});

it('looks for keys of what may be a token only', async () => {
  lookups.length = 0;
  for (const text of ['a.b.c', 'x', `${part({ alg: 'none', kid: 'es' })}.e30.AAAA`]) await at(text);
  expect(lookups).toEqual([]);
});
