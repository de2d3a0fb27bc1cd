import { expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { type World, world } from '../../kit/world.ts';

const plugins = await allPlugins();
const limits = { keyRate: 2, keyBurst: 10, addressRate: 2, addressBurst: 10 };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly code?: string;
}

/** As `w.request`, for requests that may wait for their turn. */
async function ask(
  w: World,
  path: string,
  {
    key,
    method = 'GET',
    headers = {},
    body,
  }: { key?: string; method?: string; headers?: object; body?: string } = {},
): Promise<Answer> {
  const request = new Request(`http://localhost:8080${path}`, {
    ...{ method, ...(body !== undefined && { body }) },
    headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
  });
  const answer = await w.app.handle(Object.assign(request, { peer: '203.0.113.7' }));
  const { code } = answer.status < 400 ? {} : await answer.json();
  return { status: answer.status, headers: answer.headers, code };
}

const many = (count: number, one: () => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, () => one()));
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

it('answers 429 to a key that asks too much, says when to come back, and what is left', async () => {
  await using w = await world({ plugins, config: { limits } });
  const { key } = await anotherAccount(w);
  const first = await ask(w, '/api/stream', { key });
  expect(first.headers.get('ratelimit-policy')).toBe('"key";q=10;w=5');
  expect(first.headers.get('ratelimit')).toBe('"key";r=9;t=1');
  expect(statuses(await many(9, () => ask(w, '/api/stream', { key })))).toEqual(Array(9).fill(200));

  const refused = await many(3, () => ask(w, '/api/stream', { key }));
  expect(refused.map(({ code }) => code)).toEqual(Array(3).fill('rate.limited'));
  expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(['1', '1', '2']);
  expect(refused[0]?.headers.get('ratelimit')).toBe('"key";r=0;t=5');
  expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"key";q=10;w=5');

  // Another key, the bootstrap key and viewers notice nothing of it.
  const other = await anotherAccount(w);
  expect((await ask(w, '/api/stream', { key: other.key })).status).toBe(200);
  expect((await w.request('GET', '/api/stream')).status).toBe(200);
  expect((await ask(w, '/api/playback/0000000000000000')).status).toBe(404);
  expect((await ask(w, '/hls/0000000000000000/index.m3u8')).status).toBe(404);
  await w.advance('5s');
  expect((await ask(w, '/api/stream', { key })).status).toBe(200);
});

it('answers 429 to an account that asks too much with many keys, and not to the admin account', async () => {
  await using w = await world({ plugins, config: { limits: { accountRate: 2, accountBurst: 20 } } });
  const { id, key } = await anotherAccount(w);
  const keysOf = (accountId?: string) =>
    Promise.all(
      Array.from({ length: 6 }, async () => {
        const made = await w.request('POST', '/api/api-token', { body: accountId ? { accountId } : {} });
        return made.body.key as string;
      }),
    );
  const all = async (keys: string[]) =>
    (await Promise.all(keys.map((one) => many(5, () => ask(w, '/api/stream', { key: one }))))).flat();
  const answers = await all(await keysOf(id));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(10);
  expect(refused[0]?.code).toBe('rate.limited');
  expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"account";q=20;w=10');
  // What is left of the key is what other answers say.
  expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"key";q=1000;w=10');
  expect(statuses(await all(await keysOf()))).toEqual(Array(30).fill(200));
  expect((await ask(w, '/api/stream', { key: (await anotherAccount(w)).key })).status).toBe(200);
  await w.advance('60s');
  expect((await ask(w, '/api/stream', { key })).status).toBe(200);
});

it('never refuses twice in a row who comes back when it was told, with many requests in flight', async () => {
  await using w = await world({ plugins, config: { limits } });
  const { key } = await anotherAccount(w);
  const seen = { twice: 0, refused: 0, done: 0 };
  const worker = async () => {
    for (let request = 0; request < 8; request += 1) {
      let wasRefused = false;
      for (;;) {
        const { status, headers } = await ask(w, '/api/stream', { key });
        if (status === 200) break;
        seen.refused += 1;
        if (wasRefused) seen.twice += 1;
        wasRefused = true;
        const due = w.now() + Number(headers.get('retry-after')) * 1000;
        while (w.now() < due) await new Promise<void>((resolve) => setImmediate(resolve));
      }
      seen.done += 1;
    }
  };
  const workers = Promise.all(Array.from({ length: 12 }, worker));
  while (seen.done < 12 * 8) await w.advance('250ms');
  await workers;
  expect(seen).toMatchObject({ twice: 0, done: 96 });
  expect(seen.refused).toBeGreaterThan(0);
});

it('lets those go on that wait for their turn when the program stops', async () => {
  await using w = await world({ plugins, config: { limits } });
  const { key } = await anotherAccount(w);
  await many(12, () => ask(w, '/api/stream', { key }));
  await w.advance('1s');
  const waiting = many(8, () => ask(w, '/api/stream', { key }));
  await w.stop();
  expect(await waiting).toHaveLength(8);
});

it('counts a change and a long list for more, and a wrong key for the address', async () => {
  await using w = await world({ plugins, config: { limits } });
  const { key } = await anotherAccount(w);
  const left = async (options: Parameters<typeof ask>[2], path = '/api/stream') =>
    (await ask(w, path, { key, ...options })).headers.get('ratelimit');
  expect(await left({}, '/api/stream?limit=1000')).toBe('"key";r=0;t=5');
  await w.advance('5s');
  expect(await left({ method: 'POST', body: '{"name":"One"}' })).toBe('"key";r=8;t=1');
  const body = JSON.stringify({ name: 'x'.repeat(100_000) });
  expect(await left({ method: 'POST', body, headers: { 'content-length': String(body.length) } })).toBe(
    '"key";r=3;t=4',
  );

  // Guesses spend what the address has; the valid key has its own.
  const guesses = await many(4, () => ask(w, '/api/stream', { key: 'wrong' }));
  expect(statuses(guesses)).toEqual([401, 401, 429, 429]);
  expect((await ask(w, '/api/playback/0000000000000000')).status).toBe(429);
  expect((await ask(w, '/api/stream', { key })).status).toBe(200);
  expect((await ask(w, '/hls/0000000000000000/index.m3u8')).status).toBe(404);
});

it('counts a /64 of IPv6 as one address, and says so to pages of every origin', async () => {
  await using w = await world({ plugins, config: { limits } });
  const view = (peer: string) => w.request('GET', '/api/playback/0000000000000000', { key: null, peer });
  for (let host = 1; host <= 10; host += 1) expect((await view(`2001:db8:0:7::${host}`)).status).toBe(404);
  const refused = await view('2001:db8:0:7:ffff::1');
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate.limited' } });
  expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  expect((await view('2001:db8:0:8::1')).status).toBe(404);
});

it('does not bite an ordinary client by default', async () => {
  await using w = await world({ plugins });
  const { key } = await anotherAccount(w);
  expect(new Set(statuses(await many(400, () => ask(w, '/api/stream', { key }))))).toEqual(new Set([200]));
});
