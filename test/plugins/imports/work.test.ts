import { describe, expect, it } from 'vitest';
import type { AssetsKit } from '../../../plugins/assets/config.ts';
import { fileTaskOf } from '../../../plugins/assets/contract.ts';
import { importKind } from '../../../plugins/assets/imports/request.ts';
import type { TaskWork } from '../../../plugins/tasks/contract.ts';
import { attempts } from '../../../plugins/tasks/run.ts';
import { type Asked, failure, studio, url } from './kit.ts';

describe('an import', () => {
  it('of what is no film fails as an upload of it does', async () => {
    const { w, asked, serve, reached, get, blobsOf } = await studio();
    await using _ = w;
    serve('refuse: it is a web page');
    const answer = await asked();
    const message = 'The file was refused: it is a web page.';
    expect((await reached(answer, 'failed')).status.errorMessage).toBe(message);
    await w.settle();
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
    expect(await blobsOf(answer)).toEqual([]);
    expect(w.outbound.sent).toHaveLength(1);
  });

  it('of a file that is not there fails at once; a retry waits anew, and has it', async () => {
    const { w, asked, serve, reached, get } = await studio();
    await using _ = w;
    w.outbound.answer('http://films.example/', () => ({ status: 404 }));
    const answer = await asked();
    const message =
      'The file could not be fetched: http://films.example answered 404 (there is no such file).';
    expect((await reached(answer, 'failed')).status.errorMessage).toBe(message);
    await w.settle();
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
    serve();
    const retried = await w.request('POST', `/api/task/${answer.task.id}/retry`);
    expect(retried.status).toBe(200);
    expect(retried.body.params).toEqual({ import: { url } });
    expect(await reached(answer, 'completed')).toMatchObject({ status: { retries: 1 } });
    expect((await get(`/api/asset/${answer.asset.id}`)).status).toBe('ready');
    expect((await w.request('POST', `/api/task/${answer.task.id}/retry`)).body.code).toBe(
      'task.not_possible',
    );
  });

  it('that meets trouble is tried again, and fails when that does not end', async () => {
    const { w, asked, serve, reached, get } = await studio();
    await using _ = w;
    w.outbound.answer('http://films.example/', () => ({ status: 500 }));
    const one = await asked();
    await reached(one, 'waiting');
    expect((await get(`/api/asset/${one.asset.id}`)).status).toBe('waiting');
    serve();
    await w.advance('10s');
    await reached(one, 'completed');
    w.outbound.answer('http://films.example/', () => failure('connect', 'http://films.example refused it'));
    const two = await asked();
    for (let n = 0; n < attempts; n += 1) await w.advance('3m');
    const { status } = await reached(two, 'failed');
    expect(status.errorMessage).toContain('The file could not be fetched: http://films.example refused it.');
    await w.settle();
    expect((await get(`/api/asset/${two.asset.id}`)).status).toBe('failed');
  });

  it('waits as long as the server asks for it; another has its place meanwhile', async () => {
    const { w, asked, serve, reached, get } = await studio({ config: { tasks: { running: 1 } } });
    await using _ = w;
    w.outbound.answer('http://films.example/', () => ({ status: 429, headers: { 'retry-after': '600' } }));
    const one = await asked();
    await reached(one, 'waiting');
    serve();
    await reached(await asked(), 'completed');
    const phase = async () => (await get(`/api/task/${one.task.id}`)).status.phase;
    await w.advance('9m');
    expect(await phase()).toBe('waiting');
    await w.advance('1m');
    await reached(one, 'completed');
  });

  it('that is cancelled is left at once, and its asset fails', async () => {
    const { w, asked, halt, reached, get, blobsOf } = await studio();
    await using _ = w;
    const server = halt();
    const answer = await asked();
    await server.isAsked;
    await reached(answer, 'running');
    expect((await w.request('POST', `/api/task/${answer.task.id}/cancel`)).status).toBe(200);
    while (!server.isLeft()) await w.settle();
    await w.settle();
    expect(await get(`/api/asset/${answer.asset.id}`)).toMatchObject({
      ...{ status: 'failed', statusMessage: 'The import was cancelled.' },
    });
    expect(await blobsOf(answer)).toEqual([]);
    server.goOn();
    await w.settle();
    expect((await get(`/api/asset/${answer.asset.id}`)).status).toBe('failed');
  });

  it('whose asset is deleted is cancelled', async () => {
    const { w, asked, halt, reached, blobsOf } = await studio();
    await using _ = w;
    const server = halt();
    const answer = await asked();
    await server.isAsked;
    await w.request('DELETE', `/api/asset/${answer.asset.id}`);
    await reached(answer, 'cancelled');
    while (!server.isLeft()) await w.settle();
    await w.settle();
    expect(await blobsOf(answer)).toEqual([]);
    expect((await w.request('POST', `/api/task/${answer.task.id}/retry`)).body.code).toBe(
      'task.not_possible',
    );
  });

  it('goes on after a crash, with one file', async () => {
    const { w, asked, halt, serve, reached, get, blobsOf } = await studio({ durable: true });
    await using _ = w;
    const server = halt();
    const answer = await asked();
    await server.isAsked;
    await w.crash({ downFor: '1m' });
    serve();
    await w.advance('2m');
    const { output } = await reached(answer, 'completed');
    expect(await get('/api/asset')).toHaveLength(1);
    expect((await get(`/api/asset/${answer.asset.id}`)).status).toBe('ready');
    expectOneTry(await blobsOf(answer), output.import);
  });
});

