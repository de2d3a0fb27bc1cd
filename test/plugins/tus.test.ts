import { describe, expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { fleet } from '../kit/fleet.ts';
import { type World, world } from '../kit/world.ts';

const shipped = await allPlugins();
const film = 'a film of eight seconds';
const bytes = 'application/offset+octet-stream';

interface Sent {
  readonly body?: BodyInit | null;
  readonly headers?: Readonly<Record<string, string>>;
}
type Host = Pick<World, 'app' | 'settle'>;

async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins: shipped, ...options });
  const asked = async (name = 'Friday') => {
    const answer = await w.request('POST', '/api/asset/request-upload', { body: { name } });
    return answer.body as { url: string; tusEndpoint: string; asset: { id: string }; task: { id: string } };
  };
  return { w, asked };
}

async function send(w: Host, method: string, url: string, { body, headers = {} }: Sent = {}) {
  const length = typeof body === 'string' ? { 'content-length': String(body.length) } : {};
  const sent = { 'tus-resumable': '1.0.0', ...length, ...headers };
  const request = new Request(url, {
    method,
    headers: sent,
    ...(body && { body, duplex: 'half' }),
  } as RequestInit);
  const answer = await w.app.handle(request);
  const text = await answer.text();
  await w.settle();
  const { status } = answer;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  return { status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as any };
}

const create = (w: Host, url: string, { body, headers = {} }: Sent = {}) =>
  send(w, 'POST', url, {
    ...(body !== undefined && { body }),
    headers: { 'upload-length': String(film.length), ...headers },
  });
const patch = (
  w: Host,
  url: string,
  offset: number,
  { body = film.slice(offset), headers = {} }: Sent = {},
) =>
  send(w, 'PATCH', url, {
    body,
    headers: { 'content-type': bytes, 'upload-offset': String(offset), ...headers },
  });
const head = (w: Host, url: string) => send(w, 'HEAD', url);
const offsetOf = async (w: Host, url: string) => {
  const { status, headers } = await head(w, url);
  return [status, headers.get('upload-offset')];
};
const begun = async (w: Host, endpoint: string, given: Sent = {}) => {
  const answer = await create(w, endpoint, given);
  expect(answer.status).toBe(201);
  return answer.headers.get('location') as string;
};
const get = async (w: World, path: string) => (await w.request('GET', path)).body;
const phaseOf = async (w: World, { task }: { task: { id: string } }) =>
  (await get(w, `/api/task/${task.id}`)).status.phase;
const statusOf = async (w: World, { asset }: { asset: { id: string } }) =>
  (await get(w, `/api/asset/${asset.id}`)).status;

/** A body that gives its text, and then nothing until it is told how it goes on. */
function halted(text: string) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  promise.catch(() => {});
  let isGiven = false;
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isGiven) {
          isGiven = true;
          return controller.enqueue(Buffer.from(text));
        }
        read.resolve();
        await promise;
        controller.close();
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state, isRead: read.promise, close: resolve, breakOff: () => reject(new Error('cut off')) };
}

