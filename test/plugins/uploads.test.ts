import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const shipped = await allPlugins();
const film = 'a film of eight seconds';

async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins: shipped, ...options });
  const asked = async (body: object = { name: 'Friday' }) => {
    const answer = await w.request('POST', '/api/asset/request-upload', { body });
    expect(answer.status).toBe(200);
    return answer.body as { url: string; asset: { id: string }; task: { id: string } };
  };
  return { w, asked };
}

async function put(
  w: World,
  url: string,
  { body = film, headers = {} }: { body?: BodyInit | null; headers?: Record<string, string> } = {},
) {
  const sent = { method: 'PUT', body, headers, duplex: 'half' } as RequestInit;
  const answer = await w.app.handle(new Request(url, sent));
  const read = {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as never as Answer,
  };
  await w.settle();
  return read;
}
// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
type Answer = any;

const get = async (w: World, path: string) => (await w.request('GET', path)).body;
const blobsOf = async (w: World, id: string) =>
  (await w.blobs.list(`assets/${id}/`, { limit: 100 })).blobs.map(({ key }) => key);
/** A body that comes to a halt when its first piece was read, until it is told how it goes on. */
function halted() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  promise.catch(() => {});
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isBegun) {
          isBegun = true;
          controller.enqueue(Buffer.from('half a '));
          return;
        }
        read.resolve();
        await promise;
        controller.enqueue(Buffer.from('film'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, isRead: read.promise, goOn: resolve, breakOff: () => reject(new Error('cut off')) };
}

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

describe('playback of an uploaded film', () => {
  const read = async (w: World, url: string) => {
    const answer = await w.app.handle(new Request(url));
    return answer.status === 200 ? await answer.text() : answer.status;
  };

  it('is cut from its file, which is there once', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const { playbackUrl, playbackId } = (await put(w, url)).body;
    const file = (name: string) => playbackUrl.replace('index.m3u8', name);
    expect(await read(w, playbackUrl)).toContain('RESOLUTION=640x360');
    expect(await read(w, file('source.m3u8'))).toContain('#EXTINF:8.00000,\nseg0.mp4');
    expect(await read(w, file('init0.mp4'))).toBe('init');
    expect(await read(w, file('seg0.mp4'))).toBe(`head${film}`);
    expect(await read(w, file('source.mp4'))).toBe(`front${film.slice(2)}`);
    for (const of of [asset.id, playbackId]) {
      const { body } = await w.request('GET', `/api/playback/${of}`, { key: null });
      expect(body).toEqual({
        type: 'vod',
        meta: {
          live: 0,
          source: [
            { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: playbackUrl },
            { hrn: 'MP4', type: 'html5/video/mp4', url: file('source.mp4') },
          ],
        },
      });
    }
    await w.request('DELETE', `/api/asset/${asset.id}`);
    await w.settle();
    expect([await read(w, playbackUrl), await blobsOf(w, asset.id)]).toEqual([404, []]);
  });

  it('stays when the sweep has been there', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    await put(w, url);
    const before = await blobsOf(w, asset.id);
    await w.advance('5h');
    expect([before.length, await blobsOf(w, asset.id)]).toEqual([5, before]);
  });

  it('that cannot be cut is accepted all the same: it says why there is no HLS, and has its file', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const body = 'uncut: segment 3 would have too many pieces';
    const answer = await put(w, url, { body });
    const statusMessage = 'There is no HLS of this file: segment 3 would have too many pieces.';
    expect([answer.status, answer.body]).toMatchObject([200, { status: 'ready', statusMessage }]);
    expect(answer.body).not.toHaveProperty('playbackUrl');
    const { downloadUrl } = answer.body;
    const playback = await w.request('GET', `/api/playback/${asset.id}`, { key: null });
    expect(playback.body.meta.source).toEqual([{ hrn: 'MP4', type: 'html5/video/mp4', url: downloadUrl }]);
    const base = downloadUrl.replace('video', '');
    expect(await read(w, `${base}source.mp4`)).toBe(body);
    expect([await read(w, `${base}index.m3u8`), await read(w, `${base}seg0.mp4`)]).toEqual([404, 404]);
  });

  it.each(['index.bin', 'heads.bin', 'head.mp4', 'json', 'mp4'])(
    'of which %s cannot be stored leaves nothing, and is had by another try',
    async (ending) => {
      const { w, asked } = await studio();
      await using _ = w;
      const { url, asset, task } = await asked();
      const { put: store, adopt } = w.blobs;
      const full = new Fault('blobs.full', { status: 507, message: 'full' });
      const isIt = (key: string) => key.slice(key.indexOf('.') + 1) === ending;
      const failing = async (key: string) => {
        // It may be there all the same.
        await store(key, Buffer.from('half'));
        throw full;
      };
      w.blobs.put = async (key, ...rest) => {
        if (isIt(key)) return failing(key);
        // Others are still being put by then.
        for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return store(key, ...rest);
      };
      w.blobs.adopt = (key, ...rest) => (isIt(key) ? failing(key) : adopt(key, ...rest));
      expect((await put(w, url)).body.code).toBe('blobs.full');
      expect(await blobsOf(w, asset.id)).toEqual([]);
      expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
      Object.assign(w.blobs, { put: store, adopt });
      expect((await put(w, url)).body).toHaveProperty('playbackUrl');
      expect(await blobsOf(w, asset.id)).toHaveLength(5);
    },
  );
});

