import { describe, expect, it, vi } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { patient } from '../kit/patient.ts';
import { world } from '../kit/world.ts';

const shipped = await allPlugins();
const foreign = 'foreign: a film in WebM';
const url = 'http://films.example/friday.webm';

async function studio(assets: Record<string, unknown> = {}, { isThere = true } = {}) {
  const w = await world({ plugins: shipped, config: { assets } });
  w.converter.isThere = isThere;
  const get = async (path: string) => (await w.request('GET', path)).body;
  return {
    ...{ w, get },
    async asked() {
      const { body } = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
      return body as { url: string; asset: { id: string }; task: { id: string } };
    },
    async put(to: string, body = foreign) {
      const sent = { method: 'PUT', body, duplex: 'half' } as RequestInit;
      const answer = await w.app.handle(new Request(to, sent));
      const { status } = answer;
      // biome-ignore lint/suspicious/noExplicitAny: an asset, or an error
      return { status, headers: answer.headers, body: (await answer.json()) as any };
    },
    async converted(count = 1) {
      // What is read of a film is read by a thread of the pool, in real time.
      await vi.waitUntil(() => w.settle().then(() => w.converter.asked.length >= count), patient);
      return w.converter.asked[count - 1];
    },
    blobsOf: async (id: string) =>
      (await w.blobs.list(`assets/${id}/`, { limit: 100 })).blobs.map(({ key }) => key),
  };
}

describe('a film of another kind that is uploaded', () => {
  it.each([
    [{}, { isThere: false }],
    [{ normalise: false }, { isThere: true }],
  ])('is refused where %j, and ffmpeg %j', async (config, ffmpeg) => {
    const { w, asked, put } = await studio(config, ffmpeg);
    await using _ = w;
    const { status, body } = await put((await asked()).url);
    expect([status, body.code]).toEqual([422, 'upload.refused']);
    expect(body.errors[0]).toMatch(/Matroska or WebM\. .* \(plugins\.assets\.normalise\)\.$/);
    expect(w.converter.asked).toEqual([]);
  });

  it.each([
    [{ normalise: false }, 'The file was refused: it is Ogg; expected an mp4.'],
    [
      {},
      'The file was refused: it is Ogg; expected an mp4. WebM, Matroska, MPEG-TS, MPEG-PS, FLV, AVI and QuickTime are taken too, and made an mp4.',
    ],
  ])('that nothing reads is told what is taken: %j', async (config, message) => {
    const { w, asked, put } = await studio(config);
    await using _ = w;
    const { body } = await put((await asked()).url, 'refuse: it is Ogg; expected an mp4');
    expect(body.errors).toEqual([message]);
  });

  it('is made an mp4 while its task runs, and that is the file of the asset', async () => {
    const { w, asked, put, get, converted } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const putting = put(url);
    const one = await converted();
    expect(one.file).toMatchObject({ size: foreign.length, foreign: { container: 'matroska' } });
    await w.advance('3s');
    one.order.progress(0.5);
    await w.settle();
    expect((await get(`/api/task/${task.id}`)).status).toMatchObject({ phase: 'running', progress: 0.725 });
    one.finish('the film');
    expect(await putting).toMatchObject({ status: 200, body: { status: 'ready', size: 8 } });
    await w.settle();
    expect((await get(`/api/task/${task.id}`)).status.phase).toBe('completed');
    const { downloadUrl } = await get(`/api/asset/${asset.id}`);
    expect(await (await w.app.handle(new Request(downloadUrl))).text()).toBe('the film');
  });

  it('is kept as it came beside that, until the asset is deleted', async () => {
    const { w, asked, put, get, blobsOf } = await studio();
    await using _ = w;
    w.converter.film = 'the film';
    const { url, asset } = await asked();
    const { body } = await put(url);
    expect(body.originalUrl).toBe(body.downloadUrl.replace(/video$/, 'original'));
    expect(body.hash[1].hash).toBe(Bun.SHA256.hash('the film', 'hex'));
    const answer = await w.app.handle(new Request(body.originalUrl));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/x-matroska',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline; filename="Friday.mkv"',
      etag: `"${Bun.SHA256.hash(foreign, 'hex')}"`,
    });
    expect(await answer.text()).toBe(foreign);
    await w.advance('3h');
    expect((await blobsOf(asset.id)).filter((key) => key.endsWith('.original'))).toHaveLength(1);
    expect(await get(`/api/asset/${asset.id}`)).toMatchObject({ originalUrl: body.originalUrl });
    await w.request('DELETE', `/api/asset/${asset.id}`);
    await w.settle();
    expect(await blobsOf(asset.id)).toEqual([]);
    expect((await w.app.handle(new Request(body.originalUrl))).status).toBe(404);
  });

  it('leaves nothing when what came cannot be kept', async () => {
    const { w, asked, put, blobsOf } = await studio();
    await using _ = w;
    w.converter.film = 'the film';
    const { adopt } = w.blobs;
    w.blobs.adopt = async (key, ...rest) => {
      if (key.endsWith('.original'))
        throw new Fault('blobs.full', { status: 507, message: 'The disk is full.' });
      return adopt(key, ...rest);
    };
    const { url, asset } = await asked();
    expect((await put(url)).status).toBe(507);
    expect(await blobsOf(asset.id)).toEqual([]);
    w.blobs.adopt = adopt;
    expect((await put(url)).status).toBe(200);
  });

  it('that is an mp4 already has no original', async () => {
    const { w, asked, put } = await studio();
    await using _ = w;
    const { status, body } = await put((await asked()).url, 'a film');
    expect([status, body.originalUrl, w.converter.asked.length]).toEqual([200, undefined, 0]);
    expect((await w.app.handle(new Request(body.downloadUrl.replace(/video$/, 'original')))).status).toBe(
      404,
    );
  });

  it('is encoded anew when what could be taken over of it is no good, and refused when that is none either', async () => {
    const { w, asked, put, converted, blobsOf } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const putting = put(url);
    const first = await converted();
    expect(first.order).toMatchObject({ isAnew: false });
    first.finish('refuse: it is strange');
    const second = await converted(2);
    expect(second.order).toMatchObject({ isAnew: true });
    second.finish('refuse: it stays strange');
    expect(await putting).toMatchObject({
      ...{ status: 422, body: { errors: ['The file was refused: it stays strange.'] } },
    });
    expect(await blobsOf(asset.id)).toEqual([]);
  });

  it.each([
    [10, 200],
    [11, 422],
    [400, 422],
  ])('is refused when clearly less comes of it than it says it has: 8 of %i s', async (seconds, status) => {
    const { w, asked, put, get, converted, blobsOf } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const putting = put(url, `${foreign} of ${seconds} s`);
    (await converted()).finish('the film');
    const answer = await putting;
    expect(answer.status).toBe(status);
    if (status === 200) return;
    const message = `The film is not converted: only 8.0 of ${seconds}.0 s of it could be read.`;
    expect(answer.body).toMatchObject({ code: 'conversion.refused', errors: [message] });
    await w.settle();
    expect(await get(`/api/asset/${asset.id}`)).toMatchObject({ status: 'failed', statusMessage: message });
    expect(await blobsOf(asset.id)).toEqual([]);
  });

  it('that cannot be converted fails task and asset, with the reason', async () => {
    const { w, asked, put, get } = await studio();
    await using _ = w;
    const message = 'The film is not converted: its pictures are too large.';
    w.converter.film = new Fault('conversion.refused', { status: 422, message, retry: false });
    const { url, asset, task } = await asked();
    expect(await put(url)).toMatchObject({
      ...{ status: 422, body: { code: 'conversion.refused', errors: [message] } },
    });
    await w.settle();
    expect((await get(`/api/task/${task.id}`)).status).toMatchObject({
      phase: 'failed',
      errorMessage: message,
    });
    expect(await get(`/api/asset/${asset.id}`)).toMatchObject({ status: 'failed', statusMessage: message });
  });

  it('is to be sent again when there is no ffmpeg though the config wants one', async () => {
    const { w, asked, put, get } = await studio({ normalise: true });
    await using _ = w;
    const message = 'ffmpeg is not installed on the server.';
    w.converter.film = new Fault('conversion.unavailable', { status: 503, message, retryAfter: 60 });
    const { url, task } = await asked();
    const { status, headers, body } = await put(url);
    expect([status, headers.get('retry-after'), body.errors]).toEqual([503, '60', [message]]);
    await w.settle();
    expect((await get(`/api/task/${task.id}`)).status.phase).toBe('waiting');
    w.converter.film = 'a film';
    expect((await put(url)).status).toBe(200);
  });

  it('is given up when its task is cancelled', async () => {
    const { w, asked, put, converted, blobsOf } = await studio();
    await using _ = w;
    const { url, asset, task } = await asked();
    const putting = put(url);
    const one = await converted();
    await w.advance('3s');
    await w.request('POST', `/api/task/${task.id}/cancel`);
    one.order.progress(0.1);
    expect(await putting).toMatchObject({ status: 409, body: { code: 'upload.cancelled' } });
    expect(one.isLeft).toBe(true);
    expect(await blobsOf(asset.id)).toEqual([]);
  });

  it('may not become larger than what may be uploaded', async () => {
    const { w, asked, put } = await studio({ maxUploadSize: '1KB' });
    await using _ = w;
    w.converter.film = 'x'.repeat(1001);
    const { status, body } = await put((await asked()).url);
    expect([status, body.code]).toEqual([422, 'conversion.refused']);
    expect(body.errors[0]).toContain('larger than 1KB (plugins.assets.maxUploadSize)');
  });
});

