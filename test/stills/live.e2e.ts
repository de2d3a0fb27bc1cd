/** Thumbnails of what is on the air, by the whole program and a real ffmpeg. */
import { expect, it } from 'vitest';
import { type Numbered, numbered } from '../e2e/harness/numbered.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import type { Answer } from '../e2e/harness/uploads.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { fakeFfmpeg } from '../ffmpeg/fake.ts';
import { numberIn, sizeOf } from './shown.ts';

/** Pictures of the clip, which is broadcast again and again, a key frame every 2 s. */
const loop = 720;
const rate = 30;
const gop = 60;

async function onAir(server: Server): Promise<{ stream: Answer; encoder: Numbered; thumbnail: string }> {
  const asked = await server.api.request('POST', '/api/stream', { name: 'Live' });
  const stream = (await asked.json()) as Answer;
  const encoder = numbered(server.ingestUrl(stream.streamKey));
  const playlist = server.playlistUrl(stream.playbackId);
  await until('the playlist', async () => (await fetch(playlist)).status === 200, { within: 20_000 });
  return { stream, encoder, thumbnail: `${server.url}/hls/${stream.playbackId}/thumbnail.jpg` };
}

async function shown(server: Server, id: string): Promise<Answer> {
  return (await (await server.api.request('GET', `/api/stream/${id}`)).json()) as Answer;
}

it('shows a key frame that is not older than 5 s and a group of pictures, also while it is held', async () => {
  await using server = await startServer({ env: { MILLRACE_PLUGINS__STREAMS__HOLD: '30s' } });
  const { stream, encoder, thumbnail } = await onAir(server);
  await using _ = encoder;
  await until('isActive', async () => (await shown(server, stream.id)).isActive, { within: 10_000 });
  expect((await shown(server, stream.id)).thumbnailUrl).toBe(thumbnail);
  const [session] = (await (
    await server.api.request('GET', `/api/stream/${stream.id}/sessions`)
  ).json()) as Answer[];
  expect(session.thumbnailUrl).toBe(thumbnail);

  const seen = new Set<number>();
  for (let round = 0; round < 3; round += 1) {
    if (round > 0) await lasting(5600);
    // What was sent a little before was received, cut into parts and listed.
    const before = encoder.sent;
    const answer = await fetch(thumbnail);
    const jpeg = await answer.bytes();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(Number(/max-age=(\d+)/.exec(`${answer.headers.get('cache-control')}`)?.[1])).toBeLessThanOrEqual(
      5,
    );
    expect(await sizeOf(jpeg)).toEqual({ width: 640, height: 360 });
    const number = (await numberIn(jpeg)) as number;
    expect(number % gop).toBe(0);
    const age = (((before - number) % loop) + loop) % loop;
    // Nothing is as old as that by time, but what waited in a busy machine counts as sent.
    expect([number, age < (5 + 1) * rate + gop || age > loop - 5 * rate]).toEqual([number, true]);
    seen.add(number);
    const again = await fetch(thumbnail, { headers: { 'if-none-match': `${answer.headers.get('etag')}` } });
    expect(again.status).toBe(304);
  }
  expect(seen.size).toBe(3);

  // Its connection breaks.
  await encoder[Symbol.asyncDispose]();
  await until('the hold', async () => (await shown(server, stream.id)).isHealthy === false, {
    within: 10_000,
  });
  const held = await fetch(thumbnail);
  expect(held.status).toBe(200);
  expect(((await numberIn(await held.bytes())) as number) % gop).toBe(0);

  await server.api.request('DELETE', `/api/stream/${stream.id}/terminate`);
  await until('its end', async () => (await fetch(thumbnail)).status === 404, { within: 10_000 });
  await until('idle', async () => !(await shown(server, stream.id)).isActive, { within: 10_000 });
  expect(await shown(server, stream.id)).not.toHaveProperty('thumbnailUrl');
}, 120_000);

it('without ffmpeg all else works, and one line says so', async () => {
  await using server = await startServer({ env: { MILLRACE_FFMPEG__PATH: '/nowhere/ffmpeg' } });
  const { stream, encoder, thumbnail } = await onAir(server);
  await using _ = encoder;
  for (let times = 0; times < 5; times += 1) {
    const answer = await fetch(thumbnail);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
    expect(((await answer.json()) as Answer).code).toBe('still.unavailable');
  }
  expect(server.output.match(/there is no ffmpeg/g)?.length).toBe(1);
  await until('isActive', async () => (await shown(server, stream.id)).isActive, { within: 10_000 });
  expect((await shown(server, stream.id)).thumbnailUrl).toBe(thumbnail);
  expect((await fetch(server.playlistUrl(stream.playbackId))).status).toBe(200);
}, 60_000);

it('a decoder that hangs is killed, and the route answers', async () => {
  await using fake = await fakeFfmpeg('cat >/dev/null; exec sleep 300');
  await using server = await startServer({
    env: { MILLRACE_FFMPEG__PATH: fake.path, MILLRACE_STILLS__DEADLINE: '1s' },
  });
  const { encoder, thumbnail } = await onAir(server);
  await using _ = encoder;
  const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(thumbnail)));
  for (const answer of answers) {
    expect([answer.status, ((await answer.json()) as Answer).code]).toEqual([503, 'still.failed']);
  }
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('millrace_stills_running 0');
  expect(metrics).toContain('millrace_stills_total{kind="live",outcome="failed"} 20');
  expect(server.output.match(/a still could not be made/g)?.length).toBe(1);
}, 60_000);
