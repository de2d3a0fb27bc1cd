import { expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker, storeFile, videoBytes } from '../kit/asset-maker.ts';
import { type World, world } from '../kit/world.ts';

const maker = assetMaker();
const plugins = [...(await allPlugins()), maker.plugin];

async function film(w: World, name = 'A film') {
  const account = (await w.given.stream()).userId as string;
  const id = uuid();
  await maker.assets.begin({ id, account, name, source: { type: 'recording', sessionId: 's' } });
  await maker.assets.ready(id, await storeFile(w.blobs, id));
  const { downloadUrl } = (await w.request('GET', `/api/asset/${id}`)).body;
  const ask = async (headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await w.app.handle(new Request(downloadUrl, { method, headers }));
    const bytes = await answer.bytes();
    await w.settle();
    return { status: answer.status, headers: answer.headers, bytes };
  };
  return { id, ask, url: downloadUrl as string };
}

it('is the stored bytes, for everyone, with all that players and caches ask for', async () => {
  await using w = await world({ plugins });
  const { ask } = await film(w);
  const { status, headers, bytes } = await ask();
  expect([status, bytes]).toEqual([200, videoBytes]);
  expect(Object.fromEntries(headers)).toEqual({
    'accept-ranges': 'bytes',
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified',
    'cache-control': 'public, max-age=3600',
    'content-disposition': 'inline; filename="A film.mp4"',
    'content-length': '1000',
    'content-type': 'video/mp4',
    etag: `"${'cd'.repeat(32)}"`,
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    'x-content-type-options': 'nosniff',
  });
});

it('is answered by ranges, and by what the client has', async () => {
  await using w = await world({ plugins });
  const { ask } = await film(w);
  const part = await ask({ range: 'bytes=990-' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 990-999/1000']);
  expect(part.bytes).toEqual(videoBytes.slice(990));
  const etag = part.headers.get('etag') ?? '';
  expect((await ask({ 'if-none-match': etag })).status).toBe(304);
  expect((await ask({ 'if-match': '"other"' })).status).toBe(412);
  expect((await ask({ range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
  const beyond = await ask({ range: 'bytes=1000-' });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */1000']);
  expect(beyond.headers.get('access-control-allow-origin')).toBe('*');
});

it('is told of by HEAD without a read', async () => {
  await using w = await world({ plugins });
  const { ask, url } = await film(w);
  const blobs = w.blobs as { get: World['blobs']['get'] };
  blobs.get = () => Promise.reject(new Error('it was read'));
  const { status, headers, bytes } = await ask({ range: 'bytes=0-1' }, 'HEAD');
  expect([status, headers.get('content-length'), headers.get('content-range')]).toEqual([200, '1000', null]);
  expect(bytes).toHaveLength(0);
  const { etag } = Object.fromEntries(headers);
  const unchanged = await ask({ 'if-none-match': etag }, 'HEAD');
  expect([unchanged.status, unchanged.headers.get('content-length')]).toEqual([304, '1000']);
  const unknown = await w.app.handle(new Request(`${url}x`, { method: 'HEAD' }));
  expect(unknown.status).toBe(404);
});

it.each(['0123456789abcdef', '..%2f..%2fetc', 'ABCDEFGHIJKLMNOP', '%00', 'a'.repeat(500)])(
  'is 404 for everyone at /asset/%s/video',
  async (playbackId) => {
    await using w = await world({ plugins });
    const answer = await w.request('GET', `/asset/${playbackId}/video`, { key: null });
    expect([answer.status, answer.body.code]).toEqual([404, 'asset.no_file']);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  },
);

it('is 404 when its blob is gone, and 503 when the blob store does not answer', async () => {
  await using w = await world({ plugins });
  const { ask, id } = await film(w);
  await w.blobs.delete([`assets/${id}/source.mp4`]);
  expect((await ask()).status).toBe(404);
  const { Fault } = await import('../../core/base/fault.ts');
  const blobs = w.blobs as { get: World['blobs']['get'] };
  blobs.get = () => Promise.reject(new Fault('blobs.unavailable', { status: 503, message: 'No answer.' }));
  const away = await ask();
  expect([away.status, away.headers.get('access-control-allow-origin')]).toEqual([503, '*']);
});

it('lets a page elsewhere ask first, with a range', async () => {
  await using w = await world({ plugins });
  const { url } = await film(w);
  const answer = await w.app.handle(new Request(url, { method: 'OPTIONS' }));
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  expect(answer.headers.get('access-control-allow-methods')).toContain('HEAD');
});

it('is saved under the name of the asset, whatever that is, and keeps its version when it is renamed', async () => {
  await using w = await world({ plugins });
  const { ask, id } = await film(w, 'a\r\nSet-Cookie: x=1"; filename="../../.bashrc');
  const before = await ask();
  expect(before.headers.get('content-disposition')).toBe(
    'inline; filename="a__Set-Cookie_ x=1_; filename=_.._.._.bashrc.mp4"',
  );
  expect(before.headers.get('set-cookie')).toBeNull();
  await w.advance('1h');
  await w.request('PATCH', `/api/asset/${id}`, { body: { name: 'Ünï' } });
  const after = await ask();
  expect(after.headers.get('content-disposition')).toContain("filename*=UTF-8''%C3%9Cn%C3%AF.mp4");
  for (const name of ['etag', 'last-modified'])
    expect(after.headers.get(name)).toBe(before.headers.get(name));
});

it('is answered by nodes without the role api', async () => {
  await using w = await world({ plugins, roles: ['media'] });
  const answer = await w.app.handle(new Request('http://localhost:8080/asset/0123456789abcdef/video'));
  expect(((await answer.json()) as { code: string }).code).toBe('asset.no_file');
});
