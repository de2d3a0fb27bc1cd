import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { OutboundFailure } from '../../core/ports/outbound.ts';
import type { AssetsKit } from '../../plugins/assets/config.ts';
import { fileTaskOf } from '../../plugins/assets/contract.ts';
import { importKind } from '../../plugins/assets/imports/kind.ts';
import type { TaskWork } from '../../plugins/tasks/contract.ts';
import { attempts } from '../../plugins/tasks/run.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const shipped = await allPlugins();
const film = 'a film of eight seconds';
const url = 'http://films.example/friday.mp4';

async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  let own: AssetsKit | undefined;
  const plugins = shipped.map((plugin) => {
    if (plugin.id !== 'assets' || !plugin.routes) return plugin;
    const { routes } = plugin;
    const kept: typeof routes = (kit) => {
      own = kit as unknown as AssetsKit;
      return routes(kit);
    };
    return { ...plugin, routes: kept };
  });
  const w = await world({ plugins, ...options });
  const ask = (body: object, headers: Record<string, string> = {}) =>
    w.request('POST', '/api/asset/import', { body, headers });
  const get = async (path: string) => (await w.request('GET', path)).body;
  return {
    ...{ w, ask, get },
    /** The kit of the plugin, as it was given at the last start. */
    kit: () => own as AssetsKit,
    /** Imports, and does not wait for how it goes. */
    async asked(body: object = { url }) {
      const answer = await ask(body);
      expect(answer.status).toBe(201);
      return answer.body as Asked;
    },
    async reached({ task }: Asked, ...phases: string[]) {
      for (;;) {
        await w.settle();
        const found = await get(`/api/task/${task.id}`);
        if (phases.includes(found.status.phase)) return found;
      }
    },
    blobsOf: async ({ asset }: Asked) =>
      (await w.blobs.list(`assets/${asset.id}/`, { limit: 100 })).blobs.map(({ key }) => key),
    serve: (body = film) => w.outbound.answer('http://films.example/', () => ({ body: Buffer.from(body) })),
    /** The server says nothing until it is told to, or is left. */
    halt() {
      const asked = Promise.withResolvers<void>();
      const going = Promise.withResolvers<void>();
      let isLeft = false;
      w.outbound.answer('http://films.example/', async (_, { signal }) => {
        asked.resolve();
        const left = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        await Promise.race([going.promise, left]);
        isLeft = signal?.aborted === true;
        return { body: Buffer.from(film) };
      });
      return { isAsked: asked.promise, goOn: going.resolve, isLeft: () => isLeft };
    },
  };
}

interface Asked {
  asset: { id: string };
  task: { id: string };
}

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

function failure(reason: OutboundFailure['reason'], message: string): OutboundFailure {
  return { ok: false, reason, message };
}
