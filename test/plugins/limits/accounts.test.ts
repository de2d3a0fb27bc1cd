import { describe, expect, it } from 'vitest';
import { allPlugins, anotherAccount, type OtherAccount } from '../../kit/all-plugins.ts';
import { fleet } from '../../kit/fleet.ts';
import { type World, world } from '../../kit/world.ts';
import { film, put } from '../uploads/kit.ts';

const plugins = await allPlugins();

/** A second account with these limits. */
async function limited(limits: object, options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins, ...options });
  const other = await anotherAccount(w);
  expect((await w.request('PATCH', `/api/account/${other.id}`, { body: { limits } })).status).toBe(204);
  return { w, other, ...asOther(w, other) };
}

function asOther(w: World, { key }: OtherAccount) {
  const ask = (method: string, path: string, body?: object) => w.request(method, path, { key, body });
  return {
    ask,
    usage: async () => (await ask('GET', '/api/account/usage')).body,
    stream: (body: object = {}) => ask('POST', '/api/stream', { name: 'One', ...body }),
    upload: async (body: object = { name: 'Friday' }) => ask('POST', '/api/asset/request-upload', body),
  };
}

const isLimit = (name: string, ...numbers: number[]) => ({
  status: 409,
  body: {
    code: 'account.limit',
    errors: [
      expect.stringMatching(new RegExp(`^${name}: .*${numbers.map((one) => `\\b${one}\\b`).join('.*')}`)),
    ],
  },
});

/** Tags of about 20 KB. */
const tags = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`tag-${index}`, 'x'.repeat(500)]));