describe('a tus upload', () => {
  it('is created, sent in pieces, and makes the asset ready as a PUT does', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    expect(given.tusEndpoint).toMatch(
      new RegExp(`^http://localhost:8080/upload/${given.asset.id}/tus\\?expires=\\d+&signature=[\\w-]{43}$`),
    );
    const metadata = 'filename ZmlsbS5tcDQ=,empty';
    const created = await create(w, given.tusEndpoint, { headers: { 'upload-metadata': metadata } });
    expect([created.status, created.headers.get('upload-offset')]).toEqual([201, '0']);
    const url = created.headers.get('location') as string;
    expect(url).toMatch(
      new RegExp(`^http://localhost:8080/upload/${given.asset.id}/tus/[0-9a-f-]{36}\\?node=local&`),
    );
    expect(await phaseOf(w, given)).toBe('pending');
    const first = await patch(w, url, 0, { body: film.slice(0, 6) });
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '6']);
    expect(Date.parse(first.headers.get('upload-expires') ?? '')).toBe(w.now() + 12 * 3_600_000);
    expect(await phaseOf(w, given)).toBe('running');
    const state = await head(w, url);
    expect(state.status).toBe(200);
    expect(Object.fromEntries(state.headers)).toMatchObject({
      ...{
        'upload-offset': '6',
        'upload-length': '23',
        'upload-metadata': metadata,
        'tus-resumable': '1.0.0',
      },
      ...{ 'cache-control': 'no-store', 'access-control-allow-origin': '*' },
    });
    expect((await patch(w, url, 6)).headers.get('upload-offset')).toBe('23');
    const asset = await get(w, `/api/asset/${given.asset.id}`);
    expect(asset).toMatchObject({ status: 'ready', size: 23, videoSpec: { duration: 8 } });
    expect(await (await w.app.handle(new Request(asset.downloadUrl))).text()).toBe(film);
    expect((await get(w, `/api/task/${given.task.id}`)).output.upload.assetSpec).toMatchObject({
      name: 'Friday',
      size: 23,
    });
    expect((await w.events()).map(({ event, payload }) => [event, payload.task?.status.phase])).toEqual([
      ['task.spawned', 'pending'],
      ['asset.created', undefined],
      ['task.updated', 'running'],
      ['asset.ready', undefined],
      ['task.completed', 'completed'],
    ]);
  });

  it('is told to be complete for ever, and cannot be ended any more', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const { tusEndpoint } = await asked();
    const url = await begun(w, tusEndpoint);
    expect((await patch(w, url, 0)).status).toBe(204);
    await w.crash({ downFor: '1s' });
    expect(await offsetOf(w, url)).toEqual([200, '23']);
    // The answer to its last PATCH may have been lost.
    expect((await patch(w, url, 23, { body: '' })).headers.get('upload-offset')).toBe('23');
    expect((await patch(w, url, 6)).body.code).toBe('upload.accepted');
    expect((await send(w, 'DELETE', url)).body.code).toBe('upload.accepted');
    expect((await create(w, tusEndpoint)).body.code).toBe('upload.accepted');
  });

  it('may come with its creation, all of it or a part', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const [one, two] = [await asked(), await asked()];
    const whole = await create(w, one.tusEndpoint, { body: film, headers: { 'content-type': bytes } });
    expect([whole.status, whole.headers.get('upload-offset')]).toEqual([201, '23']);
    expect(await statusOf(w, one)).toBe('ready');
    const part = await create(w, two.tusEndpoint, { body: 'a film', headers: { 'content-type': bytes } });
    expect([part.status, part.headers.get('upload-offset')]).toEqual([201, '6']);
    expect((await patch(w, part.headers.get('location') as string, 6)).status).toBe(204);
    expect(await statusOf(w, two)).toBe('ready');
  });

  it('whose last byte shows that it is none is 422 with the reason, and another may be sent', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const bad = 'refuse: its video is hevc';
    const headers = { 'upload-length': String(bad.length) };
    const url = await begun(w, given.tusEndpoint, { headers });
    const answer = await patch(w, url, 0, { body: bad });
    const message = 'The file was refused: its video is hevc.';
    expect([answer.status, answer.body]).toEqual([422, { code: 'upload.refused', errors: [message] }]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(await get(w, `/api/asset/${given.asset.id}`)).toMatchObject({
      status: 'failed',
      statusMessage: message,
    });
    expect((await get(w, `/api/task/${given.task.id}`)).status).toMatchObject({
      phase: 'failed',
      errorMessage: message,
    });
    expect((await head(w, url)).status).toBe(404);
    const again = await begun(w, given.tusEndpoint);
    expect((await patch(w, again, 0)).status).toBe(204);
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['ready', 'completed']);
  });

  it('of nothing is refused at once', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint } = await asked();
    // The scripted inspector takes everything; that the file is seen to is what counts.
    expect(
      (await create(w, tusEndpoint, { headers: { 'upload-length': '0' } })).headers.get('upload-offset'),
    ).toBe('0');
  });

  it('that nobody can look into now is kept whole: whoever asks has it tried again', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const busy = 'busy';
    const url = await begun(w, given.tusEndpoint, { headers: { 'upload-length': '4' } });
    expect((await patch(w, url, 0, { body: busy })).status).toBe(503);
    expect(await phaseOf(w, given)).toBe('waiting');
    // tus-js-client takes 200 with all bytes for success, and any other refusal but this for the end of the upload.
    expect((await head(w, url)).status).toBe(423);
    expect((await patch(w, url, 4, { body: '' })).status).toBe(503);
    expect(await statusOf(w, given)).toBe('waiting');
  });

  it('that is terminated is gone, and another may be created', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    expect((await send(w, 'DELETE', url)).status).toBe(204);
    expect(await phaseOf(w, given)).toBe('waiting');
    for (const answer of [await head(w, url), await patch(w, url, 6), await send(w, 'DELETE', url)])
      expect(answer.status).toBe(404);
    const again = await begun(w, given.tusEndpoint);
    expect((await patch(w, again, 0)).status).toBe(204);
  });

  it('may be sent by clients that know nothing but POST', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    const post = (method: string, sent: Sent = {}) =>
      send(w, 'POST', url, { ...sent, headers: { 'x-http-method-override': method, ...sent.headers } });
    const sent = { body: 'a film', headers: { 'content-type': bytes, 'upload-offset': '0' } };
    expect((await post('PATCH', sent)).headers.get('upload-offset')).toBe('6');
    expect((await post('head')).headers.get('upload-offset')).toBe('6');
    expect((await post('GET')).body.code).toBe('upload.invalid');
    expect((await send(w, 'POST', url)).status).toBe(405);
    expect((await post('DELETE')).status).toBe(204);
    expect((await head(w, url)).status).toBe(404);
  });
});

