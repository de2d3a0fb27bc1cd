import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { anotherAccount } from '../../kit/all-plugins.ts';
import { failure, film, studio, url } from './kit.ts';

describe('POST /api/asset/import', () => {
  it('answers the waiting asset and its task, and fetches the file afterwards', async () => {
    const { w, asked, serve, get, reached, blobsOf } = await studio();
    await using _ = w;
    serve();
    const answer = await asked({ url, name: 'Friday', userTags: { season: 2 } });
    const source = { type: 'url', url };
    expect(answer.asset).toMatchObject({
      ...{ name: 'Friday', status: 'waiting', userTags: { season: 2 }, source },
    });
    expect(answer.task).toMatchObject({
      ...{ type: 'import', name: 'Friday', outputAssetId: answer.asset.id, params: { import: { url } } },
    });
    const { output, status } = await reached(answer, 'completed');
    expect(status.progress).toBe(1);
    const hashOf = (algorithm: string) => ({
      algorithm,
      hash: createHash(algorithm).update(film).digest('hex'),
    });
    const hash = [hashOf('md5'), hashOf('sha256')];
    const asset = await get(`/api/asset/${answer.asset.id}`);
    expect(asset).toMatchObject({
      status: 'ready',
      size: film.length,
      hash,
      source,
      userTags: { season: 2 },
    });
    const { assetSpec, videoFilePath, metadataFilePath } = output.import;
    expect(assetSpec).toMatchObject({ name: 'Friday', type: 'video', size: film.length, hash });
    expect(assetSpec.videoSpec).toEqual(asset.videoSpec);
    expect(await blobsOf(answer)).toEqual(expect.arrayContaining([metadataFilePath, videoFilePath]));
    const metadata = await w.blobs.get(metadataFilePath);
    if (metadata.outcome !== 'ok') throw new Error('the metadata is not there');
    expect(await new Response(metadata.body).json()).toEqual(assetSpec);
    const download = await w.app.handle(new Request(asset.downloadUrl));
    expect(await download.text()).toBe(film);
    const told = (await w.events()).map(({ event }) => event);
    expect(told.filter((event) => event === 'asset.ready' || event === 'task.completed')).toEqual([
      ...['asset.ready', 'task.completed'],
    ]);
  });

  it('is named by the file, and shows its URL whole but for user, password and signature', async () => {
    const { w, asked, serve, reached, get } = await studio();
    await using _ = w;
    serve();
    const secret = 'http://someone:hushhush@films.example/caf%C3%A9.mp4?X-Amz-Signature=abcdef0123&v=1#t=5';
    const shown = 'http://***@films.example/caf%C3%A9.mp4?X-Amz-Signature=***&v=1';
    const good = await asked({ url: secret });
    expect(good).toMatchObject({
      asset: { name: 'café.mp4', source: { url: shown } },
      task: { name: 'café.mp4', params: { import: { url: shown } } },
    });
    await reached(good, 'completed');
    expect(w.outbound.sent[0]).toMatchObject({
      url: 'http://films.example/caf%C3%A9.mp4?X-Amz-Signature=abcdef0123&v=1',
      request: {
        headers: { authorization: `Basic ${Buffer.from('someone:hushhush').toString('base64')}` },
        redirects: 3,
      },
    });
    // Also when whoever answers repeats it.
    w.outbound.answer('http://films.example/', (asked) => failure('refused', `${asked} is closed`));
    const bad = await asked({ url: secret });
    await reached(bad, 'failed');
    const all = [
      ...[await get('/api/task'), await get('/api/asset'), await w.events(), w.lines],
      ...[good, bad, await get(`/api/asset/${bad.asset.id}`), await get(`/api/task/${bad.task.id}`)],
    ].map((one) => JSON.stringify(one));
    for (const word of [
      'hushhush',
      'abcdef0123',
      'someone',
      Buffer.from('someone:hushhush').toString('base64'),
    ])
      expect(all.filter((text) => text.includes(word))).toEqual([]);
  });

  it.each<[object, string]>([
    [{}, 'body.invalid'],
    [{ url: '' }, 'body.invalid'],
    [{ url: 5 }, 'body.invalid'],
    [{ url, name: '' }, 'body.invalid'],
    [{ url, userTags: [] }, 'body.invalid'],
    [{ url, headers: {} }, 'body.invalid'],
    [{ url: 'friday.mp4' }, 'import.bad_url'],
  ])('%j is refused', async (body, code) => {
    const { w, ask, get } = await studio();
    await using _ = w;
    const answer = await ask(body);
    expect([answer.status, answer.body.code]).toEqual([422, code]);
    expect([await get('/api/task'), await get('/api/asset')]).toEqual([[], []]);
  });

  it('takes a URL of 8192 characters at most', async () => {
    const { w, ask, serve, reached } = await studio();
    await using _ = w;
    serve();
    const long = `http://films.example/`.padEnd(8192, 'x');
    expect((await ask({ url: `${long}x` })).body.code).toBe('body.invalid');
    const { status, body } = await ask({ url: long });
    expect([status, body.asset.name]).toEqual([201, 'x'.repeat(200)]);
    await reached(body, 'completed');
  });

  it('says what the client of outbound requests has against a URL', async () => {
    const { w, ask } = await studio();
    await using _ = w;
    w.outbound.problem = (asked, options) => {
      expect([asked, options?.headers]).toEqual([
        ...['http://10.0.0.1/x?y', { authorization: expect.stringMatching(/^Basic /) }],
      ]);
      return failure('refused', 'http://10.0.0.1 is private');
    };
    const answer = await ask({ url: 'http://a:b@10.0.0.1/x?y' });
    expect(answer.body).toEqual({ code: 'import.bad_url', errors: ['url: http://10.0.0.1 is private.'] });
  });

  it('answers a repeat with the same key the same, and imports once', async () => {
    const { w, ask, get, serve, reached } = await studio();
    await using _ = w;
    serve();
    const [first, second] = [
      await ask({ url }, { 'idempotency-key': 'k' }),
      await ask({ url }, { 'idempotency-key': 'k' }),
    ];
    expect(second.body).toEqual(first.body);
    await reached(first.body, 'completed');
    expect(await get('/api/asset')).toHaveLength(1);
    expect(w.outbound.sent).toHaveLength(1);
    expect((await ask({ url: `${url}2` }, { 'idempotency-key': 'k' })).body.code).toBe(
      'idempotency.key_reused',
    );
  });

  it('is refused while the disk is nearly full; one that meets that goes on when there is room', async () => {
    const { w, ask, asked, serve, get, reached } = await studio();
    await using _ = w;
    serve();
    w.intake.room = -1;
    expect(await ask({ url })).toMatchObject({ status: 507, body: { code: 'intake.full' } });
    expect(await get('/api/task')).toEqual([]);
    w.intake.room = 0;
    const one = await asked();
    w.intake.room = -1;
    await w.advance('1m');
    expect((await get(`/api/task/${one.task.id}`)).status.phase).not.toBe('failed');
    w.intake.room = 1000;
    await w.advance('5m');
    await reached(one, 'completed');
  });

  it('is refused to an account that has too many assets, those of uploads among them, or tasks', async () => {
    for (const id of ['assets', 'tasks']) {
      const { w, ask } = await studio({ config: { [id]: { maxPerAccount: 1 } } });
      await using _ = w;
      await w.request('POST', '/api/asset/request-upload', { body: { name: 'One' } });
      const answer = await ask({ url });
      expect([answer.status, answer.body.code]).toEqual([409, `${id.slice(0, -1)}.too_many`]);
      const { key } = await anotherAccount(w);
      const other = await w.request('POST', '/api/asset/import', { body: { url }, key });
      expect(other.status).toBe(201);
    }
  });
});