describe('the limits of an account', () => {
  it('are those of the deployment, others where the admin says so, and none for the admin account', async () => {
    const account = { streams: 3, storedBytes: '1GB', webhooks: null };
    await using w = await world({ plugins, config: { limits: { account } } });
    const other = await anotherAccount(w);
    const { usage } = asOther(w, other);
    expect(await usage()).toMatchObject({
      streams: { used: 0, limit: 3 },
      storedBytes: { used: expect.any(Number), limit: 1e9 },
      webhooks: { used: 0, limit: null },
      broadcasts: { used: 0, limit: 100 },
    });
    const path = `/api/account/${other.id}`;
    await w.request('PATCH', path, { body: { limits: { streams: null, assets: 7 } } });
    expect(await usage()).toMatchObject({
      streams: { limit: null },
      assets: { limit: 7 },
      webhooks: { limit: null },
    });
    expect((await w.request('GET', path)).body.limits).toEqual({ streams: null, assets: 7 });
    await w.request('PATCH', path, { body: { limits: null } });
    expect((await usage()).streams.limit).toBe(3);

    const own = (await w.request('GET', '/api/account/usage')).body;
    expect(new Set(Object.values(own).map((share) => (share as { limit: null }).limit))).toEqual(
      new Set([null]),
    );
    const seen = await w.request('GET', `/api/account/usage?accountId=${other.id}`);
    expect(seen.body.streams).toEqual({ used: 0, limit: 3 });
    expect((await w.request('PATCH', path, { body: { limits: { streams: -1 } } })).status).toBe(422);
    const denied = await w.request('GET', '/api/account/usage?accountId=another', { key: other.key });
    expect(denied.status).toBe(403);
  });

  it('hold for many requests at one time, and after the process was killed', async () => {
    const { w, stream, ask, usage } = await limited(
      { streams: 5, assets: 2, webhooks: 1 },
      { durable: true },
    );
    await using _ = w;
    const many = await Promise.all(Array.from({ length: 12 }, () => stream()));
    expect(many.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(many.find(({ status }) => status !== 201)).toMatchObject(isLimit('streams', 5, 5));
    await w.crash({ downFor: '1s' });
    expect(await stream()).toMatchObject(isLimit('streams', 5, 5));
    expect((await usage()).streams).toEqual({ used: 5, limit: 5 });

    const [first] = (await ask('GET', '/api/stream')).body;
    expect((await ask('DELETE', `/api/stream/${first.id}`)).status).toBe(204);
    expect((await stream()).status).toBe(201);

    const uploads = await Promise.all(
      [1, 2, 3].map(() => ask('POST', '/api/asset/request-upload', { name: 'x' })),
    );
    expect(uploads.map(({ status }) => status).toSorted()).toEqual([200, 200, 409]);
    const hook = { name: 'W', url: 'https://hooks.example.com/in', events: ['stream.started'] };
    expect((await ask('POST', '/api/webhook', hook)).status).toBe(201);
    expect(await ask('POST', '/api/webhook', hook)).toMatchObject(isLimit('webhooks', 1, 1));
  });

  it('are not used up by requests that are refused', async () => {
    const { w, stream } = await limited({ streams: 1 });
    await using _ = w;
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect((await stream({ multistream: { targets: [{ profile: 'source', id: 'nobody' }] } })).status).toBe(
        400,
      );
    expect((await stream()).status).toBe(201);
  });

  it('are counted over all nodes of a fleet', async () => {
    await using f = await fleet({ plugins, config: { limits: { account: { streams: 4 } } } });
    const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
    const b = await f.start('b', { roles: ['api'] });
    const { id } = (await a.request('POST', '/api/account', { body: { name: 'Another' } })).body;
    const { key } = (await a.request('POST', '/api/api-token', { body: { accountId: id } })).body;
    const outcomes: number[] = [];
    for (let round = 0; round < 4; round += 1)
      for (const node of [a, b])
        outcomes.push((await node.request('POST', '/api/stream', { key, body: { name: 'One' } })).status);
    expect(outcomes).toEqual([201, 201, 201, 201, 409, 409, 409, 409]);
    const list = (await b.request('GET', '/api/stream', { key })).body;
    await b.request('DELETE', `/api/stream/${list[0].id}`, { key });
    expect((await a.request('POST', '/api/stream', { key, body: { name: 'One' } })).status).toBe(201);
  });
});

describe('broadcasts at one time', () => {
  it('are bounded, and one that goes on is not counted again', async () => {
    const { w, stream, usage } = await limited({ broadcasts: 2 });
    await using _ = w;
    const [one, two, three] = (await Promise.all([stream(), stream(), stream()])).map(({ body }) => body);
    // All at once: none is on the air yet.
    const publishes = await Promise.all([one, two, three].map(({ streamKey }) => w.media.publish(streamKey)));
    const granted = publishes.filter(({ answer }) => answer.granted);
    expect(granted).toHaveLength(2);
    const refused = publishes.find(({ answer }) => !answer.granted)?.answer as { message: string };
    expect(refused.message).toContain('broadcasts: this account uses 2 of 2');
    for (const publish of granted) publish.playable();
    await w.settle();
    expect((await usage()).broadcasts).toEqual({ used: 2, limit: 2 });
    granted[0]?.end({ clean: false });
    const again = [one, two, three].find(({ id }) => id === granted[0]?.grant.streamId);
    expect((await w.media.publish(again.streamKey)).answer.granted).toBe(true);
    // Those of the operator are not counted.
    expect((await w.given.broadcast(await w.given.stream())).answer.granted).toBe(true);
    await w.advance('1m');
  });

  it('have the memory that their account may hold', async () => {
    const { w, stream } = await limited({ liveBytes: 5_000_000 });
    await using _ = w;
    const { body } = await stream();
    expect((await w.media.publish(body.streamKey)).grant.liveBytes).toBe(5_000_000);
    expect((await w.given.broadcast(await w.given.stream())).grant.liveBytes).toBeUndefined();
  });
});

describe('stored bytes', () => {
  it.each([
    ['userTags of streams', (one: number) => ['/api/stream', { name: `s${one}`, userTags: tags }]],
    ['names', () => ['/api/stream', { name: 'é'.repeat(500) }]],
    ['userTags of uploads', () => ['/api/asset/request-upload', { name: 'a', userTags: tags }]],
    [
      'parameters of tasks',
      () => ['/api/asset/import', { name: 'a', url: `https://films.example.com/${'x'.repeat(8000)}` }],
    ],
  ] as const)('end what %s can fill', async (_name, request) => {
    const limit = 100_000;
    const { w, ask, usage } = await limited({ storedBytes: limit });
    await using _ = w;
    let refused: Awaited<ReturnType<typeof ask>> | undefined;
    for (let one = 0; one < 400 && !refused; one += 1) {
      const [path, body] = request(one) as [string, object];
      const answer = await ask('POST', path, body);
      if (answer.status === 409) refused = answer;
      else expect(answer.status).toBeLessThan(300);
    }
    expect(refused).toMatchObject(isLimit('storedBytes', limit));
    const { used } = (await usage()).storedBytes;
    expect(used).toBeGreaterThan(limit * 0.3);
    expect(used).toBeLessThan(limit * 4);
    // A small change is possible for some time, and deleting always; a day after that there is room.
    const list = (await ask('GET', '/api/stream?limit=1000')).body;
    if (list.length === 0) return;
    expect(await ask('PATCH', `/api/stream/${list[0].id}`, { userTags: tags })).toMatchObject(
      isLimit('storedBytes', limit),
    );
    for (const { id } of list) expect((await ask('DELETE', `/api/stream/${id}`)).status).toBe(204);
    await w.advance('25h');
    expect((await ask('POST', '/api/stream', { name: 'One' })).status).toBe(201);
  });

  it('count events, and answers that are kept for an Idempotency-Key, until a day is over', async () => {
    const { w, other, usage, stream } = await limited({ storedBytes: 1e9 });
    await using _ = w;
    const before = (await usage()).storedBytes.used;
    const headers = { 'idempotency-key': 'a' };
    const { key } = other;
    const body = { name: 'Kept', userTags: tags };
    const kept = await w.request('POST', '/api/stream', { key, body, headers });
    const { body: live } = await stream({ userTags: tags });
    (await w.given.broadcast(live)).end({ clean: true });
    await w.advance('2m');
    for (const { id } of [kept.body, live]) await w.request('DELETE', `/api/stream/${id}`, { key });
    await w.advance('2m');
    // The answer, stream.started and stream.idle, 20 KB each.
    expect((await usage()).storedBytes.used).toBeGreaterThan(before + 55_000);
    await w.advance('25h');
    // Its session stays.
    expect((await usage()).storedBytes.used).toBeLessThan(before + 25_000);
  });

  it('count the delivery logs of webhooks', async () => {
    const { w, ask, usage } = await limited({ storedBytes: 1e9 });
    await using _ = w;
    const url = 'https://example.com/hook';
    w.outbound.answer(url, () => ({ status: 200, body: new TextEncoder().encode('a'.repeat(1000)) }));
    const body = { name: 'Hook', url, events: ['stream.idle'] };
    const { id } = (await ask('POST', '/api/webhook', body)).body;
    await w.advance('2m');
    const before = (await usage()).storedBytes.used;
    for (let time = 0; time < 10; time += 1)
      expect((await ask('POST', `/api/webhook/${id}/test`, { event: 'stream.idle' })).status).toBe(200);
    await w.advance('2m');
    expect((await usage()).storedBytes.used).toBeGreaterThan(before + 10_000);
  });

  it('end even small changes, each of which leaves a large event', async () => {
    const { w, ask, usage, upload } = await limited({ storedBytes: 100_000 });
    await using _ = w;
    const { asset } = (await upload({ name: 'a', userTags: tags })).body;
    let refused: Awaited<ReturnType<typeof ask>> | undefined;
    for (let round = 0; round < 200 && !refused; round += 1) {
      const answer = await ask('PATCH', `/api/asset/${asset.id}`, { name: `${round}` });
      if (answer.status === 409) refused = answer;
      if (round % 4 === 3) await w.advance('1m');
    }
    expect(refused).toMatchObject(isLimit('storedBytes', 100_000));
    const { used } = (await usage()).storedBytes;
    expect(used).toBeGreaterThan(125_000);
    expect(used).toBeLessThan(300_000);
    expect((await ask('DELETE', `/api/asset/${asset.id}`)).status).toBe(204);
  });

  it('count files, refuse one that does not fit before it is read, and cut one off that comes without a length', async () => {
    const limit = 20_000;
    const { w, upload, usage, ask } = await limited({ storedBytes: limit });
    await using _ = w;
    const before = (await usage()).storedBytes.used;
    const first = (await upload()).body;
    expect((await put(w, first.url)).status).toBe(200);
    expect((await usage()).storedBytes.used).toBeGreaterThan(before + film.length);

    const { url, asset } = (await upload()).body;
    const tooMuch = { body: 'x', headers: { 'content-length': String(limit) } };
    expect(await put(w, url, tooMuch)).toMatchObject(isLimit('storedBytes', limit));
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(4096));
      },
    });
    expect(await put(w, url, { body: endless })).toMatchObject(isLimit('storedBytes', limit));
    expect(pulled).toBeLessThan(30);
    expect((await ask('GET', `/api/asset/${asset.id}`)).body.status).toBe('failed');

    const tus = await w.app.handle(
      new Request((await upload()).body.tusEndpoint, {
        method: 'POST',
        headers: { 'tus-resumable': '1.0.0', 'upload-length': String(limit) },
      }),
    );
    expect([tus.status, (await tus.json()).code]).toEqual([409, 'account.limit']);
  });

  it('count what is recorded, and a full account records nothing more', async () => {
    const { w, stream, usage } = await limited({ storedBytes: 100_000 });
    await using _ = w;
    const { body } = await stream({ record: true });
    const before = (await usage()).storedBytes.used;
    const publish = await w.given.broadcast(body);
    publish.progress({ bytes: 90_000 });
    await w.settle();
    await w.advance('1m');
    expect((await usage()).storedBytes.used).toBeGreaterThan(before + 90_000);
    publish.progress({ bytes: 200_000 });
    await w.settle();
    await w.advance('1m');
    expect((await usage()).storedBytes.used).toBeGreaterThan(200_000);
    publish.end({ clean: false });
    const refused = await w.media.publish(body.streamKey);
    expect(refused.answer).toMatchObject({ granted: false, message: expect.stringContaining('storedBytes') });
    await w.advance('10m');
  });
});
