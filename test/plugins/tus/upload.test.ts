import { describe, expect, it } from 'vitest';
import {
  begun,
  bytes,
  create,
  film,
  get,
  halted,
  head,
  offsetOf,
  patch,
  phaseOf,
  type Sent,
  send,
  statusOf,
  studio,
} from './kit.ts';

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
