import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { type World, world } from '../kit/world.ts';

const shipped = await allPlugins();
const start = Date.UTC(2026, 0, 1);

async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const maker = assetMaker();
  const w = await world({ plugins: [...shipped, maker.plugin], ...options });
  const account = (await w.given.stream()).userId as string;
  const begin = async (asset: { id?: string; name?: string; account?: string } = {}) => {
    const { id = uuid(), name = 'A show' } = asset;
    const source = { type: 'recording', sessionId: `session of ${id}` } as const;
    await maker.assets.begin({ id, name, account: asset.account ?? account, source });
    await w.settle();
    return id;
  };
  const ready = async (id: string, name?: string) => {
    const outcome = await maker.assets.ready(id, await storeFile(w.blobs, id, name));
    await w.settle();
    return outcome;
  };
  const get = async (id: string) => (await w.request('GET', `/api/asset/${id}`)).body;
  /** Those of assets, as `[type, payload.asset]`. */
  const events = async () =>
    (await w.events())
      .filter(({ event }) => event.startsWith('asset.'))
      .map(({ event, payload, ...rest }) => ({
        event,
        asset: payload.asset,
        keys: Object.keys(rest).sort(),
      }));
  return { w, account, begin, ready, get, events, assets: () => maker.assets };
}

const keysIn = async (w: World, id: string) =>
  (await w.blobs.list(`assets/${id}/`, { limit: 100 })).blobs.map(({ key }) => key);

describe('an asset', () => {
  it('waits for its file, and shows what is known', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin({ name: 'Friday' });
    const { playbackId } = await s.get(id);
    expect(playbackId).toMatch(/^[0-9a-z]{16}$/);
    expect(await s.get(id)).toEqual({
      ...{ id, name: 'Friday', status: 'waiting', userId: s.account, playbackId, userTags: {} },
      ...{ createdAt: start, updatedAt: start, source: { type: 'recording', sessionId: `session of ${id}` } },
    });
    expect(await s.assets().find(id)).toEqual({
      ...{ id, fields: {}, source: { type: 'recording', sessionId: `session of ${id}` } },
      name: 'Friday',
      status: 'waiting',
      account: s.account,
      userTags: {},
      playbackId,
    });
    expect(await s.assets().findByPlaybackId(playbackId)).toMatchObject({ id, status: 'waiting' });
    expect((await w.request('GET', `/asset/${playbackId}/video`, { key: null })).status).toBe(404);
  });

  it('is ready with size, hashes, spec and a URL', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    await w.advance('5s');
    expect(await s.ready(id)).toBe('ok');
    const shown = await s.get(id);
    expect(shown).toMatchObject({
      ...{ status: 'ready', size: 1000, createdAt: start, updatedAt: start + 5000 },
      hash: [
        { hash: 'ab'.repeat(16), algorithm: 'md5' },
        { hash: 'cd'.repeat(32), algorithm: 'sha256' },
      ],
      videoSpec: {
        format: 'mp4',
        duration: 8.5,
        tracks: [{ type: 'video', codec: 'h264' }, { type: 'audio' }],
      },
      downloadUrl: `http://localhost:8080/asset/${shown.playbackId}/video`,
    });
    expect(shown).not.toHaveProperty('statusMessage');
    expect(await s.assets().find(id)).toMatchObject({ status: 'ready', file: { video: { size: 1000 } } });
  });

  it('fails with a message, and has no file', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    await s.assets().fail(id, 'The disk of the node is gone.');
    expect(await s.get(id)).toMatchObject({
      status: 'failed',
      statusMessage: 'The disk of the node is gone.',
    });
    expect(await s.get(id)).not.toHaveProperty('downloadUrl');
    await w.settle();
  });

  it('names the key that made what it comes from, where that is known', async () => {
    const s = await studio();
    await using w = s.w;
    const id = uuid();
    const source = { type: 'recording', sessionId: 's' } as const;
    await s.assets().begin({ id, account: s.account, name: 'N', source, createdByTokenName: 'Studio' });
    expect((await s.get(id)).createdByTokenName).toBe('Studio');
    await w.settle();
  });

  it('is begun, readied and failed once, however often that is said', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin({ name: 'First' });
    await s.begin({ id, name: 'Second' });
    expect((await s.get(id)).name).toBe('First');
    const file = await storeFile(w.blobs, id);
    for (let n = 0; n < 3; n += 1) expect(await s.assets().ready(id, file)).toBe('ok');
    await s.assets().fail(id, 'Too late.');
    expect((await s.get(id)).status).toBe('ready');
    expect((await s.events()).map(({ event }) => event)).toEqual(['asset.created', 'asset.ready']);
  });

  it('is the input of tasks of its own account, while it has a file', async () => {
    const s = await studio();
    await using w = s.w;
    const [id, failed] = [await s.begin(), await s.begin()];
    const inputOf = (inputAssetId: string | null, account = s.account) =>
      s.assets().inputOf({ inputAssetId, account });
    expect(await inputOf(id)).toBeUndefined();
    await s.ready(id);
    await s.assets().fail(failed, 'No.');
    expect((await inputOf(id))?.video.size).toBe(1000);
    expect(await Promise.all([inputOf(null), inputOf(failed), inputOf(id, 'another')])).toEqual(Array(3));
    await w.request('DELETE', `/api/asset/${id}`);
    expect(await inputOf(id)).toBeUndefined();
  });

  it('has its blobs in its own folder, or is refused', async () => {
    const s = await studio();
    await using w = s.w;
    const [id, other] = [await s.begin(), uuid()];
    await expect(s.assets().ready(id, await storeFile(w.blobs, other))).rejects.toThrow(RangeError);
    expect((await s.get(id)).status).toBe('waiting');
    expect(await s.assets().ready(other, await storeFile(w.blobs, other))).toBe('gone');
    await s.assets().fail(other, 'There is none.');
  });
});