describe('a task of a tus upload', () => {
  it('runs while pieces come one behind the other, and waits after a pause', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    for (const at of [0, 1, 2, 3]) {
      await patch(w, url, at, { body: film[at] });
      await w.advance('9s');
      expect(await phaseOf(w, given)).toBe('running');
    }
    await w.advance('1s');
    expect(await phaseOf(w, given)).toBe('waiting');
    expect((await patch(w, url, 4)).status).toBe(204);
    expect(await phaseOf(w, given)).toBe('completed');
    const phases = (await w.events()).flatMap(({ payload }) => payload.task?.status.phase ?? []);
    expect(phases).toEqual(['pending', 'running', 'waiting', 'running', 'completed']);
  });

  it('waits at once when the client is cut off; progress does not go back', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: film.slice(0, 10) });
    await w.advance('3s');
    const cut = halted(film.slice(10, 15));
    const lost = patch(w, url, 10, { body: cut.body });
    await cut.isRead;
    // It is stored beside what is received.
    await w.advance('1ms');
    const before = (await get(w, `/api/task/${given.task.id}`)).status.progress;
    expect(before).toBeGreaterThan(0.5);
    cut.breakOff();
    expect((await lost).body.code).toBe('intake.broken');
    expect(await phaseOf(w, given)).toBe('waiting');
    expect(await offsetOf(w, url)).toEqual([200, '15']);
    await w.advance('3s');
    await patch(w, url, 15, { body: film[15] });
    expect((await get(w, `/api/task/${given.task.id}`)).status.progress).toBeGreaterThanOrEqual(before);
  });

  it('that is cancelled ends the upload', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    await w.request('POST', `/api/task/${given.task.id}/cancel`);
    await w.advance('11s');
    expect((await patch(w, url, 6)).body.code).toBe('upload.cancelled');
    expect((await head(w, url)).status).toBe(404);
    expect((await create(w, given.tusEndpoint)).body.code).toBe('upload.cancelled');
    const { params } = (await w.request('POST', `/api/task/${given.task.id}/retry`)).body;
    const again = await begun(w, params.upload.tusEndpoint);
    expect((await patch(w, again, 0)).status).toBe(204);
  });

  it('that is cancelled and retried while the upload pauses goes on with it', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    for (const what of ['cancel', 'retry']) await w.request('POST', `/api/task/${given.task.id}/${what}`);
    // What it knew of the task is not so any more: it is told to ask again, and does.
    expect((await patch(w, url, 6)).status).toBe(423);
    expect(await offsetOf(w, url)).toEqual([200, '23']);
    expect(await statusOf(w, given)).toBe('ready');
  });

  it('is completed by whichever upload is first, by PUT too; the others are gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const [one, two] = [await begun(w, given.tusEndpoint), await begun(w, given.tusEndpoint)];
    await patch(w, one, 0, { body: 'a film' });
    await patch(w, two, 0, { body: 'a' });
    expect((await w.app.handle(new Request(given.url, { method: 'PUT', body: film }))).status).toBe(200);
    expect((await patch(w, one, 6)).body.code).toBe('upload.accepted');
    expect((await head(w, one)).status).toBe(404);
    await w.advance('5m');
    expect((await patch(w, two, 1)).body.code).toBe('upload.not_found');
  });

  it('a deleted asset is 404, and its uploads are gone', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await w.request('DELETE', `/api/asset/${given.asset.id}`);
    expect((await patch(w, url, 0)).body.code).toBe('asset.not_found');
    expect((await head(w, url)).status).toBe(404);
    expect((await create(w, given.tusEndpoint)).body.code).toBe('asset.not_found');
  });
});

