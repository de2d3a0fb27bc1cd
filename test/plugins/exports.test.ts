import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import type { OutboundRequest, OutboundSource } from '../../core/ports/outbound.ts';
import { headerBytes, mostHeaders as mostHere, mostUrlCharacters } from '../../plugins/exports/body.ts';
import { metadataOf } from '../../plugins/exports/to-ipfs.ts';
import { mostRedirects as mostFollowed } from '../../plugins/exports/to-url.ts';
import { outboundLimits } from '../../runtime/drivers/outbound/limits.ts';
import { mostHeaderBytes, mostHeaders, mostRedirects } from '../../runtime/drivers/outbound/request-head.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { assetMaker, storeFile, videoBytes } from '../kit/asset-maker.ts';
import { type World, world } from '../kit/world.ts';

const shipped = await allPlugins();
const url = 'https://bucket.example/film.mp4?X-Amz-Signature=sig-0123456789';

/** A world with an asset that is ready. */
async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const maker = assetMaker();
  const w = await world({ plugins: [...shipped, maker.plugin], ...options });
  const account = (await w.given.stream()).userId as string;
  const begin = async (name = 'Friday show') => {
    const id = uuid();
    await maker.assets.begin({ id, account, name, source: { type: 'recording', sessionId: `of ${id}` } });
    await w.settle();
    return id;
  };
  const ready = async (name?: string) => {
    const id = await begin(name);
    await maker.assets.ready(id, await storeFile(w.blobs, id));
    await w.settle();
    return id;
  };
  const ask = (id: string, body: unknown, given: object = {}) =>
    w.request('POST', `/api/asset/${id}/export`, { body, ...given });
  return { w, maker, account, begin, ready, ask };
}

const get = async (w: World, path: string) => (await w.request('GET', path)).body;

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
    const { w, ready, ask } = await studio();
    await using __ = w;
    const answer = await ask(await ready(), body);
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

/** Reads what is sent to the end, and answers. */
const takes =
  (status: number, headers: Record<string, string> = {}) =>
  async (_: string, { body, onSent }: OutboundRequest) => {
    const pieces: Uint8Array[] = [];
    let sent = 0;
    for await (const piece of (body as OutboundSource).chunks()) {
      pieces.push(piece);
      sent += piece.length;
      onSent?.(sent);
    }
    taken.push(Buffer.concat(pieces));
    return { status, headers };
  };
const taken: Buffer[] = [];

