import { expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const own = '5203dc64-074a-5914-0dfc-ce007f5db53a';

const bring = (w: World, id: string, streamKey: string, key?: string) =>
  w.request('POST', `/api/stream/${id}/rotate-key`, { body: { streamKey }, ...(key && { key }) });

it('a stream takes a key that its owner brings along, and is published to with it', async () => {
  await using w = await world({ plugins });
  const { id } = await w.given.stream();
  const answer = await bring(w, id, own);
  expect(answer).toMatchObject({ status: 200, body: { id, streamKey: own } });
  // Again changes nothing.
  expect((await bring(w, id, own)).body.streamKey).toBe(own);
  await w.given.broadcast(answer.body);
  expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({
    isActive: true,
    streamKey: own,
  });
});

it('refuses a key that another stream has, of whatever account', async () => {
  await using w = await world({ plugins });
  const theirs = await anotherAccount(w);
  const [first, second] = [await w.given.stream(), await w.given.stream()];
  const their = (await w.request('POST', '/api/stream', { key: theirs.key, body: { name: 'Theirs' } })).body;
  const taken = { status: 409, body: { code: 'stream.key_taken' } };
  // One that was made here.
  expect(await bring(w, second.id, first.streamKey)).toMatchObject(taken);
  expect((await bring(w, first.id, own)).status).toBe(200);
  expect(await bring(w, second.id, own)).toMatchObject(taken);
  expect(await bring(w, their.id, own, theirs.key)).toMatchObject(taken);
  // It is free when its stream has had another one for a while.
  expect((await w.request('POST', `/api/stream/${first.id}/rotate-key`)).status).toBe(200);
  await w.advance('2m');
  expect((await bring(w, their.id, own, theirs.key)).status).toBe(200);
});

it('of two streams that take one key at the same moment, one gets it', async () => {
  await using w = await world({ plugins });
  const both = [await w.given.stream(), await w.given.stream()];
  const answers = await Promise.all(both.map(({ id }) => bring(w, id, own)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
});

it('refuses a key that can be guessed, and keeps the one that is there', async () => {
  await using w = await world({ plugins });
  const { id, streamKey } = await w.given.stream();
  const weak = [
    '',
    'short-key',
    'aaaaaaaaaaaaaaaaaaaa',
    '----------------abcdefgh',
    'abababab-12121212-ab',
    `${own} `,
    'x'.repeat(200),
  ];
  for (const key of weak) {
    const answer = await bring(w, id, key);
    expect([key, answer.status, answer.body.code]).toEqual([key, 422, 'body.invalid']);
    if (key.length > 3) expect(JSON.stringify(answer.body)).not.toContain(key);
  }
  expect((await w.request('GET', `/api/stream/${id}`)).body.streamKey).toBe(streamKey);
  // A creation ignores it as before.
  const made = await w.request('POST', '/api/stream', { body: { name: 'New', streamKey: own } });
  expect([made.status, made.body.streamKey === own]).toEqual([201, false]);
});
