import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { blobsOf, film, get, halted, put, studio } from './kit.ts';

describe('POST /api/asset/request-upload', () => {
  it('answers a URL, the waiting asset and its pending task', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked({ name: 'Friday', userTags: { season: 2 } });
    expect(asset).toMatchObject({
      ...{ name: 'Friday', status: 'waiting', userTags: { season: 2 }, source: { type: 'directUpload' } },
      // As of a stream, also when it is that key.
      createdByTokenName: 'bootstrap',
    });
    expect(task).toMatchObject({
      ...{ type: 'upload', outputAssetId: asset.id, status: { phase: 'pending', progress: 0 } },
      createdByTokenName: 'bootstrap',
    });
    expect(url).toMatch(
      new RegExp(`^http://localhost:8080/upload/${asset.id}\\?expires=\\d+&signature=[\\w-]{43}$`),
    );
    expect(await get(w, `/api/asset/${asset.id}`)).toEqual(asset);
    expect(await get(w, `/api/task/${task.id}`)).toEqual(task);
    expect((await w.events()).map(({ event }) => event)).toEqual(['task.spawned', 'asset.created']);
  });

  it.each([[{}], [{ name: '' }], [{ name: 'x', url: 'y' }], [{ name: 'x', userTags: [] }]])(
    '%j is refused',
    async (body) => {
      const { w } = await studio();
      await using _ = w;
      expect((await w.request('POST', '/api/asset/request-upload', { body })).status).toBe(422);
      expect(await get(w, '/api/task')).toEqual([]);
    },
  );

  it('answers a repeat with the same key the same', async () => {
    const { w } = await studio();
    await using _ = w;
    const ask = () =>
      w.request('POST', '/api/asset/request-upload', {
        body: { name: 'One' },
        headers: { 'idempotency-key': 'k' },
      });
    expect((await ask()).body).toEqual((await ask()).body);
    expect(await get(w, '/api/asset')).toHaveLength(1);
  });

  it('is refused to an account that has too many assets or tasks', async () => {
    for (const id of ['assets', 'tasks']) {
      const { w, asked } = await studio({ config: { [id]: { maxPerAccount: 1 } } });
      await using _ = w;
      await asked();
      const answer = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Two' } });
      expect([answer.status, answer.body.code]).toEqual([409, `${id.slice(0, -1)}.too_many`]);
    }
  });
});

