import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiClient } from './harness/api.ts';
import { broadcast } from './harness/ffmpeg.ts';
import { statusOf } from './harness/playlist.ts';
import { type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** Limits as a real client meets them: low ones, so that it does so within seconds. */
let server: Server;
let key = '';
let account = '';

beforeAll(async () => {
  const limits = { keyRate: 20, keyBurst: 40, account: { storedBytes: '500KB' } };
  server = await startServer({ env: { MILLRACE_PLUGINS: JSON.stringify({ limits }) } });
  const made = async (path: string, body: object) => (await server.api.request('POST', path, body)).json();
  ({ id: account } = (await made('/api/account', { name: 'Another' })) as { id: string });
  ({ key } = (await made('/api/api-token', { accountId: account })) as { key: string });
});
afterAll(() => server?.[Symbol.asyncDispose]());

it('a client that respects Retry-After is never refused twice in a row, and viewers notice nothing', async () => {
  const { streamKey, playbackId } = await server.api.createStream({ name: 'Live' });
  await using _ = broadcast(server.ingestUrl(streamKey));
  const playlist = server.playlistUrl(playbackId);
  await until('it to be on the air', async () => (await statusOf(playlist)) === 200, { within: 20_000 });

  const seen = { twice: 0, refused: 0, done: 0, viewers: new Set<number>() };
  let isOver = false;
  const worker = async () => {
    for (let wasRefused = false; !isOver; ) {
      const answer = await fetch(`${server.url}/api/stream`, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      if (answer.status === 429) {
        seen.refused += 1;
        if (wasRefused) seen.twice += 1;
        wasRefused = true;
        expect(answer.headers.get('ratelimit')).toMatch(/^"key";r=\d+;t=\d+$/);
        await new Promise((resolve) => setTimeout(resolve, Number(answer.headers.get('retry-after')) * 1000));
      } else {
        expect(answer.status).toBe(200);
        seen.done += 1;
        wasRefused = false;
      }
    }
  };
  const viewer = async () => {
    while (!isOver) {
      for (const url of [playlist, `${server.url}/api/playback/${playbackId}`])
        seen.viewers.add(await statusOf(url));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const clients = Promise.all([...Array.from({ length: 12 }, worker), viewer()]);
  await until('all to be refused and to come back', () => seen.refused > 0 && seen.done > 140, {
    within: 30_000,
  });
  isOver = true;
  await clients;
  expect(seen).toMatchObject({ twice: 0, viewers: new Set([200]) });
});

it('what an account stores is bounded, also after the process was killed', async () => {
  const other = apiClient(server.url, { key });
  const userTags = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`t${index}`, 'x'.repeat(500)]),
  );
  const create = async () => {
    for (;;) {
      const answer = await other.request('POST', '/api/stream', { name: 'x', userTags });
      if (answer.status !== 429)
        return { status: answer.status, body: (await answer.json()) as { code?: string } };
      await new Promise((resolve) => setTimeout(resolve, Number(answer.headers.get('retry-after')) * 1000));
    }
  };
  let made = 0;
  let last = await create();
  for (; last.status === 201 && made < 40; made += 1) last = await create();
  expect(last).toMatchObject({ status: 409, body: { code: 'account.limit' } });
  expect(made).toBeGreaterThan(10);
  await server.kill();
  await server.restart();
  expect(await create()).toMatchObject({ status: 409, body: { code: 'account.limit' } });
  const usage = (await (await other.request('GET', '/api/account/usage')).json()) as Record<
    string,
    { used: number }
  >;
  expect(usage.storedBytes?.used).toBeGreaterThan(300_000);
  const raised = await server.api.request('PATCH', `/api/account/${account}`, {
    limits: { storedBytes: 10_000_000 },
  });
  expect(raised.status).toBe(204);
  expect((await create()).status).toBe(201);
});