describe('a film of another kind that is imported', () => {
  const importing = async (given: Awaited<ReturnType<typeof studio>>) => {
    given.w.outbound.answer('http://films.example/', () => ({ body: Buffer.from(foreign) }));
    const { body } = await given.w.request('POST', '/api/asset/import', { body: { url } });
    return (phase: string) =>
      vi.waitUntil(async () => {
        await given.w.settle();
        const task = await given.get(`/api/task/${body.task.id}`);
        return task.status.phase === phase && { task, asset: await given.get(`/api/asset/${body.asset.id}`) };
      }, patient);
  };

  it('is made an mp4', async () => {
    const given = await studio();
    await using _ = given.w;
    given.w.converter.film = 'the film';
    const reached = await importing(given);
    expect(await reached('completed')).toMatchObject({ asset: { status: 'ready', size: 8 } });
  });

  it('is refused where there is no ffmpeg', async () => {
    const given = await studio({}, { isThere: false });
    await using _ = given.w;
    const reached = await importing(given);
    expect((await reached('failed')).task.status.errorMessage).toContain('Matroska or WebM');
  });

  it('is fetched again when there was no ffmpeg', async () => {
    const given = await studio();
    await using _ = given.w;
    const message = 'ffmpeg is not installed on the server.';
    given.w.converter.film = new Fault('conversion.unavailable', { status: 503, message, retryAfter: 60 });
    const reached = await importing(given);
    await given.converted();
    await given.w.settle();
    expect((await reached('waiting')).task.status.errorMessage).toBe(message);
    given.w.converter.film = 'the film';
    await given.w.advance('61s');
    await reached('completed');
  });
});
