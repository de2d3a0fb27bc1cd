import { expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const targets = '/api/multistream/target';
const url = 'rtmp://live.example.com/app/key';
const withSpec = { multistream: { targets: [{ profile: 'source', spec: { url } }] } };

const keyWith = async (w: World, ...resources: string[]): Promise<string> => {
  const access = { rules: [{ resources }] };
  return (await w.request('POST', '/api/api-token', { body: { access } })).body.key;
};

it('makes targets by spec only for API keys that may make targets', async () => {
  await using w = await world({ plugins });
  const { id } = await w.given.stream();
  const writer = await keyWith(w, 'stream', 'stream/*');
  const refusal = {
    status: 403,
    body: { code: 'auth.not_allowed', errors: [expect.stringContaining('post multistream/target')] },
  };
  const create = (key: string) => w.request('POST', '/api/stream', { key, body: { name: 'S', ...withSpec } });
  const change = (key: string) => w.request('PATCH', `/api/stream/${id}`, { key, body: withSpec });
  for (const attempt of [create, change]) expect(await attempt(writer)).toMatchObject(refusal);
  // A right to read or to change targets is none to make them.
  expect(await change(await keyWith(w, 'stream/*', 'multistream/target/*'))).toMatchObject(refusal);
  expect((await w.request('GET', targets)).body).toEqual([]);

  const maker = await keyWith(w, 'stream', 'stream/*', 'multistream/target');
  expect([(await create(maker)).status, (await change(maker)).status]).toEqual([201, 204]);
  // To name a target that is there, the right to change the stream is enough.
  const [{ id: target }] = (await w.request('GET', targets)).body;
  const named = { multistream: { targets: [{ profile: 'source', id: target }] } };
  expect((await w.request('PATCH', `/api/stream/${id}`, { key: writer, body: named })).status).toBe(204);
  expect((await create(await keyWith(w, '*'))).status).toBe(201);
});