describe('PUT of the file', () => {
  it('makes the asset ready, and completes the task', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const answer = await put(w, url);
    const hashOf = (algorithm: string) => ({
      algorithm,
      hash: createHash(algorithm).update(film).digest('hex'),
    });
    const hash = [hashOf('md5'), hashOf('sha256')];
    expect(answer.body).toMatchObject({
      status: 'ready',
      size: film.length,
      hash,
      videoSpec: { duration: 8 },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(answer.body).toEqual(await get(w, `/api/asset/${asset.id}`));
    const { output, status } = await get(w, `/api/task/${task.id}`);
    expect(status).toMatchObject({ phase: 'completed', progress: 1 });
    const { assetSpec, videoFilePath, metadataFilePath } = output.upload;
    expect(assetSpec).toMatchObject({ name: 'Friday', type: 'video', size: film.length, hash });
    const beside = ['.head.mp4', '.heads.bin', '.index.bin'].map((ending) =>
      videoFilePath.replace('.mp4', ending),
    );
    expect(await blobsOf(w, asset.id)).toEqual([...beside, metadataFilePath, videoFilePath].sort());
    const metadata = await w.blobs.get(metadataFilePath);
    if (metadata.outcome !== 'ok') throw new Error('the metadata is not there');
    expect(await new Response(metadata.body).json()).toEqual(assetSpec);
    const download = await w.app.handle(new Request(answer.body.downloadUrl));
    expect(await download.text()).toBe(film);
    const told = (await w.events()).map(({ event, payload }) => [event, payload.task?.status.phase]);
    expect(told).toEqual([
      ['task.spawned', 'pending'],
      ['asset.created', undefined],
      ['task.updated', 'running'],
      ['asset.ready', undefined],
      ['task.completed', 'completed'],
    ]);
  });

  it.each([
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/json',
    'nonsense',
  ])('is not read by its content type: %s', async (type) => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    expect((await put(w, url, { headers: { 'content-type': type } })).body.size).toBe(film.length);
  });

  it('is accepted once', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    await put(w, url);
    const before = await blobsOf(w, asset.id);
    const again = await put(w, url, { body: 'another' });
    expect([again.status, again.body.code]).toEqual([409, 'upload.accepted']);
    expect(await blobsOf(w, asset.id)).toEqual(before);
    expect((await get(w, `/api/asset/${asset.id}`)).size).toBe(film.length);
  });

  it('is refused with the reason, and another may be sent', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const answer = await put(w, url, { body: 'refuse: its video is hevc' });
    const message = 'The file was refused: its video is hevc.';
    expect([answer.status, answer.body]).toEqual([422, { code: 'upload.refused', errors: [message] }]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
    expect((await get(w, `/api/task/${task.id}`)).status).toMatchObject({
      ...{ phase: 'failed', errorMessage: message },
    });
    expect(await blobsOf(w, asset.id)).toEqual([]);
    expect((await put(w, url)).status).toBe(200);
    expect((await get(w, `/api/task/${task.id}`)).status).not.toHaveProperty('errorMessage');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('ready');
  });

  it('that breaks off may be repeated', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const first = halted();
    const broken = put(w, url, { body: first.body });
    await first.isRead;
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('running');
    first.breakOff();
    expect((await broken).body.code).toBe('intake.broken');
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await put(w, url)).status).toBe(200);
  });

  it('side by side is accepted once', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const slow = halted();
    const late = put(w, url, { body: slow.body });
    await slow.isRead;
    // One that is refused takes nothing from the other.
    expect((await put(w, url, { body: 'refuse: no' })).status).toBe(422);
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('running');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await put(w, url)).status).toBe(200);
    slow.goOn();
    expect((await late).body.code).toBe('upload.accepted');
    expect(await blobsOf(w, asset.id)).toHaveLength(5);
    expect((await get(w, `/api/asset/${asset.id}`)).size).toBe(film.length);
  });

  it('of one URL runs four times at a time at most', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    const all = Array.from({ length: 4 }, halted);
    const running = all.map(({ body }) => put(w, url, { body }));
    await Promise.all(all.map(({ isRead }) => isRead));
    expect((await put(w, url)).body.code).toBe('upload.busy');
    for (const { goOn } of all) goOn();
    expect((await Promise.all(running)).map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  it('runs as often as an account and a node may', async () => {
    for (const [config, refusal] of [
      [{ uploadsPerAccount: 1 }, [429, 'upload.too_many']],
      [{ uploads: 1 }, [503, 'server.busy']],
    ] as const) {
      const { w, asked } = await studio({ config: { assets: config } });
      await using _ = w;
      const one = halted();
      const first = put(w, (await asked()).url, { body: one.body });
      await one.isRead;
      const other = (await asked()).url;
      const answer = await put(w, other);
      expect([answer.status, answer.body.code]).toEqual(refusal);
      one.goOn();
      await first;
      expect((await put(w, other)).status).toBe(200);
    }
  });

  it('that is too large is refused, whatever it says of its length', async () => {
    const { w, asked } = await studio({ config: { assets: { maxUploadSize: '22B' } } });
    await using _ = w;
    const { url, asset, task } = await asked();
    const stream = () => new Response(film).body;
    for (const headers of [{ 'content-length': '23' }, { 'content-length': '1' }, {}]) {
      const answer = await put(w, url, { body: stream(), headers: headers as Record<string, string> });
      expect([answer.status, answer.body.code]).toEqual([413, 'intake.too_large']);
    }
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('failed');
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('failed');
    expect((await put(w, url, { body: 'a short film' })).status).toBe(200);
  });

  it('waits for another try when nobody can look into it now', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, task } = await asked();
    expect((await put(w, url, { body: 'busy' })).status).toBe(503);
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
    expect((await put(w, url)).status).toBe(200);
  });

  it('to a deleted asset is 404, also when it is deleted meanwhile', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const one = await asked();
    await w.request('DELETE', `/api/asset/${one.asset.id}`);
    expect((await put(w, one.url)).body.code).toBe('asset.not_found');
    const two = await asked();
    const slow = halted();
    const late = put(w, two.url, { body: slow.body });
    await slow.isRead;
    await w.request('DELETE', `/api/asset/${two.asset.id}`);
    slow.goOn();
    // Not that it was cancelled and may be retried: that helps nobody.
    expect((await late).body.code).toBe('asset.not_found');
    await w.settle();
    expect(await blobsOf(w, two.asset.id)).toEqual([]);
    expect((await get(w, `/api/task/${two.task.id}`)).status.phase).toBe('cancelled');
  });
});

describe('the body', () => {
  it.each([
    [{}, 1024],
    [{ leastRate: '2MB' }, 2_000_000],
  ])('must come as fast as config says: %j', async (assets, rate) => {
    const { w, asked } = await studio({ config: { assets } });
    await using _ = w;
    expect((await put(w, (await asked()).url)).status).toBe(200);
    expect(w.intake.paces).toEqual([{ rate, window: 60_000 }]);
  });
});

describe('a disk that is nearly full', () => {
  it('refuses to begin an upload, and makes neither asset nor task', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    w.intake.room = -1;
    const refused = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    expect(refused).toMatchObject({ status: 507, body: { code: 'intake.full' } });
    expect(await get(w, '/api/asset')).toEqual([]);
    expect(await get(w, '/api/task')).toEqual([]);
    // What is not as it should be is told first: it would not be taken either way.
    const wrong = await w.request('POST', '/api/asset/request-upload', { body: {} });
    expect(wrong.status).toBe(422);
    w.intake.room = 0;
    expect(await asked()).toHaveProperty('url');
  });

  it('refuses a file that has no room before a byte is read, and task and asset stay as they were', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    w.intake.room = film.length - 1;
    let read = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          read += 1;
          controller.enqueue(Buffer.from(film));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const refused = await put(w, url, { body, headers: { 'content-length': String(film.length) } });
    expect([refused.status, refused.body.code, read]).toEqual([507, 'intake.full', 0]);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect(await get(w, `/api/asset/${asset.id}`)).toEqual(asset);
    expect(await get(w, `/api/task/${task.id}`)).toEqual(task);
    w.intake.room = film.length;
    expect((await put(w, url, { headers: { 'content-length': String(film.length) } })).status).toBe(200);
  });

  it('says of a file that is too large for us that it is that', async () => {
    const { w, asked } = await studio({ config: { assets: { maxUploadSize: '1KB' } } });
    await using _ = w;
    const { url } = await asked();
    w.intake.room = 10;
    const refused = await put(w, url, { headers: { 'content-length': '1001' } });
    expect([refused.status, refused.body.code]).toEqual([413, 'intake.too_large']);
  });
});
