import { expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

const keyWith = async (w: World, ...rules: readonly (readonly [string, ...string[]])[]): Promise<string> => {
  const access = { rules: rules.map(([resource, ...methods]) => ({ resources: [resource], methods })) };
  return (await w.request('POST', '/api/api-token', { body: { access } })).body.key;
};

it('shows the stream key to API keys that may change the stream, and to no others', async () => {
  await using w = await world({ plugins });
  const { id, streamKey } = await w.given.stream();
  const other = await w.given.stream();
  const [reader, writer] = [
    await keyWith(w, ['stream/*', 'get'], ['stream', 'get']),
    await keyWith(w, ['stream/*', 'get'], ['stream', 'get'], [`stream/${id}`, 'patch']),
  ];
  const get = async (path: string, key: string) => (await w.request('GET', path, { key })).body;

  for (const path of [`/api/stream/${id}`, '/api/stream']) {
    const seen = JSON.stringify(await get(path, reader));
    expect(seen).toContain(id);
    expect(seen).not.toContain(streamKey);
    for (const name of ['streamKey', 'ingestUrl', 'ingest"']) expect(seen).not.toContain(name);
  }
  expect(await get(`/api/stream/${id}`, writer)).toMatchObject({ streamKey, ingest: { key: streamKey } });
  const list: { id: string; streamKey?: string }[] = await get('/api/stream', writer);
  const keys = new Map(list.map((one) => [one.id, one.streamKey]));
  expect([keys.size, keys.get(other.id), keys.get(id)]).toEqual([2, undefined, streamKey]);
});

it('shows no key to an API key that may only make streams, or only rotate keys', async () => {
  await using w = await world({ plugins });
  const maker = await keyWith(w, ['stream', 'post']);
  const made = await w.request('POST', '/api/stream', { key: maker, body: { name: 'Made' } });
  expect([made.status, made.body.name, made.body.streamKey]).toEqual([201, 'Made', undefined]);

  const { id } = made.body;
  const turner = await keyWith(w, ['stream/:id/rotate-key', 'post']);
  const turned = await w.request('POST', `/api/stream/${id}/rotate-key`, { key: turner });
  expect([turned.status, turned.body.id, turned.body.streamKey]).toEqual([200, id, undefined]);
});

it('shows no key to an API key that repeats the request of one that may see it', async () => {
  await using w = await world({ plugins });
  const ask = (path: string, key?: string) =>
    w.request('POST', path, {
      ...{ body: path.endsWith('rotate-key') ? {} : { name: 'Made' }, headers: { 'idempotency-key': 'one' } },
      ...(key !== undefined && { key }),
    });
  const made = await ask('/api/stream');
  const { id, streamKey } = made.body;
  const rotated = await ask(`/api/stream/${id}/rotate-key`);
  const maker = await keyWith(w, ['stream', 'post'], ['stream/:id/rotate-key', 'post']);
  for (const path of ['/api/stream', `/api/stream/${id}/rotate-key`])
    for (let time = 0; time < 2; time += 1) {
      const again = await ask(path, maker);
      expect([again.body.id, again.body.streamKey, again.body.ingestUrl]).toEqual([id, undefined, undefined]);
    }
  // Nothing was made or rotated again.
  expect((await w.request('GET', '/api/stream')).body).toHaveLength(1);
  const own = [await ask('/api/stream'), await ask(`/api/stream/${id}/rotate-key`)];
  expect(own.map(({ body }) => body.streamKey)).toEqual([rotated.body.streamKey, rotated.body.streamKey]);
  expect(rotated.body.streamKey).not.toBe(streamKey);
});