describe('events', () => {
  it('tell each step once, with the asset as the API shows it but for what other plugins tell, and nothing else', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    const waiting = await s.get(id);
    await w.advance('1s');
    await s.ready(id);
    const own = ({ thumbnailUrl, storyboardUrl, ...asset }: Record<string, unknown>) => {
      expect([thumbnailUrl, storyboardUrl]).not.toContain(undefined);
      return asset;
    };
    const ready = own(await s.get(id));
    await w.request('PATCH', `/api/asset/${id}`, { body: { name: 'New' } });
    const renamed = own(await s.get(id));
    await w.request('DELETE', `/api/asset/${id}`);
    const failing = await s.begin();
    await s.assets().fail(failing, 'No.');
    await w.settle();
    const keys = ['createdAt', 'id', 'timestamp'];
    expect((await s.events()).slice(0, 4)).toEqual([
      { event: 'asset.created', asset: waiting, keys },
      { event: 'asset.ready', asset: ready, keys },
      { event: 'asset.updated', asset: renamed, keys },
      { event: 'asset.deleted', asset: renamed, keys },
    ]);
    const last = (await s.events()).at(-1);
    expect(last).toEqual({ event: 'asset.failed', asset: await s.get(failing), keys });
  });

  it('are delivered to webhooks', async () => {
    const s = await studio();
    await using w = s.w;
    w.outbound.answer('https://hook.example/', () => ({ status: 200 }));
    const events = ['asset.created', 'asset.deleted'];
    const hook = await w.request('POST', '/api/webhook', {
      body: { name: 'H', url: 'https://hook.example/', events },
    });
    expect(hook.status).toBe(201);
    const id = await s.begin();
    await w.request('DELETE', `/api/asset/${id}`);
    await w.advance('10s');
    const log = (await w.request('GET', `/api/webhook/${hook.body.id}/log`)).body;
    expect(log.map((one: { event: string }) => one.event).sort()).toEqual(events);
  });
});

