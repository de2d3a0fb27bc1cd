import { expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const old = 'uNbxnGLKJ00yfbijDO8COxTOyVKT01xpxW';

const make = (w: World, body: unknown, key?: string) =>
  w.request('POST', '/api/alias', { body, ...(key !== undefined && { key }) });

it('plays a stream by an alias until it is deleted, and after a restart', async () => {
  await using w = await world({ plugins, durable: true });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  const { playbackId } = stream;
  const made = await make(w, { alias: old, playbackId });
  expect(made).toMatchObject({ status: 201, body: { alias: old, playbackId } });
  // Again is the same, so that whoever moves things can begin anew.
  expect((await make(w, { alias: old, playbackId })).body).toEqual(made.body);
  expect((await w.request('GET', '/api/alias')).body).toEqual([made.body]);
  expect((await w.request('GET', `/api/alias/${old}`)).body).toEqual(made.body);
  expect((await w.request('GET', `/api/playback/${old}`)).body.meta.live).toBe(1);

  await w.crash({ downFor: '1s' });
  expect((await w.request('GET', `/api/alias/${old}`)).body).toEqual(made.body);
  const again = await w.request('GET', `/api/playback/${old}`);
  expect([again.status, JSON.stringify(again.body)]).toEqual([200, expect.stringContaining(playbackId)]);
  expect((await w.request('DELETE', `/api/alias/${old}`)).status).toBe(204);
  await w.advance('11s');
  expect((await w.request('GET', `/api/playback/${old}`)).status).toBe(404);
  expect((await w.request('GET', `/api/alias/${old}`)).status).toBe(404);
});

it('an alias neither hides what is there nor takes that of another account', async () => {
  await using w = await world({ plugins });
  const [mine, theirs] = [await w.given.stream(), await anotherAccount(w)];
  const their = (await w.request('POST', '/api/stream', { key: theirs.key, body: { name: 'Theirs' } })).body;
  const { playbackId } = mine;
  for (const alias of [their.playbackId, their.id, mine.id, playbackId])
    expect(await make(w, { alias, playbackId })).toMatchObject({
      status: 409,
      body: { code: 'alias.taken' },
    });
  expect(await make(w, { alias: old, playbackId: their.playbackId })).toMatchObject({
    status: 422,
    body: { code: 'alias.no_target' },
  });
  expect((await make(w, { alias: old, playbackId })).status).toBe(201);
  const stolen = await make(w, { alias: old, playbackId: their.playbackId }, theirs.key);
  expect(stolen).toMatchObject({ status: 409, body: { code: 'alias.taken' } });
  for (const method of ['GET', 'DELETE'] as const)
    expect((await w.request(method, `/api/alias/${old}`, { key: theirs.key })).status).toBe(404);
  expect((await w.request('GET', '/api/alias', { key: theirs.key })).body).toEqual([]);
  for (const alias of ['short', 'with/slash', 'x'.repeat(129), '../../etc/passwd'])
    expect((await make(w, { alias, playbackId })).status).toBe(422);
});

it('two requests for one alias at the same moment: one gets it', async () => {
  await using w = await world({ plugins });
  const streams = [await w.given.stream(), await w.given.stream()];
  const answers = await Promise.all(streams.map(({ playbackId }) => make(w, { alias: old, playbackId })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
});

it('an account has at most plugins.aliases.max, and a key without the resource none', async () => {
  await using w = await world({ plugins, config: { aliases: { max: 1 } } });
  const { playbackId } = await w.given.stream();
  expect((await make(w, { alias: old, playbackId })).status).toBe(201);
  expect(await make(w, { alias: `${old}2`, playbackId })).toMatchObject({
    status: 409,
    body: { code: 'alias.too_many' },
  });
  const access = { rules: [{ resources: ['stream'], methods: ['post'] }] };
  const { key } = (await w.request('POST', '/api/api-token', { body: { access } })).body;
  expect((await make(w, { alias: `${old}3`, playbackId }, key)).status).toBe(403);
});
