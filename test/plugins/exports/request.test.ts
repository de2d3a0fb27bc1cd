import { afterAll, describe, expect, it } from 'vitest';
import { uuid } from '../../../core/base/ids.ts';
import { headerBytes, mostHeaders as mostHere, mostUrlCharacters } from '../../../plugins/exports/body.ts';
import { mostRedirects as mostFollowed } from '../../../plugins/exports/to-url.ts';
import { outboundLimits } from '../../../runtime/drivers/outbound/limits.ts';
import {
  mostHeaderBytes,
  mostHeaders,
  mostRedirects,
} from '../../../runtime/drivers/outbound/request-head.ts';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { get, studio, url } from './kit.ts';

describe('POST /api/asset/:id/export', () => {
  it('answers 201 with a task of the asset', async () => {
    const { w, ready, ask, account } = await studio();
    await using _ = w;
    const id = await ready();
    const { status, body } = await ask(id, { custom: { url } });
    expect([status, Object.keys(body)]).toEqual([201, ['task']]);
    expect(body.task).toMatchObject({
      ...{ type: 'export', name: 'Friday show', userId: account, inputAssetId: id },
      params: { export: { custom: { url: 'https://bucket.example/film.mp4', method: 'PUT' } } },
    });
    expect(body.task).not.toHaveProperty('outputAssetId');
    expect((await get(w, `/api/task/${body.task.id}`)).type).toBe('export');
  });

  it.each(['put', 'Post', 'pAtCh'])('takes the method in any case: %s', async (method) => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    const { status, body } = await ask(await ready(), { custom: { url, method } });
    expect([status, body.task?.params.export.custom.method]).toEqual([201, method.toUpperCase()]);
    await w.settle();
    expect(w.outbound.sent.at(-1)?.request.method).toBe(method.toUpperCase());
  });

  it('names the key that asked', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    const { key } = (await w.request('POST', '/api/api-token', { body: { name: 'Studio' } })).body;
    const { body } = await ask(await ready(), { ipfs: {} }, { key });
    expect(body.task.createdByTokenName).toBe('Studio');
  });

  it('shows, tells and logs no secret of what was asked', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    const secrets = ['sig-0123456789', 'Bearer to-storage', 'a-jwt.of.mine', 'secret-of-mine', 'key-of-mine'];
    const headers = { Authorization: secrets[1], 'X-Tag': 'a' };
    const bodies = [
      { custom: { url: `${url}#part`, method: 'POST', headers } },
      { ipfs: { pinning: { jwt: secrets[2] }, erc1155Metadata: { image: 'ipfs://x' } } },
      { ipfs: { pinning: { apiKey: secrets[4], apiSecret: secrets[3] }, nftMetadata: { a: 1 } } },
      { ipfs: {} },
    ];
    const id = await ready();
    const answers = [];
    for (const body of bodies) answers.push((await ask(id, body)).body.task.params.export);
    expect(answers).toEqual([
      {
        custom: {
          ...{ url: 'https://bucket.example/film.mp4', method: 'POST' },
          headers: ['Authorization', 'X-Tag'],
        },
      },
      { ipfs: { pinning: true, erc1155Metadata: { image: 'ipfs://x' } } },
      { ipfs: { pinning: true, erc1155Metadata: { a: 1 } } },
      { ipfs: {} },
    ]);
    await w.advance('10m');
    const told = JSON.stringify([await get(w, '/api/task'), await w.events(), w.lines]);
    for (const secret of secrets) expect(told).not.toContain(secret);
  });

  it('makes one task, however often it comes with one Idempotency-Key', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    const id = await ready();
    const given = { headers: { 'idempotency-key': 'k' } };
    const first = await ask(id, { ipfs: {} }, given);
    expect((await ask(id, { ipfs: {} }, given)).body).toEqual(first.body);
    expect((await ask(id, { custom: { url } }, given)).body.code).toBe('idempotency.key_reused');
    expect(await get(w, '/api/task')).toHaveLength(1);
  });

  it('is 404 for an asset of another account or none, and 409 for one without a file', async () => {
    const { w, ready, begin, maker, ask } = await studio();
    await using _ = w;
    const { key } = await anotherAccount(w);
    const id = await ready();
    // Whatever is asked: nobody learns that it is there.
    for (const body of [{ ipfs: {} }, { nonsense: 1 }]) {
      const answers = [await ask(id, body, { key }), await ask(uuid(), body), await ask('x', body)];
      expect(answers.map(({ body: { code } }) => code)).toEqual(Array(3).fill('asset.not_found'));
    }
    const waiting = await begin();
    const [first, second] = [await ask(waiting, { ipfs: {} }), await ask(waiting, {})];
    expect([first.status, first.body.code, second.status]).toEqual([409, 'asset.not_ready', 422]);
    await maker.assets.fail(waiting, 'no');
    expect((await ask(waiting, { ipfs: {} })).body.errors).toEqual(['The asset failed: it has no file.']);
    expect(await get(w, '/api/task')).toEqual([]);
  });

  let shared: ReturnType<typeof unchanging> | undefined;
  const unchanging = async () => {
    const one = await studio();
    return { ...one, id: await one.ready() };
  };
  /** One studio for all that is refused. */
  const unchanged = () => {
    shared ??= unchanging();
    return shared;
  };
  afterAll(async () => {
    await (await shared)?.w[Symbol.asyncDispose]();
  });
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`x-${n}`, 'a']));
  const header = (name: string, value: unknown = 'a') => ({ custom: { url, headers: { [name]: value } } });
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
  it.each<[string, unknown, string]>([
    ['neither', {}, 'ipfs, custom: expected exactly one of them; neither is there'],
    ['both', { ipfs: {}, custom: { url } }, 'ipfs, custom: expected exactly one of them; both are there'],
    ['an unknown field', { ipfs: {}, name: 'x' }, 'name: unknown field'],
    ['ipfs: null', { ipfs: null }, 'ipfs: expected an object, which may be empty'],
    ['ipfs: true', { ipfs: true }, 'ipfs: expected an object, which may be empty'],
    ['a field of ipfs', { ipfs: { pin: {} } }, 'ipfs.pin: unknown field'],
    [
      'no credentials',
      { ipfs: { pinning: {} } },
      'ipfs.pinning: expected either jwt, or apiKey and apiSecret; neither is there',
    ],
    [
      'half a pair',
      { ipfs: { pinning: { apiKey: 'a' } } },
      'ipfs.pinning.apiSecret: is required beside apiKey',
    ],
    [
      'the other half',
      { ipfs: { pinning: { apiSecret: 'a' } } },
      'ipfs.pinning.apiKey: is required beside apiSecret',
    ],
    [
      'too many credentials',
      { ipfs: { pinning: { jwt: 'a', apiKey: 'b', apiSecret: 'c' } } },
      'ipfs.pinning: expected either jwt, or apiKey and apiSecret; both are there',
    ],
    [
      'a token of two lines',
      { ipfs: { pinning: { jwt: 'a\r\nHost: b' } } },
      'ipfs.pinning.jwt: expected up to 4096 letters, digits or signs, without spaces',
    ],
    [
      'metadata by both names',
      { ipfs: { erc1155Metadata: {}, nftMetadata: {} } },
      'ipfs.nftMetadata: is the older name of ipfs.erc1155Metadata; expected one of both',
    ],
    ['metadata as text', { ipfs: { erc1155Metadata: 'a' } }, 'ipfs.erc1155Metadata: expected an object'],
    ['metadata as a list', { ipfs: { nftMetadata: [] } }, 'ipfs.nftMetadata: expected an object'],
    [
      'large metadata',
      { ipfs: { erc1155Metadata: { a: 'ä'.repeat(16_384) } } },
      'ipfs.erc1155Metadata: expected at most 32768 bytes of JSON',
    ],
    ['deep metadata', { ipfs: { nftMetadata: deep(17) } }, 'ipfs.nftMetadata: expected at most 16 levels'],
    [
      'a prototype',
      { ipfs: { erc1155Metadata: JSON.parse('{"a": [{"__proto__": {"b": 1}}]}') } },
      'ipfs.erc1155Metadata: no key may be __proto__',
    ],
    ['custom without a URL', { custom: {} }, 'custom.url: is required'],
    ['no URL', { custom: { url: 'bucket/film' } }, 'custom.url: expected a URL such as'],
    ['a file', { custom: { url: 'file:///etc/passwd' } }, 'custom.url: expected an http or https URL'],
    [
      'a user in the URL',
      { custom: { url: 'https://me:word@a.example/' } },
      'custom.url: a URL with a user or password is not accepted',
    ],
    ['a port of mail', { custom: { url: 'http://a.example:25/' } }, 'custom.url: port 25'],
    [
      'a long URL',
      { custom: { url: `https://a.example/${'a'.repeat(8192)}` } },
      'custom.url: expected an http or https URL of at most 8192 characters',
    ],
    ...['GET', 'DELETE', 'put ', 'puts', 'CONNECT', 'PUT / HTTP/1.1\r\nX: '].map(
      (method): [string, unknown, string] => [
        `the method ${JSON.stringify(method)}`,
        { custom: { url, method } },
        'custom.method: expected "PUT", "POST" or "PATCH"',
      ],
    ),
    ['headers as a list', { custom: { url, headers: ['a'] } }, 'custom.headers: expected object'],
    ['a number as a header', header('x-a', 1), 'custom.headers.x-a: expected text'],
    ...[
      ...['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Keep-Alive', 'Upgrade', 'TE'],
      ...['Trailer', 'Expect', 'proxy-authorization', 'Proxy-Connection', 'HTTP2-Settings'],
    ].map((name): [string, unknown, string] => [
      `the header ${name}`,
      header(name),
      `custom.headers.${name}: the header "${name}" is set by the server`,
    ]),
    ['a header without a name', header(''), 'custom.headers."": "" cannot be the name of a header'],
    ['a name of two lines', header('a\r\nb'), 'custom.headers."a\\r\\nb": "a\\r\\nb" cannot be the name'],
    ['a name with a colon', header('a:b'), 'custom.headers."a:b": "a:b" cannot be the name of a header'],
    ...['a\r\nHost: b', 'a\nb', 'a\0b', 'a\u007f', 'ü', '\u{1f600}'].map(
      (value): [string, unknown, string] => [
        `the value ${JSON.stringify(value)}`,
        header('x-a', value),
        'custom.headers.x-a: the value of the header "x-a" has characters that no header can carry',
      ],
    ),
    [
      'a header twice',
      { custom: { url, headers: { 'X-A': '1', 'x-a': '2' } } },
      'custom.headers: the header "x-a" is given twice',
    ],
    ['many headers', { custom: { url, headers: many } }, 'custom.headers: expected at most 32 headers'],
    [
      'long headers',
      header('x-a', 'a'.repeat(8190)),
      'custom.headers: expected at most 8192 bytes of names and values',
    ],
  ])('refuses %s, naming it', async (_, body, problem) => {
    const { w, ask, id } = await unchanged();
    const answer = await ask(id, body);
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors.join('\n')).toContain(problem);
    expect(await get(w, '/api/task')).toEqual([]);
  });

  it('names every header that is wrong', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    const answer = await ask(await ready(), { custom: { url, headers: { Host: 'a', TE: 'b', 'x-c': 'd' } } });
    expect(answer.body.errors).toEqual([
      'custom.headers.Host: the header "Host" is set by the server',
      'custom.headers.TE: the header "TE" is set by the server',
    ]);
  });

  it('takes no more than can be sent', () => {
    // One is ours: the content type.
    expect(mostHere).toBeLessThan(mostHeaders);
    expect(headerBytes + 100).toBeLessThan(mostHeaderBytes);
    expect(mostUrlCharacters).toBeLessThanOrEqual(outboundLimits.urlLength);
    expect(mostFollowed).toBeLessThanOrEqual(mostRedirects);
  });
});