describe('PATCH', () => {
  it('changes name and tags, and answers the asset; what was read can be sent back', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    await s.ready(id);
    await w.advance('1m');
    const answer = await w.request('PATCH', `/api/asset/${id}`, { body: { name: 'B', userTags: { n: 1 } } });
    expect([answer.status, answer.body.name, answer.body.userTags]).toEqual([200, 'B', { n: 1 }]);
    expect(answer.body.updatedAt).toBe(start + 60_000);
    expect(answer.body).toEqual(await s.get(id));
    await w.advance('1m');
    const same = await w.request('PATCH', `/api/asset/${id}`, { body: answer.body });
    expect([same.status, same.body]).toEqual([200, answer.body]);
    expect((await w.request('PATCH', `/api/asset/${id}`, { body: {} })).body).toEqual(answer.body);
    expect((await s.events()).filter(({ event }) => event === 'asset.updated')).toHaveLength(1);
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(501) }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 5 }, 'name'],
    [{ userTags: { a: {} } }, 'userTags'],
    [{ userTags: [] }, 'userTags'],
    [{ userTags: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`t${n}`, n])) }, 'userTags'],
    [{ title: 'x' }, 'title'],
    [{ storage: 'x' }, 'storage'],
  ])('%j is refused, naming the field', async (body, field) => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    const before = await s.get(id);
    const answer = await w.request('PATCH', `/api/asset/${id}`, { body });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors[0]).toContain(field);
    expect(await s.get(id)).toEqual(before);
  });
});

