import { describe, expect, it, vi } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import type { AssetFile } from '../../plugins/assets/contract.ts';
import { attempts } from '../../plugins/tasks/run.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../kit/asset-maker.ts';
import { patient } from '../kit/patient.ts';
import { taskMaker } from '../kit/task-maker.ts';
import { world } from '../kit/world.ts';

const shipped = await allPlugins();
const profile = { name: '480p', width: 854, height: 480, bitrate: 1_000_000, fps: 0 };

async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const maker = assetMaker();
  const spawner = taskMaker({ types: [] });
  const w = await world({ plugins: [...shipped, maker.plugin, spawner.plugin], ...options });
  const { userId: account } = await w.given.stream();
  const get = async (path: string) => (await w.request('GET', path)).body;
  const ask = (id: string, body: object = { profile }, headers: Record<string, string> = {}) =>
    w.request('POST', `/api/asset/${id}/transcode`, { body, headers });
  return {
    ...{ w, maker, spawner, account, get, ask },
    /** An asset that is ready. */
    async source(spec: Partial<AssetFile['spec']> = {}) {
      const id = uuid();
      await maker.assets.begin({ id, account, name: 'Friday', source: { type: 'directUpload' } });
      const file = await storeFile(w.blobs, id);
      await maker.assets.ready(id, { ...file, spec: { ...file.spec, ...spec } });
      await w.settle();
      return id;
    },
    async asked(id: string, body: object = { profile }): Promise<Asked> {
      const answer = await ask(id, body);
      expect(answer).toMatchObject({ status: 201 });
      return answer.body;
    },
    // What is read of a film is read by a thread of the pool, in real time.
    reached: ({ task }: Asked, phase: string) =>
      vi.waitUntil(async () => {
        await w.settle();
        const found = await get(`/api/task/${task.id}`);
        return found.status.phase === phase && found;
      }, patient),
    /** The conversion that was asked for last, once it is read. */
    async converted(count = 1) {
      await vi.waitUntil(() => w.settle().then(() => w.converter.asked.length >= count), patient);
      return w.converter.asked[count - 1];
    },
    blobsOf: async (id: string) =>
      (await w.blobs.list(`assets/${id}/`, { limit: 100 })).blobs.map(({ key }) => key),
  };
}

interface Asked {
  readonly asset: { readonly id: string };
  readonly task: { readonly id: string };
}

