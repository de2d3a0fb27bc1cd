import { expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { bootstrapKey, world } from '../kit/world.ts';

const plugins = await allPlugins();

it.each([
  ['/api/stream', { streams: { maxStreams: 2 } }, { name: 'One' }, 'stream.too_many'],
  ['/api/api-token', { accounts: { maxKeys: 2 } }, { name: 'One' }, 'api_token.too_many'],
  [
    '/api/multistream/target',
    { multistream: { maxTargets: 2 } },
    { url: 'rtmp://push.example.com/live/one' },
    'target.too_many',
  ],
])('an account has as many of %s as the config allows, and no more', async (path, config, body, code) => {
  await using w = await world({ plugins, config });
  const first = await w.request('POST', path, { body });
  expect(first.status).toBe(201);
  expect((await w.request('POST', path, { body })).status).toBe(201);
  const refused = await w.request('POST', path, { body });
  expect(refused).toMatchObject({ status: 403, body: { code } });
  expect(refused.body.errors[0]).toMatch(/\b2\b.*Delete some/);
  expect((await w.request('GET', path)).body).toHaveLength(2);

  expect((await w.request('DELETE', `${path}/${first.body.id}`)).status).toBe(204);
  expect((await w.request('POST', path, { body })).status).toBe(201);
});

it('counts targets that streams bring along, and makes none of them when they are too many', async () => {
  await using w = await world({ plugins, config: { multistream: { maxTargets: 2 } } });
  const target = (key: string) => ({
    profile: 'source',
    spec: { url: `rtmp://push.example.com/live/${key}` },
  });
  const body = { name: 'One', multistream: { targets: ['a', 'b', 'c'].map(target) } };
  expect(await w.request('POST', '/api/stream', { body })).toMatchObject({
    status: 403,
    body: { code: 'target.too_many' },
  });
  expect((await w.request('GET', '/api/multistream/target')).body).toEqual([]);
  const fits = { name: 'One', multistream: { targets: ['a', 'b'].map(target) } };
  expect((await w.request('POST', '/api/stream', { body: fits })).status).toBe(201);
});

it('does not count sessions as streams', async () => {
  await using w = await world({ plugins, config: { streams: { maxStreams: 2 } } });
  const one = await w.given.stream();
  for (let broadcasts = 0; broadcasts < 3; broadcasts += 1) {
    await w.given.broadcast(one);
    await w.request('DELETE', `/api/stream/${one.id}/terminate`);
  }
  expect((await w.request('GET', '/api/session')).body).toHaveLength(3);
  await w.given.stream();
});

it('lets no account open so many event streams that others have none', async () => {
  await using w = await world({ plugins, config: { events: { maxStreamsOfAccount: 2 } } });
  const { key } = await anotherAccount(w);
  const open = async (by: string) =>
    w.app.handle(
      new Request('http://localhost:8080/api/events', { headers: { authorization: `Bearer ${by}` } }),
    );
  const own = [await open(bootstrapKey), await open(bootstrapKey)];
  expect(own.map(({ status }) => status)).toEqual([200, 200]);
  const refused = await open(bootstrapKey);
  expect([refused.status, (await refused.json()).code]).toEqual([503, 'events.too_many']);
  const others = await open(key);
  expect(others.status).toBe(200);

  await own[0]?.body?.cancel();
  const again = await open(bootstrapKey);
  expect(again.status).toBe(200);
  for (const one of [own[1], others, again]) await one?.body?.cancel();
});