describe('a task of an export', () => {
  it('is worked at: running, then completed with what came of it', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    taken.length = 0;
    w.outbound.answer('https://bucket.example', takes(201, { etag: '"abc"' }));
    const { id } = (await ask(await ready(), { custom: { url, headers: { 'x-a': 'b' } } })).body.task;
    const task = await get(w, `/api/task/${id}`);
    expect(task.status).toMatchObject({ phase: 'completed', progress: 1 });
    expect(task.output).toEqual({ export: { custom: { status: 201, etag: '"abc"' } } });
    expect(taken.map((bytes) => bytes.equals(videoBytes))).toEqual([true]);
    const [{ request }] = w.outbound.sent.filter((one) => one.url === url);
    expect(request).toMatchObject({ method: 'PUT', headers: { 'content-type': 'video/mp4', 'x-a': 'b' } });
    const phases = (await w.events()).flatMap(({ payload }) => payload.task?.status.phase ?? []);
    expect(phases).toEqual(['pending', 'waiting', 'running', 'completed']);
  });

  it('packs for IPFS beside the asset, which takes that with it', async () => {
    const { w, ready, ask } = await studio({
      config: { tasks: { ipfs: { gateway: 'https://g.example/' } } },
    });
    await using _ = w;
    const assetId = await ready();
    const { id } = (await ask(assetId, { ipfs: { erc1155Metadata: { image: 'ipfs://pic' } } })).body.task;
    const { status, output } = await get(w, `/api/task/${id}`);
    expect(status.phase).toBe('completed');
    const { videoFileCid: video, erc1155MetadataCid: json } = output.export.ipfs;
    expect(output.export.ipfs).toEqual({
      ...{ videoFileCid: video, erc1155MetadataCid: json, nftMetadataCid: json },
      ...{ videoFileUrl: `ipfs://${video}`, videoFileGatewayUrl: `https://g.example/ipfs/${video}` },
      ...{ erc1155MetadataUrl: `ipfs://${json}`, nftMetadataUrl: `ipfs://${json}` },
      erc1155MetadataGatewayUrl: `https://g.example/ipfs/${json}`,
      nftMetadataGatewayUrl: `https://g.example/ipfs/${json}`,
    });
    const cars = async () =>
      (await w.blobs.list(`assets/${assetId}/exports/`, { limit: 10 })).blobs.map(({ key }) => key);
    expect(await cars()).toHaveLength(2);
    expect(w.outbound.sent).toEqual([]);
    await w.request('DELETE', `/api/asset/${assetId}`);
    await w.settle();
    expect(await cars()).toEqual([]);
  });

  it('pins with the credentials of the caller, else with those of the deployment', async () => {
    const ipfs = { driver: 'pinning', endpoint: 'https://pin.example', jwt: 'token.of.deployment' };
    const { w, ready, ask } = await studio({ config: { tasks: { ipfs } } });
    await using _ = w;
    const cid = 'bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e';
    const body = Buffer.from(JSON.stringify({ IpfsHash: cid }));
    w.outbound.answer('https://pin.example/pinning/', async (url, given) => {
      if (typeof given.body === 'object') await takes(200)(url, given);
      return { body };
    });
    const asset = await ready();
    const pair = { apiKey: 'key-of-caller', apiSecret: 'secret-of-caller' };
    for (const asked of [{ ipfs: {} }, { ipfs: { pinning: { jwt: 'mine' } } }, { ipfs: { pinning: pair } }]) {
      const { id } = (await ask(asset, asked)).body.task;
      const { status, output } = await get(w, `/api/task/${id}`);
      expect([status, output.export.ipfs.videoFileCid]).toEqual([
        expect.objectContaining({ phase: 'completed' }),
        cid,
      ]);
    }
    const shown = w.outbound.sent.map(({ request: { headers = {} } }) => [
      headers.authorization ?? headers.pinning_api_key,
      headers.pinning_secret_api_key,
    ]);
    expect(shown).toEqual([
      ...Array(2).fill(['Bearer token.of.deployment', undefined]),
      ...Array(2).fill(['Bearer mine', undefined]),
      ...Array(2).fill(['key-of-caller', 'secret-of-caller']),
    ]);
    const told = JSON.stringify([await get(w, '/api/task'), await w.events(), w.lines]);
    for (const secret of ['token.of.deployment', 'secret-of-caller', 'key-of-caller'])
      expect(told).not.toContain(secret);
  });

  it('fails at once at a no, and is asked to try again by its owner', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    w.outbound.answer('https://bucket.example', takes(403));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    expect((await get(w, `/api/task/${id}`)).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: 'The export was refused: bucket.example answered 403.' },
    });
    expect(w.outbound.sent).toHaveLength(1);
    w.outbound.answer('https://bucket.example', takes(200));
    await w.request('POST', `/api/task/${id}/retry`);
    await w.settle();
    const { status, output } = await get(w, `/api/task/${id}`);
    expect([status.phase, status.retries, output.export.custom.status]).toEqual(['completed', 1, 200]);
  });

  it('is tried again after trouble, when the other side wants it, and fails when there is no end to it', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    w.outbound.answer('https://bucket.example', takes(429, { 'retry-after': '600' }));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    const phase = async () => (await get(w, `/api/task/${id}`)).status.phase;
    await w.advance('9m');
    expect([w.outbound.sent.length, await phase()]).toEqual([1, 'waiting']);
    w.outbound.answer('https://bucket.example', takes(503));
    await w.advance('1m');
    expect(w.outbound.sent.length).toBeGreaterThan(1);
    await w.advance('1h');
    expect((await get(w, `/api/task/${id}`)).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: expect.stringContaining('bucket.example answered 503.') },
    });
  });

  it('goes on after its process died in the midst', async () => {
    const { w, ready, ask } = await studio({ durable: true });
    await using _ = w;
    taken.length = 0;
    w.outbound.answer('https://bucket.example', (_, { signal }) => never(signal));
    const { id } = (await ask(await ready(), { custom: { url } })).body.task;
    expect((await get(w, `/api/task/${id}`)).status.phase).toBe('running');
    await w.crash({ downFor: '20s' });
    w.outbound.answer('https://bucket.example', takes(200));
    await w.advance('2m');
    expect((await get(w, `/api/task/${id}`)).status.phase).toBe('completed');
    expect(taken.map((bytes) => bytes.equals(videoBytes))).toEqual([true]);
  });

  it('ends with its asset, and no other does', async () => {
    const { w, ready, ask } = await studio();
    await using _ = w;
    // Nobody takes the file before it is deleted.
    w.outbound.answer('https://bucket.example', (_, { signal }) => never(signal));
    const [one, other] = [await ready(), await ready()];
    const [first, second, third] = [
      (await ask(one, { custom: { url } })).body.task.id,
      (await ask(one, { custom: { url } })).body.task.id,
      (await ask(other, { custom: { url } })).body.task.id,
    ];
    await w.request('DELETE', `/api/asset/${one}`);
    await w.settle();
    const phase = async (id: string) => (await get(w, `/api/task/${id}`)).status.phase;
    expect([await phase(first), await phase(second)]).toEqual(['cancelled', 'cancelled']);
    expect(await phase(third)).not.toBe('cancelled');
    const retried = await w.request('POST', `/api/task/${first}/retry`);
    expect([retried.status, retried.body]).toEqual([
      409,
      { code: 'task.not_possible', errors: ['The asset of this export was deleted.'] },
    ]);
    await w.request('POST', `/api/task/${third}/cancel`);
    expect(await phase(third)).toBe('cancelled');
    expect((await w.request('POST', `/api/task/${third}/retry`)).body.status.retries).toBe(1);
    await w.request('POST', `/api/task/${third}/cancel`);
  });
});