describe('side by side', () => {
  it('a newer request ends the one before, whose connection may be dead', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint } = await asked();
    const url = await begun(w, tusEndpoint);
    const dead = halted('a film');
    const first = patch(w, url, 0, { body: dead.body });
    await dead.isRead;
    // HEAD too: what it tells must not grow behind its back.
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    expect([(await first).status, (await first).body.code]).toEqual([400, 'upload.interrupted']);
    const second = halted(' of');
    const running = patch(w, url, 6, { body: second.body });
    await second.isRead;
    expect((await patch(w, url, 9)).status).toBe(204);
    expect((await running).body.code).toBe('upload.interrupted');
  });

  it('DELETE ends what comes', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const url = await begun(w, (await asked()).tusEndpoint);
    const slow = halted('a film');
    const first = patch(w, url, 0, { body: slow.body });
    await slow.isRead;
    expect((await send(w, 'DELETE', url)).status).toBe(204);
    expect((await first).body.code).toBe('upload.interrupted');
    expect((await head(w, url)).status).toBe(404);
  });

  it('a PUT and tus take the same places', async () => {
    const { w, asked } = await studio({ config: { assets: { uploadsPerAccount: 1 } } });
    await using _ = w;
    const [one, two] = [await asked(), await asked()];
    const slow = halted('a film');
    const first = patch(w, await begun(w, one.tusEndpoint), 0, { body: slow.body });
    await slow.isRead;
    const put = await w.app.handle(new Request(two.url, { method: 'PUT', body: film }));
    expect((await put.json()).code).toBe('upload.too_many');
    const url = await begun(w, two.tusEndpoint);
    expect((await patch(w, url, 0)).body.code).toBe('upload.too_many');
    expect(await phaseOf(w, two)).toBe('waiting');
    slow.close();
    expect((await first).status).toBe(204);
    expect((await patch(w, url, 0)).status).toBe(204);
  });

  it('an asset has four: the next one ends the first that nobody writes to', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint } = await asked();
    const urls: string[] = [];
    for (let n = 0; n < 4; n += 1) urls.push(await begun(w, tusEndpoint));
    const all = urls.map(() => halted('a film'));
    const first = patch(w, urls[0], 0, { body: all[0].body });
    await all[0].isRead;
    urls.push(await begun(w, tusEndpoint));
    expect(await Promise.all(urls.slice(1).map(async (url) => (await head(w, url)).status))).toEqual([
      404, 200, 200, 200,
    ]);
    const running = [2, 3, 4].map((n, at) => patch(w, urls[n], 0, { body: all[at + 1].body }));
    await Promise.all(all.map(({ isRead }) => isRead));
    expect((await create(w, tusEndpoint)).body.code).toBe('upload.busy');
    for (const { close } of all) close();
    expect((await Promise.all([first, ...running])).map(({ status }) => status)).toEqual([
      204, 204, 204, 204,
    ]);
  });

  it('an asset has four, also of those that are created at the same moment', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { tusEndpoint: endpoint } = await asked();
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(film.length) };
    const created = await Promise.all(
      Array.from({ length: 40 }, async () =>
        w.app.handle(new Request(endpoint, { method: 'POST', headers })),
      ),
    );
    const urls = created.flatMap((answer) => answer.headers.get('location') ?? []);
    const there = await Promise.all(urls.map(async (url) => (await head(w, url)).status === 200));
    expect(there.filter(Boolean)).toHaveLength(4);
  });

  it('an account has a hundred on a node', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    for (let n = 0; n < 25; n += 1) {
      const { tusEndpoint } = await asked();
      await Promise.all([1, 2, 3, 4].map(() => begun(w, tusEndpoint)));
    }
    const { tusEndpoint } = await asked();
    expect((await create(w, tusEndpoint)).body.code).toBe('upload.too_many');
  });
});

