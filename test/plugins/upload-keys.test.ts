import { expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

/** An upload that a key of its own asked for. */
async function given(w: World) {
  const token = (await w.request('POST', '/api/api-token', { body: { name: 'app' } })).body;
  const asked = await w.request('POST', '/api/asset/request-upload', {
    key: token.key,
    body: { name: 'Film' },
  });
  const send = async (url: string, init: RequestInit) => {
    const answer = await w.app.handle(new Request(url, { duplex: 'half', ...init } as RequestInit));
    const text = await answer.text();
    await w.settle();
    return {
      status: answer.status,
      location: answer.headers.get('location') ?? '',
      code: text && JSON.parse(text).code,
    };
  };
  const tus = (url: string, headers: Record<string, string>, init: RequestInit = {}) =>
    send(url, { method: 'POST', ...init, headers: { 'tus-resumable': '1.0.0', ...headers } });
  const bytes = { 'content-type': 'application/offset+octet-stream' };
  return {
    ...{ send, tus, asked: asked.body },
    patch: (url: string, offset: number) =>
      tus(url, { ...bytes, 'upload-offset': String(offset) }, { method: 'PATCH', body: 'a film' }),
    revoke: () => w.request('DELETE', `/api/api-token/${token.id}`),
  };
}

it('upload URLs end with the API key that asked for them', async () => {
  await using w = await world({ plugins });
  const { asked, send, tus, patch, revoke } = await given(w);
  const created = await tus(asked.tusEndpoint, { 'upload-length': '12' });
  const { location, status } = created;
  expect([status, (await patch(location, 0)).status]).toEqual([201, 204]);
  expect((await revoke()).status).toBe(204);
  const refused = { status: 403, code: 'upload.revoked' };
  expect(await patch(location, 6)).toMatchObject(refused);
  expect(await tus(asked.tusEndpoint, { 'upload-length': '12' })).toMatchObject(refused);
  expect(await send(asked.url, { method: 'PUT', body: 'a film' })).toMatchObject(refused);
});

it('without its key, or with another, a URL is none of ours', async () => {
  await using w = await world({ plugins });
  const { asked, send } = await given(w);
  const { searchParams } = new URL(asked.url);
  const [expires, key] = [searchParams.get('expires') ?? '', searchParams.get('key') ?? ''];
  const path = asked.url.split('?')[0];
  const signature = searchParams.get('signature') ?? '';
  for (const given of [
    { expires, signature },
    { expires: `${expires}\n${key}`, signature },
    { expires, key: '', signature },
    { expires, key: 'another', signature },
  ]) {
    const url = `${path}?${new URLSearchParams(given as Record<string, string>)}`;
    expect(await send(url, { method: 'PUT', body: 'a film' })).toMatchObject({
      status: 403,
      code: 'upload.altered',
    });
  }
});

it('a PUT that is under way is cut when its key is deleted, and the task waits for another', async () => {
  await using w = await world({ plugins });
  const { asked, send, revoke } = await given(w);
  const read = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isBegun) {
          isBegun = true;
          return controller.enqueue(Buffer.from('half a '));
        }
        read.resolve();
        await goOn.promise;
        controller.enqueue(Buffer.from('film'));
      },
    },
    { highWaterMark: 0 },
  );
  const sent = send(asked.url, { method: 'PUT', body });
  await read.promise;
  await revoke();
  goOn.resolve();
  expect(await sent).toMatchObject({ status: 403, code: 'upload.revoked' });
  expect((await w.request('GET', `/api/task/${asked.task.id}`)).body.status.phase).toBe('waiting');
});

it('those of the bootstrap key stay', async () => {
  await using w = await world({ plugins });
  const { send } = await given(w);
  const own = (await w.request('POST', '/api/asset/request-upload', { body: { name: 'Film' } })).body;
  expect(own.url).not.toContain('key=');
  expect((await send(own.url, { method: 'PUT', body: 'a film of eight seconds' })).status).toBe(200);
});