/** Until somebody gives it up. */
function never(signal: AbortSignal | undefined) {
  return new Promise<{ ok: false; reason: 'aborted'; message: string }>((resolve) => {
    const end = () => resolve({ ok: false, reason: 'aborted', message: 'given up' });
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end, { once: true });
  });
}

describe('the metadata of a token', () => {
  const video = { name: 'Friday show', url: 'ipfs://bafy' };
  const own = {
    ...{ name: 'Friday show', description: 'Video: Friday show', animation_url: 'ipfs://bafy' },
    properties: { video: 'ipfs://bafy' },
  };

  it.each<[string, Record<string, unknown>, unknown]>([
    ['nothing', {}, own],
    ['a text', { name: 'Mine' }, { ...own, name: 'Mine' }],
    ['a new key', { image: 'ipfs://pic' }, { ...own, image: 'ipfs://pic' }],
    ['null', { description: null, absent: null }, without('description')],
    ['an object', { properties: { by: 'me' } }, { ...own, properties: { video: 'ipfs://bafy', by: 'me' } }],
    ['null in an object', { properties: { video: null } }, { ...own, properties: {} }],
    ['a list', { properties: [1, null] }, { ...own, properties: [1, null] }],
    ['an object over a text', { name: { en: 'A', de: null } }, { ...own, name: { en: 'A' } }],
    ['a text over an object', { properties: 'none' }, { ...own, properties: 'none' }],
    ['objects in lists as they are', { a: [{ b: null }] }, { ...own, a: [{ b: null }] }],
  ])('is changed by %s', (_, given, expected) => {
    const before = JSON.stringify(given);
    expect(metadataOf(video, given)).toEqual(expected);
    expect(JSON.stringify(given)).toBe(before);
  });

  it.each([
    '{"__proto__": {"polluted": 1}}',
    '{"properties": {"__proto__": {"polluted": 1}}}',
    '{"constructor": {"prototype": {"polluted": 1}}}',
    '{"a": {"__proto__": null, "toString": 1}}',
  ])('leaves every other object as it is: %s', (text) => {
    const made = metadataOf(video, JSON.parse(text)) as object;
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(Object.prototype).not.toHaveProperty('polluted');
    expect(Object).not.toHaveProperty('prototype.polluted');
    // As it was given: a key like any other.
    if (text.startsWith('{"__proto__')) expect(JSON.stringify(made)).toContain('"__proto__":{"polluted":1}');
  });

  function without(name: keyof typeof own) {
    const { [name]: _, ...rest } = own;
    return rest;
  }
});