describe('POST /api/asset/{id}/transcode', () => {
  it('answers the waiting asset and its task, and makes the film afterwards', async () => {
    const { w, source, asked, get, reached, converted, blobsOf } = await studio();
    await using _ = w;
    const id = await source();
    const answer = await asked(id);
    expect(answer.asset).toMatchObject({
      ...{ name: 'Friday (480p)', status: 'waiting', source: { type: 'transcode', inputAssetId: id } },
      createdByTokenName: 'bootstrap',
    });
    expect(answer.task).toMatchObject({
      ...{ type: 'transcode', inputAssetId: id, outputAssetId: answer.asset.id, name: 'Friday (480p)' },
      params: { transcode: { profile } },
    });
    const one = await converted();
    expect(one.film?.video.key).toBe(`assets/${id}/source.mp4`);
    expect(one.order).toMatchObject({ profile });
    one.order.progress(0.5);
    await w.advance('3s');
    expect((await get(`/api/task/${answer.task.id}`)).status).toMatchObject({
      phase: 'running',
      progress: 0.485,
    });
    one.finish('a smaller film');
    const { output, status } = await reached(answer, 'completed');
    expect(status.progress).toBe(1);
    const asset = await get(`/api/asset/${answer.asset.id}`);
    expect(asset).toMatchObject({ status: 'ready', size: 14 });
    expect(output.transcode.assetSpec).toMatchObject({ name: 'Friday (480p)', hash: asset.hash });
    expect(await blobsOf(answer.asset.id)).toEqual(
      expect.arrayContaining([output.transcode.videoFilePath, output.transcode.metadataFilePath]),
    );
    const download = await w.app.handle(new Request(asset.downloadUrl));
    expect(await download.text()).toBe('a smaller film');
    const told = (await w.events()).map(({ event }) => event);
    expect(told.slice(-2)).toEqual(['asset.ready', 'task.completed']);
  });

  it('begins one asset for one Idempotency-Key, and one for each request without', async () => {
    const { w, source, ask } = await studio();
    await using _ = w;
    const id = await source();
    const key = { 'idempotency-key': 'once' };
    const first = await ask(id, { profile, name: 'Small' }, key);
    const again = await ask(id, { profile, name: 'Small' }, key);
    expect(first.body.asset.name).toBe('Small');
    expect(again.body.asset.id).toBe(first.body.asset.id);
    expect((await ask(id, { profile }, key)).status).toBe(422);
    expect((await ask(id)).body.asset.id).not.toBe(first.body.asset.id);
  });

  it.each<[object, string]>([
    [{}, 'profile'],
    [{ profile: { ...profile, width: 100 } }, 'profile.width'],
    [{ profile: { ...profile, bitrate: 200_000_001 } }, 'profile.bitrate'],
    [{ profile: { ...profile, fps: 251 } }, 'profile.fps'],
    [{ profile: { ...profile, name: 'source' } }, 'profile.name'],
    [
      { profile: { ...profile, fps: 30, fpsDen: 1e15 } },
      'profile.fps: expected 0, or at least a picture in 10 s',
    ],
    [{ profile: { ...profile, crf: 20 } }, 'profile.crf'],
    [{ profile, url: 'x' }, 'url'],
    [{ profile, name: '' }, 'name'],
  ])('%j is refused by its field', async (body, field) => {
    const { w, source, ask } = await studio();
    await using _ = w;
    const { status, body: said } = await ask(await source(), body);
    expect(status).toBe(422);
    expect(said.errors.join()).toContain(field);
  });

  it.each<[string, Partial<AssetFile['spec']['tracks'][0]>, string]>([
    ['16k × 16k', { width: 16_384, height: 16_384 } as never, '16384 × 16384 pixels'],
    ['10,000 fps', { fps: 10_000 } as never, '10000 pictures a second'],
    ['no video', { type: 'audio' } as never, 'no video'],
  ])('a source of %s is refused before anything is begun', async (_name, track, words) => {
    const { w, source, ask } = await studio();
    await using _ = w;
    const video = {
      type: 'video',
      codec: 'h264',
      duration: 8,
      bitrate: 800,
      fps: 30,
      width: 640,
      height: 360,
    };
    const id = await source({ tracks: [{ ...video, ...track } as never] });
    const { status, body } = await ask(id);
    expect([status, body.code]).toEqual([422, 'transcode.refused']);
    expect(body.errors[0]).toContain(words);
    await w.settle();
    expect(w.converter.asked).toEqual([]);
    expect((await w.request('GET', '/api/task')).body).toEqual([]);
  });

  it('is for an asset of the account that is ready', async () => {
    const { w, source, ask, maker, account } = await studio();
    await using _ = w;
    const waiting = uuid();
    await maker.assets.begin({ id: waiting, account, name: 'A', source: { type: 'directUpload' } });
    expect((await ask(waiting)).body.code).toBe('asset.not_ready');
    expect((await ask(uuid())).body.code).toBe('asset.not_found');
    const { key } = await anotherAccount(w);
    const id = await source();
    const theirs = await w.request('POST', `/api/asset/${id}/transcode`, { key, body: { profile } });
    expect(theirs.body.code).toBe('asset.not_found');
  });

  it('counts among the assets of the account', async () => {
    const { w, source, ask } = await studio({ config: { assets: { maxPerAccount: 2 } } });
    await using _ = w;
    const id = await source();
    expect((await ask(id)).status).toBe(201);
    const { status, body } = await ask(id);
    expect([status, body.code]).toEqual([409, 'asset.too_many']);
  });

  it('is no route where the plugin is off', async () => {
    await using w = await world({ plugins: shipped.filter(({ id }) => id !== 'transcode') });
    const { status, body } = await w.request('POST', `/api/asset/${uuid()}/transcode`, { body: { profile } });
    expect([status, body.code]).toEqual([404, 'route.not_found']);
  });
});