describe('the list', () => {
  it('is newest first, in pages, by name, by filters, counted', async () => {
    const s = await studio();
    await using w = s.w;
    const ids: string[] = [];
    for (const name of ['alpha', 'beta', 'gamma', 'beta two']) {
      ids.push(await s.begin({ name }));
      await w.advance('1s');
    }
    await s.ready(ids[1]);
    await s.assets().fail(ids[2], 'No.');
    const list = async (query: string) => {
      const answer = await w.request('GET', `/api/asset?${query}`);
      return { ...answer, ids: answer.status === 200 ? answer.body.map(({ id }: { id: string }) => id) : [] };
    };
    expect((await list('')).ids).toEqual([...ids].reverse());
    const first = await list('limit=3&count=1');
    expect([first.ids, first.headers.get('x-total-count')]).toEqual([[ids[3], ids[2], ids[1]], '4']);
    const [, next = ''] =
      /<http:\/\/localhost:8080([^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? [];
    expect((await w.request('GET', next)).body.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
    expect((await list('name=beta')).ids).toEqual([ids[1], ids[3], ids[2], ids[0]]);
    expect((await list('name=asc')).ids).toEqual([ids[0], ids[1], ids[3], ids[2]]);
    expect((await list('order=createdAt-false')).ids).toEqual(ids);
    const filters = (value: unknown) => `filters=${encodeURIComponent(JSON.stringify(value))}`;
    expect((await list(filters([{ id: 'status', value: 'ready' }]))).ids).toEqual([ids[1]]);
    expect((await list(filters([{ id: 'size', value: { gte: 1000 } }]))).ids).toEqual([ids[1]]);
    expect((await list(filters([{ id: 'createdAt', value: { gt: start + 1500 } }]))).ids).toEqual([
      ids[3],
      ids[2],
    ]);
    for (const wrong of [
      'limit=0',
      'limit=1001',
      'cursor=x',
      'order=size-true',
      filters([{ id: 'x', value: 1 }]),
    ])
      expect((await list(wrong)).status).toBe(422);
  });

  it("has no other account's", async () => {
    const s = await studio();
    await using w = s.w;
    const other = await anotherAccount(w);
    const [own, theirs] = [await s.begin(), await s.begin({ account: other.id })];
    expect((await w.request('GET', '/api/asset')).body.map(({ id }: { id: string }) => id)).toEqual([own]);
    const seen = await w.request('GET', '/api/asset', { key: other.key });
    expect(seen.body.map(({ id }: { id: string }) => id)).toEqual([theirs]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const answer = await w.request(
        method,
        `/api/asset/${theirs}`,
        method === 'GET' ? {} : { body: { name: 'Mine' } },
      );
      expect([method, answer.status, answer.body.code]).toEqual([method, 404, 'asset.not_found']);
    }
    expect((await w.request('GET', `/api/asset/${theirs}`, { key: other.key })).body.name).toBe('A show');
  });
});

describe('DELETE', () => {
  it('takes the asset at once, then its blobs', async () => {
    const s = await studio();
    await using w = s.w;
    const [id, kept] = [await s.begin(), await s.begin()];
    await s.ready(id);
    await s.ready(kept);
    const { playbackId } = await s.get(id);
    expect((await w.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await w.request(method, `/api/asset/${id}`, method === 'GET' ? {} : { body: {} })).status).toBe(
        404,
      );
    expect((await w.request('GET', `/asset/${playbackId}/video`, { key: null })).status).toBe(404);
    expect((await w.request('GET', '/api/asset')).body).toHaveLength(1);
    expect(await s.assets().find(id)).toBeUndefined();
    await w.advance('1s');
    expect(await keysIn(w, id)).toEqual([]);
    expect(await keysIn(w, kept)).toHaveLength(3);
  });

  it('is final while the file is still being made: what comes is erased', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    expect((await w.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
    await w.advance('1h');
    await s.begin({ id });
    expect((await w.request('GET', `/api/asset/${id}`)).status).toBe(404);
    expect(await s.ready(id)).toBe('gone');
    await s.assets().fail(id, 'Never mind.');
    await w.advance('1s');
    expect(await keysIn(w, id)).toEqual([]);
    expect((await w.request('GET', '/api/asset')).body).toEqual([]);
    expect((await s.events()).map(({ event }) => event)).toEqual(['asset.created', 'asset.deleted']);
  });

  it('erases as soon as the blob store lets it', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    await s.ready(id);
    const blobs = w.blobs as { delete: World['blobs']['delete'] };
    const { delete: works } = blobs;
    let attempts = 0;
    blobs.delete = async () => {
      attempts += 1;
      throw new Error('the store is away');
    };
    expect((await w.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
    await w.advance('30m');
    expect(attempts).toBeGreaterThan(5);
    expect(await keysIn(w, id)).toHaveLength(3);
    blobs.delete = works;
    await w.advance('15m');
    expect(await keysIn(w, id)).toEqual([]);
  });

  it('loses nothing when the process dies before the blobs are gone', async () => {
    const s = await studio({ durable: true });
    await using w = s.w;
    const id = await s.begin();
    await s.ready(id);
    const blobs = w.blobs as { list: World['blobs']['list'] };
    const { list } = blobs;
    blobs.list = () => new Promise(() => {});
    expect((await w.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
    blobs.list = list;
    expect(await keysIn(w, id)).toHaveLength(3);
    await w.crash({ downFor: '1m' });
    await w.advance('1m');
    expect(await keysIn(w, id)).toEqual([]);
    expect((await w.request('GET', `/api/asset/${id}`)).status).toBe(404);
  });
});

describe('playback info', () => {
  it('tells of an asset by id and playback id, once its file is there', async () => {
    const s = await studio();
    await using w = s.w;
    const id = await s.begin();
    const { playbackId } = await s.get(id);
    const ask = (of: string) => w.request('GET', `/api/playback/${of}`, { key: null });
    for (const of of [id, playbackId]) expect((await ask(of)).status).toBe(404);
    await s.ready(id);
    for (const of of [id, playbackId])
      expect((await ask(of)).body).toMatchObject({ type: 'vod', meta: { live: 0 } });
    await w.request('DELETE', `/api/asset/${id}`);
    for (const of of [id, playbackId]) expect((await ask(of)).status).toBe(404);
  });
});