describe('what is refused', () => {
  it.each<[string, Sent['headers'] & object, number, string]>([
    ['no version', { 'tus-resumable': '' }, 412, 'upload.wrong_version'],
    ['another version', { 'tus-resumable': '0.2.2' }, 412, 'upload.wrong_version'],
    ['a negative length', { 'upload-length': '-1' }, 400, 'upload.invalid'],
    ['a length that is none', { 'upload-length': '1e3' }, 400, 'upload.invalid'],
    ['a length beyond all numbers', { 'upload-length': '9999999999999999' }, 400, 'upload.invalid'],
    ['too long a file', { 'upload-length': '10000000001' }, 413, 'intake.too_large'],
    ['a length that is to come', { 'upload-defer-length': '1' }, 400, 'upload.invalid'],
    ['one of several parts', { 'upload-concat': 'partial' }, 400, 'upload.invalid'],
    ['metadata that are none', { 'upload-metadata': 'a b c' }, 400, 'upload.invalid'],
    ['metadata that are not Base64', { 'upload-metadata': 'name Zm9' }, 400, 'upload.invalid'],
    ['metadata with a key twice', { 'upload-metadata': 'a Zm9v,a Zm9v' }, 400, 'upload.invalid'],
    ['too many metadata', { 'upload-metadata': `a ${'AAAA'.repeat(1100)}` }, 400, 'upload.invalid'],
    [
      'bytes of another type',
      { 'content-length': '5', 'content-type': 'video/mp4' },
      415,
      'upload.wrong_type',
    ],
  ])('a creation with %s', async (_, headers, status, code) => {
    const { w, asked } = await studio();
    await using __ = w;
    const given = await asked();
    const answer = await create(w, given.tusEndpoint, { headers });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.headers.get('tus-version')).toBe(status === 412 ? '1.0.0' : null);
    expect(answer.headers.get('access-control-expose-headers')).toContain('Upload-Offset');
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['waiting', 'pending']);
  });

  it.each<[string, Sent['headers'] & object, number, string]>([
    ['no version', { 'tus-resumable': '' }, 412, 'upload.wrong_version'],
    ['another type', { 'content-type': 'application/octet-stream' }, 415, 'upload.wrong_type'],
    ['a wrong offset', { 'upload-offset': '5' }, 409, 'upload.wrong_offset'],
    ['an offset beyond the end', { 'upload-offset': '1000' }, 409, 'upload.wrong_offset'],
    ['a negative offset', { 'upload-offset': '-6' }, 400, 'upload.invalid'],
    ['an offset that is none', { 'upload-offset': 'six' }, 400, 'upload.invalid'],
    ['another length', { 'upload-length': '9' }, 400, 'upload.invalid'],
    ['more than is missing', { 'content-length': '18' }, 413, 'intake.beyond'],
  ])('a PATCH with %s changes nothing', async (_, headers, status, code) => {
    const { w, asked } = await studio();
    await using __ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    const answer = await patch(w, url, 6, { headers });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    expect((await patch(w, url, 6)).status).toBe(204);
    expect(await statusOf(w, given)).toBe('ready');
  });

  it('more bytes than were said, where the body does not tell its length', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    const answer = await patch(w, url, 0, { body: halted(`${film} and more`).body });
    expect(answer.body.code).toBe('intake.beyond');
    expect([await offsetOf(w, url), await statusOf(w, given)]).toEqual([[200, '0'], 'waiting']);
  });

  it('a URL that was altered, or is another one', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const [one, two] = [await asked(), await asked()];
    const url = await begun(w, one.tusEndpoint);
    const id = /tus\/([^?]+)/.exec(url)?.[1] as string;
    const swapped = (text: string) =>
      text.replace(/signature=./, (start) => (start.endsWith('A') ? 'signature=B' : 'signature=A'));
    for (const wrong of [
      one.tusEndpoint.replace(one.asset.id, two.asset.id),
      one.tusEndpoint.replace(/expires=\d+/, 'expires=99999999999'),
      one.tusEndpoint.replace(/\?.*/, ''),
      swapped(one.tusEndpoint),
      one.url.replace('?', '/tus?'),
    ])
      expect((await create(w, wrong)).body.code, wrong).toBe('upload.altered');
    for (const wrong of [
      url.replace(one.asset.id, two.asset.id),
      url.replace('node=local', 'node=other'),
      url.replace(
        id,
        id.replace(/^./, (char) => (char === 'a' ? 'b' : 'a')),
      ),
      url.replace(/expires=\d+/, 'expires=99999999999'),
      swapped(url),
      one.tusEndpoint.replace('/tus?', `/tus/${id}?node=local&`),
    ]) {
      expect((await patch(w, wrong, 0)).body.code, wrong).toBe('upload.altered');
      expect((await send(w, 'DELETE', wrong)).body.code, wrong).toBe('upload.altered');
      expect((await head(w, wrong)).status, wrong).toBe(403);
    }
    // The endpoint is no upload URL, and takes no PUT.
    const put = await w.app.handle(
      new Request(one.tusEndpoint.replace('/tus?', '?'), { method: 'PUT', body: film }),
    );
    expect((await put.json()).code).toBe('upload.altered');
    expect(await offsetOf(w, url)).toEqual([200, '0']);
  });
});