describe('a transcode', () => {
  it('that is cancelled leaves no process, no blob and a failed asset, and can be retried', async () => {
    const { w, source, asked, converted, get, reached, blobsOf } = await studio();
    await using _ = w;
    const answer = await asked(await source());
    const one = await converted();
    one.say('half a ');
    await reached(answer, 'running');
    expect((await w.request('POST', `/api/task/${answer.task.id}/cancel`)).status).toBe(200);
    await w.settle();
    expect(one.isLeft).toBe(true);
    const asset = await get(`/api/asset/${answer.asset.id}`);
    expect(asset).toMatchObject({ status: 'failed', statusMessage: 'The transcode was cancelled.' });
    expect(await blobsOf(answer.asset.id)).toEqual([]);
    expect((await w.request('POST', `/api/task/${answer.task.id}/retry`)).status).toBe(200);
    (await converted(2)).finish('the whole film');
    await reached(answer, 'completed');
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({ status: 'ready', size: 14 });
  });

  it('ends when its source is deleted, and cannot be retried', async () => {
    const { w, source, asked, converted, reached, blobsOf } = await studio();
    await using _ = w;
    const id = await source();
    const answer = await asked(id);
    const one = await converted();
    one.say('half a ');
    await reached(answer, 'running');
    await w.request('DELETE', `/api/asset/${id}`);
    await reached(answer, 'cancelled');
    await w.settle();
    expect(one.isLeft).toBe(true);
    expect(await blobsOf(answer.asset.id)).toEqual([]);
    expect((await w.request('POST', `/api/task/${answer.task.id}/retry`)).body.code).toBe(
      'task.not_possible',
    );
  });

  it('ends when what it makes is deleted, and nothing of it stays', async () => {
    const { w, source, asked, converted, reached, blobsOf } = await studio();
    await using _ = w;
    const answer = await asked(await source());
    const one = await converted();
    one.say('half a ');
    await reached(answer, 'running');
    await w.request('DELETE', `/api/asset/${answer.asset.id}`);
    await reached(answer, 'cancelled');
    await w.advance('1m');
    expect(one.isLeft).toBe(true);
    expect(await blobsOf(answer.asset.id)).toEqual([]);
  });

  it('waits while there is no ffmpeg, says so, and goes on when there is', async () => {
    const { w, source, asked, reached } = await studio();
    await using _ = w;
    const message = 'ffmpeg is not installed on the server.';
    w.converter.film = new Fault('conversion.unavailable', { status: 503, message, retryAfter: 60 });
    const answer = await asked(await source());
    expect((await reached(answer, 'waiting')).status.phase).toBe('waiting');
    await vi.waitUntil(() => w.settle().then(() => w.converter.asked.length > 0), patient);
    await w.settle();
    expect((await reached(answer, 'waiting')).status.errorMessage).toBe(message);
    await w.advance('30s');
    expect(w.converter.asked).toHaveLength(1);
    w.converter.film = 'a film';
    await w.advance('60s');
    await reached(answer, 'completed');
  });

  it('fails when there is none for long', async () => {
    const { w, source, asked, converted, reached, get } = await studio();
    await using _ = w;
    const message = 'ffmpeg is not installed on the server.';
    w.converter.film = new Fault('conversion.unavailable', { status: 503, message, retryAfter: 60 });
    const answer = await asked(await source());
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      await converted(attempt);
      await w.advance('3m');
    }
    const { status } = await reached(answer, 'failed');
    expect(status.errorMessage).toBe(`Failed after 8 attempts. The last error: ${message}`);
    expect((await get(`/api/asset/${answer.asset.id}`)).statusMessage).toBe(status.errorMessage);
  });

  it.each<[string, string | Fault, number, string]>([
    [
      'what ffmpeg cannot read',
      new Fault('conversion.refused', { status: 422, message: 'ffmpeg cannot read it.', retry: false }),
      8.5,
      'ffmpeg cannot read it.',
    ],
    ['a film that is no good', 'refuse: it is empty', 8.5, 'The file was refused: it is empty.'],
    [
      'a film that breaks off',
      'a film',
      100,
      'The film is not converted: only 8.0 of 100.0 s of it could be read.',
    ],
  ])('of %s fails at once', async (_name, film, duration, message) => {
    const { w, source, asked, reached, get, blobsOf } = await studio();
    await using _ = w;
    w.converter.film = film;
    const answer = await asked(await source({ duration }));
    expect((await reached(answer, 'failed')).status.errorMessage).toBe(message);
    await w.settle();
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({
      ...{ status: 'failed', statusMessage: message },
    });
    expect(await blobsOf(answer.asset.id)).toEqual([]);
    expect(w.converter.asked).toHaveLength(1);
  });

  it('may be shorter by what is left out behind its last picture, and no more', async () => {
    const { w, source, ask, reached } = await studio();
    await using _ = w;
    w.converter.film = 'a film';
    // What is made has 8 s.
    for (const [duration, phase] of [
      [17, 'completed'],
      [21, 'failed'],
    ] as const) {
      const { body } = await ask(await source({ duration }), { profile: { ...profile, fps: 1, fpsDen: 10 } });
      await reached(body, phase);
    }
  });

  it('is made again by the next process when the server dies over it', async () => {
    const { w, source, asked, converted, reached, get } = await studio({ durable: true });
    await using _ = w;
    const answer = await asked(await source());
    (await converted()).say('half a ');
    await reached(answer, 'running');
    await w.crash({ downFor: '20s' });
    const again = await converted();
    again.finish('the film');
    await reached(answer, 'completed');
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({ status: 'ready', size: 8 });
  });

  it('makes its asset where the request died before it could', async () => {
    const { w, source, spawner, account, reached, get } = await studio();
    await using _ = w;
    w.converter.film = 'a film';
    const [id, asset] = [uuid(), uuid()];
    await spawner.tasks.spawn({
      ...{
        id,
        account,
        type: 'transcode',
        name: 'Small',
        inputAssetId: await source(),
        outputAssetId: asset,
      },
      ...{ params: { profile }, secret: { asset: JSON.stringify({ createdByTokenName: 'theirs' }) } },
      ...{ deadline: w.now() + 3_600_000, lateMessage: 'late' },
    });
    await reached({ asset: { id: asset }, task: { id } }, 'completed');
    expect(await get(`/api/asset/${asset}`)).toMatchObject({
      ...{ status: 'ready', name: 'Small', createdByTokenName: 'theirs' },
    });
  });

  it('takes its turn: so many of an account run at a time', async () => {
    const { w, source, asked, converted, reached, get } = await studio();
    await using _ = w;
    const id = await source();
    const answers: Asked[] = [];
    for (let count = 0; count < 6; count += 1) {
      answers.push(await asked(id));
      await w.advance('1s');
    }
    await converted(4);
    await w.settle();
    const phases = async () =>
      Promise.all(answers.map(async ({ task }) => (await get(`/api/task/${task.id}`)).status.phase));
    expect(await phases()).toEqual([...Array(4).fill('running'), ...Array(2).fill('pending')]);
    w.converter.asked[0].finish('a film');
    await reached(answers[0], 'completed');
    await converted(5);
    expect(await phases()).toEqual(['completed', ...Array(4).fill('running'), 'pending']);
  });
});
