import { allPlugins, type World, world } from 'millrace/testing';
import { expect, it } from 'vitest';
import hooks from './index.ts';

const plugins = [...(await allPlugins()), hooks];
const url = 'http://127.0.0.1:8085/hook';

/** A world whose endpoint answers as `decide` says, and what it was asked. */
async function asked(decide: (body: Record<string, string>) => object, config: Record<string, unknown> = {}) {
  const w = await world({ plugins, config: { hooks: config } });
  w.outbound.answer(url, (_, { body }) => decide(JSON.parse(body as string)) as never);
  const questions = () =>
    w.outbound.sent.map(({ request }) => JSON.parse(request.body as string) as Record<string, string>);
  return { w, questions };
}

const play = async (
  w: World,
  of: { playbackId: string; viewer?: string; query?: string; origin?: string },
) => {
  const { playbackId, viewer = 'a', query = 'token=t1', origin } = of;
  const headers = { 'user-agent': viewer, ...(origin !== undefined && { origin }) };
  const { status } = await w.app.handle(
    new Request(`http://localhost:8080/hls/${playbackId}/index.m3u8?${query}`, { headers }),
  );
  return status;
};

it('asks before a publish, and lets the endpoint refuse it', async () => {
  const { w, questions } = await asked(({ path }) => ({ status: path?.startsWith('live/') ? 401 : 200 }));
  await using _ = w;
  const { id, streamKey } = await w.given.stream();
  expect((await w.media.publish(streamKey)).answer.granted).toBe(false);
  expect(questions()).toMatchObject([
    { action: 'publish', path: `live/${id}`, protocol: 'rtmp', ip: '127.0.0.1' },
  ]);
  // The key of the stream is a secret.
  expect(JSON.stringify(questions())).not.toContain(streamKey);
});

it('asks once per viewer and video while an answer counts', async () => {
  let status = 200;
  const { w, questions } = await asked(({ action }) => ({ status: action === 'read' ? status : 200 }));
  await using _ = w;
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  // There is no media in a world: 404 is what an allowed viewer gets.
  expect(await Promise.all([play(w, stream), play(w, stream), play(w, { ...stream, viewer: 'b' })])).toEqual([
    404, 404, 404,
  ]);
  const reads = () => questions().filter(({ action }) => action === 'read');
  expect(reads()).toHaveLength(2);
  expect(reads()[0]).toMatchObject({ path: stream.playbackId, protocol: 'hls', token: 't1', userAgent: 'a' });
  status = 403;
  expect(await play(w, stream)).toBe(404);
  await w.advance('10s');
  expect(await play(w, stream)).toBe(403);
  expect(await play(w, stream)).toBe(403);
  expect(reads()).toHaveLength(3);
});

it('asks anew about whatever the endpoint may decide by', async () => {
  const { w, questions } = await asked(({ query }) => ({ status: query?.includes('good') ? 200 : 403 }));
  await using _ = w;
  const { playbackId } = await w.given.stream();
  const statuses = [];
  for (const query of ['user=good', 'user=bad', 'user=good&_HLS_msn=1', 'user=good&_HLS_msn=2'])
    statuses.push(await play(w, { playbackId, query }));
  expect(statuses).toEqual([404, 403, 404, 404]);
  await play(w, { playbackId, query: 'user=good', origin: 'https://other.example' });
  expect(questions()).toHaveLength(3);
});

it('speaks as SRS does', async () => {
  const { w, questions } = await asked(
    ({ action }) => ({ body: Buffer.from(action === 'on_publish' ? '0' : '{"code": 1}') }),
    { form: 'srs' },
  );
  await using _ = w;
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  expect(await play(w, stream)).toBe(403);
  expect(questions()).toMatchObject([
    { action: 'on_publish', app: 'live', stream: stream.id },
    { action: 'on_play', stream: stream.playbackId, param: '?token=t1' },
  ]);
});

it('refuses when the endpoint does not decide, and asks again the next time', async () => {
  let answers: object = { status: 500 };
  const { w } = await asked(() => answers);
  await using _ = w;
  const stream = await w.given.stream();
  expect((await w.media.publish(stream.streamKey)).answer.granted).toBe(false);
  expect(await play(w, stream)).toBe(503);
  answers = { ok: false, reason: 'connect', message: 'nobody answers' };
  expect(await play(w, stream)).toBe(503);
  answers = { status: 200 };
  expect((await w.media.publish(stream.streamKey)).answer.granted).toBe(true);
  expect(await play(w, stream)).toBe(404);
});

it('asks about nothing that is switched off', async () => {
  const { w, questions } = await asked(() => ({ status: 403 }), { publish: false, play: false });
  await using _ = w;
  const stream = await w.given.stream();
  await w.given.broadcast(stream);
  expect(await play(w, stream)).toBe(404);
  expect(questions()).toEqual([]);
});