describe('time', () => {
  it('that the bytes of each request take is bounded as of a PUT', async () => {
    const { w, asked } = await studio({ config: { assets: { leastRate: '5KB' } } });
    await using _ = w;
    const { headers } = await create(w, (await asked()).tusEndpoint);
    await patch(w, headers.get('location') as string, 0, { body: film.slice(0, 5) });
    await patch(w, headers.get('location') as string, 5);
    const pace = { rate: 5000, window: 60_000 };
    expect(w.intake.paces).toEqual([pace, pace]);
  });

  it('ends the endpoint and its uploads after 12 h', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    await w.advance('11h');
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    await w.advance('1h');
    expect((await create(w, given.tusEndpoint)).body.code).toBe('upload.expired');
    expect((await patch(w, url, 6)).body.code).toBe('upload.ended');
    expect((await head(w, url)).status).toBe(410);
    expect(await get(w, `/api/asset/${given.asset.id}`)).toMatchObject({
      ...{ status: 'failed', statusMessage: 'No file came before the upload URL expired.' },
    });
  });
});

it('is not begun where the disk is nearly full', async () => {
  const { w, asked } = await studio();
  await using _ = w;
  const given = await asked();
  w.intake.room = film.length - 1;
  const refused = await create(w, given.tusEndpoint);
  expect([refused.status, refused.body.code]).toEqual([507, 'intake.full']);
  w.intake.room = film.length;
  const url = await begun(w, given.tusEndpoint);
  expect((await patch(w, url, 0)).status).toBe(204);
  expect(await statusOf(w, given)).toBe('ready');
});

describe('OPTIONS', () => {
  it('tells what is supported, to pages of every origin, with no version asked for', async () => {
    const { w, asked } = await studio({ config: { assets: { maxUploadSize: '5MB' } } });
    await using _ = w;
    const { tusEndpoint } = await asked();
    const url = await begun(w, tusEndpoint);
    for (const at of [tusEndpoint, url]) {
      const answer = await w.app.handle(
        new Request(at, { method: 'OPTIONS', headers: { origin: 'https://a.example' } }),
      );
      expect([answer.status, Object.fromEntries(answer.headers)]).toMatchObject([
        204,
        {
          ...{ 'tus-resumable': '1.0.0', 'tus-version': '1.0.0', 'tus-max-size': '5000000' },
          'tus-extension': 'creation,creation-with-upload,termination,expiration',
          ...{
            'access-control-allow-origin': '*',
            'access-control-allow-methods': 'POST, HEAD, PATCH, DELETE, OPTIONS',
          },
        },
      ]);
      for (const name of [
        'Tus-Resumable',
        'Upload-Offset',
        'Upload-Length',
        'Upload-Metadata',
        'X-HTTP-Method-Override',
      ])
        expect(answer.headers.get('access-control-allow-headers')).toContain(name);
      for (const name of ['Location', 'Upload-Offset', 'Upload-Length', 'Upload-Expires', 'Tus-Max-Size'])
        expect(answer.headers.get('access-control-expose-headers')).toContain(name);
    }
  });
});