describe('the URL', () => {
  it('is for one object, as it was given', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const [{ url, asset }, other] = [await asked(), await asked()];
    const expires = Number(new URL(url).searchParams.get('expires'));
    for (const wrong of [
      url.replace(asset.id, other.asset.id),
      url.replace(`expires=${expires}`, `expires=${expires + 1}`),
      url.replace(/signature=./, (text) => (text.endsWith('A') ? 'signature=B' : 'signature=A')),
      url.replace(/&signature=.*/, ''),
      url.replace(/\?.*/, ''),
      `${url.replace(/signature=.*/, 'signature=')}`,
      url.replace(asset.id, '..%2f..%2fetc%2fpasswd'),
    ]) {
      expect((await put(w, wrong)).body.code, wrong).toBe('upload.altered');
    }
    expect((await put(w, url)).status).toBe(200);
  });

  it('expires after 12 h; then task and asset fail', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    await w.advance('11h');
    expect((await put(w, url, { body: 'busy' })).status).toBe(503);
    await w.advance('1h');
    expect((await put(w, url)).body.code).toBe('upload.expired');
    const message = 'No file came before the upload URL expired.';
    expect((await get(w, `/api/task/${task.id}`)).status).toMatchObject({
      phase: 'failed',
      errorMessage: message,
    });
    expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
  });

  it('may be used by pages of every origin', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url } = await asked();
    const answer = await w.app.handle(
      new Request(url, {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
      }),
    );
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(answer.headers.get('access-control-allow-methods')).toContain('PUT');
  });

  it('works after a restart', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const { url } = await asked();
    await w.crash({ downFor: '1m' });
    expect((await put(w, url)).status).toBe(200);
  });
});

describe('a process that dies', () => {
  it('in the middle of an upload leaves a task that waits', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const { url, asset, task } = await asked();
    const slow = halted();
    const lost = put(w, url, { body: slow.body }).catch(() => {});
    await slow.isRead;
    await w.crash({ downFor: '5s' });
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    slow.breakOff();
    await lost;
    expect((await put(w, url)).status).toBe(200);
  });
});

describe('a task of an upload', () => {
  const post = (w: World, id: string, what: string) => w.request('POST', `/api/task/${id}/${what}`);

  it('is cancelled: the asset fails, and nothing is taken until it is retried', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    expect((await post(w, task.id, 'cancel')).body.status.phase).toBe('cancelled');
    expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
      ...{ status: 'failed', statusMessage: 'The upload was cancelled.' },
    });
    expect((await put(w, url)).body.code).toBe('upload.cancelled');
    const again = await post(w, task.id, 'cancel');
    expect([again.status, again.body.code]).toEqual([409, 'task.not_possible']);
    const retried = (await post(w, task.id, 'retry')).body;
    expect(retried.status).toMatchObject({ phase: 'pending', progress: 0, retries: 1 });
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await put(w, retried.params.upload.url)).status).toBe(200);
  });

  it('is cancelled while its file comes: that ends, and the asset is not made', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const slow = halted();
    const late = put(w, url, { body: slow.body });
    await slow.isRead;
    await post(w, task.id, 'cancel');
    slow.goOn();
    expect((await late).body.code).toBe('upload.cancelled');
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('failed');
    expect(await blobsOf(w, asset.id)).toEqual([]);
  });

  it('is retried with a new URL when it expired; nobody else is shown that', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    await w.advance('13h');
    const retried = (await post(w, task.id, 'retry')).body;
    expect(retried.params.upload.url).not.toBe(url);
    expect(await get(w, `/api/task/${task.id}`)).not.toHaveProperty('params');
    expect(JSON.stringify(await w.events())).not.toContain('signature');
    expect((await put(w, url)).body.code).toBe('upload.expired');
    expect((await put(w, retried.params.upload.url)).status).toBe(200);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('ready');
  });

  it('is not retried or cancelled when it is completed, or its asset is gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const one = await asked();
    await put(w, one.url);
    for (const what of ['retry', 'cancel']) expect((await post(w, one.task.id, what)).status).toBe(409);
    const two = await asked();
    await w.request('DELETE', `/api/asset/${two.asset.id}`);
    expect((await get(w, `/api/task/${two.task.id}`)).status.phase).toBe('cancelled');
    expect((await post(w, two.task.id, 'retry')).body.code).toBe('task.not_possible');
  });

  it('is listed newest first, by type and name, for its account alone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const first = await asked({ name: 'A' });
    await w.advance('1s');
    const second = await asked({ name: 'B' });
    const ids = async (query: string) =>
      (await get(w, `/api/task${query}`)).map(({ id }: { id: string }) => id);
    expect(await ids('')).toEqual([second.task.id, first.task.id]);
    expect(await ids('?name=asc')).toEqual([first.task.id, second.task.id]);
    expect(
      await ids(
        `?filters=${encodeURIComponent('[{"id":"outputAssetId","value":"')}${first.asset.id}${encodeURIComponent('"}]')}`,
      ),
    ).toEqual([first.task.id]);
    const inPhase = (phase: string) =>
      ids(`?filters=${encodeURIComponent(JSON.stringify([{ id: 'phase', value: phase }]))}`);
    await post(w, first.task.id, 'cancel');
    expect([await inPhase('cancelled'), await inPhase('pending')]).toEqual([
      ...[[first.task.id], [second.task.id]],
    ]);
    const other = await anotherAccount(w);
    expect((await w.request('GET', '/api/task', { key: other.key })).body).toEqual([]);
    expect((await w.request('GET', `/api/task/${first.task.id}`, { key: other.key })).status).toBe(404);
  });

  it('is forgotten a while after its end; the asset stays', async () => {
    const { w, asked } = await studio({ config: { tasks: { keptFor: '1h' } } });
    await using _ = w;
    const { url, asset, task } = await asked();
    await put(w, url);
    await w.advance('29m');
    expect((await w.request('GET', `/api/task/${task.id}`)).status).toBe(200);
    await w.advance('31m');
    expect((await w.request('GET', `/api/task/${task.id}`)).status).toBe(404);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('ready');
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
