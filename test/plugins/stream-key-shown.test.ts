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