describe('a process that dies', () => {
  it('leaves an upload that goes on, and a task that waits', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    await patch(w, url, 0, { body: 'a film' });
    await w.crash({ downFor: '5s' });
    expect(await phaseOf(w, given)).toBe('waiting');
    expect(await offsetOf(w, url)).toEqual([200, '6']);
    expect((await patch(w, url, 6)).status).toBe(204);
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['ready', 'completed']);
  });

  it('after the last byte: the next one makes the asset of it, without the client', async () => {
    const { w, asked } = await studio({ durable: true });
    await using _ = w;
    const given = await asked();
    const url = await begun(w, given.tusEndpoint);
    // It dies when all is there and nobody has looked into it: the store is gone in the middle.
    const slow = halted(film);
    const lost = patch(w, url, 0, { body: slow.body }).catch(() => {});
    await slow.isRead;
    await w.crash({ downFor: '5s' });
    slow.breakOff();
    await lost;
    await w.advance('5m');
    expect([await statusOf(w, given), await phaseOf(w, given)]).toEqual(['ready', 'completed']);
    expect(await offsetOf(w, url)).toEqual([200, '23']);
  });
});

describe('several nodes', () => {
  async function nodes() {
    const f = await fleet({ plugins: shipped });
    const [a, b] = [await f.start('a'), await f.start('b')];
    const host = (node: typeof a): Host => ({ app: node.booted.app, settle: f.settle });
    const { body } = await a.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    const { tusEndpoint, asset } = body as { tusEndpoint: string; asset: { id: string } };
    const statusOf = async () => (await a.request('GET', `/api/asset/${asset.id}`)).body.status;
    return { f, a, b, onA: host(a), onB: host(b), tusEndpoint, statusOf };
  }

  it('hand requests on to the one that has the upload', async () => {
    const { f, onA, onB, tusEndpoint, statusOf } = await nodes();
    await using _ = f;
    const url = await begun(onB, tusEndpoint, { headers: { 'upload-metadata': 'a Zm9v' } });
    expect(url).toContain('node=b');
    const first = await patch(onA, url, 0, { body: 'a film' });
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '6']);
    const state = await head(onA, url);
    expect([state.status, state.headers.get('upload-length'), state.headers.get('upload-metadata')]).toEqual([
      ...[200, '23', 'a Zm9v'],
    ]);
    expect((await patch(onA, url, 0)).body.code).toBe('upload.wrong_offset');
    const slow = halted(' of');
    const running = patch(onA, url, 6, { body: slow.body, headers: { 'content-length': '5' } });
    await slow.isRead;
    slow.breakOff();
    expect((await running).status).toBeGreaterThanOrEqual(400);
    expect(await offsetOf(onB, url)).toEqual([200, '9']);
    expect((await patch(onA, url, 9, { body: halted('').body })).body.code).toBe('upload.length_required');
    expect((await patch(onA, url, 9)).status).toBe(204);
    expect(await statusOf()).toBe('ready');
    expect(await offsetOf(onA, url)).toEqual([200, '23']);
    const other = await create(onB, tusEndpoint);
    expect(other.body.code).toBe('upload.accepted');
  });

  it('hand on bodies larger than those of other routes may be', async () => {
    const { f, onA, onB, tusEndpoint } = await nodes();
    await using _ = f;
    const url = await begun(onB, tusEndpoint, { headers: { 'upload-length': '40000000' } });
    const slow = halted('a film');
    const headers = { 'content-length': '30000000' };
    const running = patch(onA, url, 0, { body: slow.body, headers });
    await slow.isRead;
    slow.breakOff();
    expect((await running).body.code).not.toBe('body.too_large');
    expect(await offsetOf(onA, url)).toEqual([200, '6']);
  });

  it('one that is gone is waited for, then clients begin anew', async () => {
    const { f, a, b, onA, tusEndpoint, statusOf } = await nodes();
    await using _ = f;
    const url = await begun({ app: b.booted.app, settle: f.settle }, tusEndpoint);
    await patch(onA, url, 0, { body: 'a film' });
    b.cut();
    const away = await patch(onA, url, 6);
    expect([away.status, away.body.code]).toEqual([503, 'node.unreachable']);
    expect((await head(onA, url)).status).toBe(423);
    await f.advance('30s');
    expect((await head(onA, url)).status).toBe(423);
    await f.advance('10m');
    expect((await head(onA, url)).status).toBe(404);
    expect((await patch(onA, url, 6)).body.code).toBe('upload.not_found');
    const again = await begun(onA, tusEndpoint);
    expect((await patch(onA, again, 0)).status).toBe(204);
    expect(await statusOf()).toBe('ready');
    expect(a.ended).toBe(undefined);
  });
});