/** All blobs are of the try whose video the output names: each is named by it. */
function expectOneTry(blobs: readonly string[], { videoFilePath, metadataFilePath }: Record<string, string>) {
  expect(blobs).toEqual(expect.arrayContaining([videoFilePath, metadataFilePath]));
  const stem = videoFilePath?.replace(/mp4$/, '') ?? '';
  expect(blobs.filter((key) => !key.startsWith(stem))).toEqual([]);
}

describe('the work of an import', () => {
  /** One try that a test makes itself, as a worker would. */
  function workOf(kit: AssetsKit, { asset }: Asked, more: Partial<TaskWork> = {}) {
    const ending = new AbortController();
    const told: number[] = [];
    const work: TaskWork = {
      ...{ id: fileTaskOf(asset.id, 'import'), account: 'a', name: 'Friday', phase: 'running', attempt: 1 },
      ...{ inputAssetId: null, outputAssetId: asset.id, params: { url }, signal: ending.signal },
      secret: { url, asset: JSON.stringify({ userTags: { season: 3 }, createdByTokenName: 'Studio' }) },
      progress: (fraction) => void told.push(fraction),
      ...more,
    };
    return { run: () => importKind(kit).run?.(work), ending, told };
  }
  const nobody = '00000000-0000-4000-8000-000000000000';

  it('side by side makes one file, and both say the same of it', async () => {
    const { w, asked, kit, halt, serve, get, blobsOf } = await studio();
    await using _ = w;
    halt();
    const answer = await asked();
    serve();
    const [one, two] = await Promise.all([1, 2].map(() => workOf(kit(), answer).run()));
    expect(one).toMatchObject({ outcome: 'done' });
    expect(two).toEqual(one);
    await w.settle();
    expectOneTry(await blobsOf(answer), (await get(`/api/task/${answer.task.id}`)).output.import);
    // Once more, as by a worker that had died before it could tell.
    const before = w.outbound.sent.length;
    expect(await workOf(kit(), answer).run()).toEqual(one);
    expect(w.outbound.sent).toHaveLength(before);
  });

  it('makes the asset where whoever asked for it died before that', async () => {
    const { w, kit, serve, get } = await studio();
    await using _ = w;
    serve();
    const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
    const { run, told } = workOf(kit(), { asset: { id: nobody }, task: { id: '' } }, { account });
    expect(await run()).toMatchObject({ outcome: 'done' });
    expect(await get(`/api/asset/${nobody}`)).toMatchObject({
      ...{ name: 'Friday', status: 'ready', userTags: { season: 3 }, createdByTokenName: 'Studio' },
      source: { type: 'url', url },
    });
    expect(told).toEqual([0.95, 0.97]);
  });

  it('of a deleted asset is over, and leaves no blobs when it is deleted at the last moment', async () => {
    const { w, asked, kit, halt, serve, blobsOf } = await studio();
    await using _ = w;
    halt();
    const answer = await asked();
    serve();
    const remove = () => w.request('DELETE', `/api/asset/${answer.asset.id}`);
    const adopting: AssetsKit['blobs'] = {
      ...kit().blobs,
      async adopt(...args) {
        const put = await kit().blobs.adopt(...args);
        await remove();
        return put;
      },
    };
    const gone = { outcome: 'failed', message: 'The asset of this import was deleted.' };
    expect(await workOf({ ...kit(), blobs: adopting }, answer).run()).toEqual(gone);
    await w.settle();
    expect(await blobsOf(answer)).toEqual([]);
    const before = w.outbound.sent.length;
    expect(await workOf(kit(), answer).run()).toEqual(gone);
    expect(w.outbound.sent).toHaveLength(before);
  });

  it('that is cancelled while the file is stored leaves no blobs', async () => {
    const { w, asked, kit, halt, serve, blobsOf, get } = await studio();
    await using _ = w;
    halt();
    const answer = await asked();
    serve();
    const own = kit();
    const adopting: AssetsKit['blobs'] = {
      ...own.blobs,
      async adopt(...args) {
        const put = await own.blobs.adopt(...args);
        work.ending.abort(new Error('cancelled'));
        return put;
      },
    };
    const work = workOf({ ...own, blobs: adopting }, answer);
    await expect(work.run()).rejects.toThrow('cancelled');
    expect(await blobsOf(answer)).toEqual([]);
    expect((await get(`/api/asset/${answer.asset.id}`)).status).toBe('waiting');
  });

  it('that cannot be stored leaves nothing, and is tried again', async () => {
    const { w, asked, kit, halt, serve, blobsOf } = await studio();
    await using _ = w;
    halt();
    const answer = await asked();
    serve();
    const own = kit();
    const adopt = () => Promise.reject(new Error('the disk is away'));
    const broken = { ...own, blobs: { ...own.blobs, adopt } };
    await expect(workOf(broken, answer).run()).rejects.toThrow('the disk is away');
    expect(await blobsOf(answer)).toEqual([]);
  });
});
