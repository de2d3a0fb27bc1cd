import { allPlugins, anotherAccount, type World, world } from 'millrace/testing';
import { expect, it } from 'vitest';
import views from './index.ts';

const plugins = [...(await allPlugins()), views];

/** Fetches something as a player does. There is no media in a world: what the answer is does not matter. */
async function fetchAs(
  w: World,
  { playbackId, viewer, file = 'index.m3u8' }: { playbackId: string; viewer: string; file?: string },
) {
  const headers = { 'user-agent': viewer };
  await w.app.handle(new Request(`http://localhost:8080/hls/${playbackId}/${file}`, { headers }));
}

async function watch(w: World, options: { playbackId: string; viewer: string; seconds: number }) {
  for (let second = 0; second <= options.seconds; second += 5) {
    await fetchAs(w, options);
    await w.advance('5s');
  }
}

const countsOf = async (w: World, playbackId: string, key?: string) =>
  (await w.request('GET', `/api/data/views/${playbackId}`, key === undefined ? {} : { key })).body;

it('counts sessions and watch time of a live stream', async () => {
  await using w = await world({ plugins });
  const { id, streamKey, playbackId } = await w.given.stream();
  expect(await countsOf(w, playbackId)).toEqual({ playbackId, viewCount: 0, watchTime: 0 });
  await fetchAs(w, { playbackId, viewer: 'early' });
  await w.advance('10s');
  await w.given.broadcast({ streamKey });
  await watch(w, { playbackId, viewer: 'a', seconds: 20 });
  await watch(w, { playbackId, viewer: 'b', seconds: 10 });
  expect(await countsOf(w, playbackId)).toEqual({ playbackId, viewCount: 2, watchTime: 30 });
  expect((await w.request('GET', `/api/stream/${id}`)).body.viewCount).toBe(2);
  // After a pause it is another session.
  await w.advance('60s');
  await watch(w, { playbackId, viewer: 'a', seconds: 5 });
  expect(await countsOf(w, playbackId)).toEqual({ playbackId, viewCount: 3, watchTime: 35 });
});

it('shows nothing to other accounts', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream();
  const { key } = await anotherAccount(w);
  expect(await countsOf(w, stream.playbackId, key)).toMatchObject({ code: 'views.not_found' });
  await w.given.broadcast(stream);
  await watch(w, { ...stream, viewer: 'a', seconds: 5 });
  expect(await countsOf(w, stream.playbackId, key)).toMatchObject({ code: 'views.not_found' });
  expect(await countsOf(w, 'nothing')).toMatchObject({ code: 'views.not_found' });
});

it('keeps what was written when the process is killed', async () => {
  await using w = await world({ plugins, durable: true });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  await watch(w, { ...stream, viewer: 'a', seconds: 20 });
  await w.crash({ downFor: '1s' });
  expect(await countsOf(w, stream.playbackId)).toMatchObject({ viewCount: 1, watchTime: 20 });
  await w.given.broadcast(stream);
  await watch(w, { ...stream, viewer: 'b', seconds: 10 });
  expect(await countsOf(w, stream.playbackId)).toMatchObject({ viewCount: 2, watchTime: 30 });
});

it('adds nothing twice when a write got no answer', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  const { write } = w.store;
  let isLost = true;
  w.store.write = async (commit) => {
    const outcome = await write.call(w.store, commit);
    if (!commit.rows.some(({ kind }) => kind === 'views') || !isLost) return outcome;
    isLost = false;
    throw new Error('the answer was lost');
  };
  await watch(w, { ...stream, viewer: 'a', seconds: 10 });
  expect(isLost).toBe(false);
  expect(await countsOf(w, stream.playbackId)).toMatchObject({ viewCount: 1, watchTime: 10 });
});
