import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { type Attempt, idempotent } from '../../core/http/idempotency.ts';
import { json, nothing } from '../../core/http/operation.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

/** POST routes that take no `Idempotency-Key`: uploads, what needs no API key, and calls of tools, which name theirs. */
const without = ['/upload/:assetId/tus', '/upload/:assetId/tus/:uploadId', '/api/sign-in', '/mcp'];

const post = (w: World, path: string, options: { id?: string; body?: unknown; key?: string } = {}) =>
  w.request('POST', path, {
    body: options.body ?? { name: 'One' },
    headers: { 'idempotency-key': options.id ?? 'first' },
    ...(options.key !== undefined && { key: options.key }),
  });
const names = async (w: World) =>
  (await w.request('GET', '/api/stream')).body.map(({ name }: { name: string }) => name);
/** Answers to requests of which one runs and the others look for its answer now and then. */
const beside = async <T>(w: World, asked: Promise<T>[]) => {
  await Promise.race(asked);
  await w.advance('1s');
  return Promise.all(asked);
};
const recordsOf = (w: World) => w.store.resources.list('idempotency', { limit: 1000 });

describe.each(await postRoutes())('POST %s', (path) => {
  const url = path.replace(/:\w+/g, 'x');

  it('knows Idempotency-Key', async () => {
    await using w = await world({ plugins });
    const first = await post(w, url, { body: { name: 1 } });
    const again = await post(w, url, { body: { name: 1 } });
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    const other = await post(w, url, { body: { name: 2 } });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency.key_reused']);
    expect(await recordsOf(w)).toHaveLength(1);
  });

  it('refuses what is no key', async () => {
    await using w = await world({ plugins });
    for (const id of ['', 'a b', 'é', 'x'.repeat(256)]) {
      const answer = await post(w, url, { id });
      expect([answer.status, answer.body.code]).toEqual([422, 'idempotency.key_invalid']);
    }
    expect(await recordsOf(w)).toEqual([]);
  });
});

describe('a POST with Idempotency-Key', () => {
  it('that comes again gets the first answer, and nothing is made', async () => {
    await using w = await world({ plugins });
    const first = await post(w, '/api/stream');
    await w.request('PATCH', `/api/stream/${first.body.id}`, { body: { name: 'Renamed' } });
    const again = await post(w, '/api/stream');
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(await names(w)).toEqual(['Renamed']);
  });

  it('that comes again beside the first waits for its answer', async () => {
    await using w = await world({ plugins });
    const answers = await beside(
      w,
      Array.from({ length: 20 }, () => post(w, '/api/stream')),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    expect(await names(w)).toEqual(['One']);
  });

  it('counts for its account and path only', async () => {
    await using w = await world({ plugins });
    const other = await anotherAccount(w);
    const mine = await post(w, '/api/stream');
    const theirs = await post(w, '/api/stream', { key: other.key, body: { name: 'Theirs' } });
    expect([theirs.status, theirs.body.name]).toEqual([201, 'Theirs']);
    const target = await post(w, '/api/multistream/target', { body: { url: 'rtmp://a.example/live' } });
    expect(target.status).toBe(201);
    const rotated = await post(w, `/api/stream/${mine.body.id}/rotate-key`, { body: {} });
    expect(rotated.body.streamKey).not.toBe(mine.body.streamKey);
    const again = await post(w, `/api/stream/${mine.body.id}/rotate-key`, { body: {} });
    expect(again.body).toEqual(rotated.body);
  });

  it('counts for all keys of its account, but a refusal only for the key that was refused', async () => {
    await using w = await world({ plugins });
    const { id, key } = await anotherAccount(w);
    const make = async (rules?: unknown) =>
      (await w.request('POST', '/api/api-token', { key, body: rules ? { access: { rules } } : {} })).body.key;
    const weak = await make([{ resources: ['api-token'] }]);
    const body = { access: { rules: [{ resources: ['stream'] }] } };
    expect((await post(w, '/api/api-token', { key: weak, body })).status).toBe(403);
    expect(await post(w, '/api/api-token', { key, body })).toMatchObject({
      status: 201,
      body: { userId: id },
    });
    const first = await post(w, '/api/stream', { key });
    expect((await post(w, '/api/stream', { key: await make() })).body).toEqual(first.body);
  });

  it('is remembered for 24 h, and then forgotten', async () => {
    await using w = await world({ plugins, durable: true });
    const { id } = (await post(w, '/api/stream')).body;
    // Days with the server down: nothing beats meanwhile, so they cost no time.
    await w.crash({ downFor: '1439m' });
    expect((await post(w, '/api/stream')).body.id).toBe(id);
    await w.advance('1m');
    const next = await post(w, '/api/stream', { body: { name: 'Two' } });
    expect([next.status, next.body.name]).toEqual([201, 'Two']);
    expect(await recordsOf(w)).toHaveLength(1);
    await w.crash({ downFor: '24h' });
    await w.advance('1h');
    expect(await recordsOf(w)).toEqual([]);
  });

  it('is swept however many there are, and no younger one', async () => {
    await using w = await world({ plugins, durable: true });
    const rows = Array.from({ length: 450 }, (_, n) => ({
      ...{ kind: 'idempotency', id: `k${n}`, account: 'a', createdAt: w.now(), name: '' },
      ...{ body: '{}', indexes: {}, revision: 0 },
    }));
    await w.store.write({ rows, events: [], at: w.now() });
    await w.crash({ downFor: '12h' });
    await post(w, '/api/stream');
    await w.crash({ downFor: '11h' });
    await w.advance('59m');
    expect(await recordsOf(w)).toHaveLength(451);
    await w.advance('1m');
    expect(await recordsOf(w)).toHaveLength(1);
  });

  it('survives a crash', async () => {
    await using w = await world({ plugins, durable: true });
    const first = await post(w, '/api/stream');
    await w.crash({ downFor: '1m' });
    expect((await post(w, '/api/stream')).body).toEqual(first.body);
    const other = await post(w, '/api/stream', { body: { name: 'Two' } });
    expect(other.body.code).toBe('idempotency.key_reused');
  });

  it('never shows an API key again: 409 names what was made', async () => {
    await using w = await world({ plugins });
    const [first, second] = await beside(w, [post(w, '/api/api-token'), post(w, '/api/api-token')]);
    const again = await post(w, '/api/api-token');
    expect([first.status, second.status, again.status]).toEqual([201, 409, 409]);
    expect(again.body).toEqual({
      code: 'idempotency.shown_once',
      errors: [expect.stringContaining(first.body.id)],
    });
    expect((await w.request('GET', '/api/api-token')).body).toHaveLength(1);
    expect(JSON.stringify([await recordsOf(w), w.lines])).not.toContain(first.body.key);
  });

  it('gets the first error again too', async () => {
    await using w = await world({ plugins });
    const body = { multistream: { targets: [{ profile: 'source', id: 'nobody' }] }, name: 'One' };
    const first = await post(w, '/api/stream', { body });
    const again = await post(w, '/api/stream', { body });
    expect([first.status, again.status, again.body]).toEqual([400, 400, first.body]);
  });

  it('leaves neither the body nor the key in the store', async () => {
    await using w = await world({ plugins });
    const body = { url: 'rtmp://a.example/live/very-secret' };
    await post(w, '/api/multistream/target', { id: 'my-key', body });
    const records = JSON.stringify(await recordsOf(w));
    expect(records).not.toContain('very-secret');
    expect(records).not.toContain('my-key');
  });
});

describe('an attempt that ended without an answer', () => {
  /** As if the process had died between the work and the answer. */
  const forgetAnswers = async (w: World) => {
    const rows = (await recordsOf(w)).map((row) => {
      const { answer: _, ...memory } = JSON.parse(row.body);
      return { ...row, kind: 'idempotency', body: JSON.stringify(memory), indexes: {} };
    });
    expect(await w.store.write({ rows, events: [], at: w.now() })).toMatchObject({ outcome: 'ok' });
    await w.crash({ downFor: '1m' });
  };

  it.each([
    ['/api/stream', { name: 'One' }],
    [
      '/api/stream',
      { multistream: { targets: [{ profile: 'source', spec: { url: 'rtmp://a.example/x' } }] }, name: 'One' },
    ],
    ['/api/account', { name: 'One' }],
    ['/api/multistream/target', { url: 'rtmp://a.example/live' }],
  ])('is taken up and makes nothing twice: POST %s', async (path, body) => {
    await using w = await world({ plugins, durable: true });
    const first = await post(w, path, { body });
    await forgetAnswers(w);
    const again = await post(w, path, { body });
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await w.request('GET', '/api/multistream/target')).body.length).toBeLessThan(2);
    expect((await post(w, path, { body })).body).toEqual(first.body);
  });

  it('does not rotate a key twice', async () => {
    await using w = await world({ plugins, durable: true });
    const { id } = await w.given.stream();
    const first = await post(w, `/api/stream/${id}/rotate-key`, { body: {} });
    await forgetAnswers(w);
    expect((await post(w, `/api/stream/${id}/rotate-key`, { body: {} })).body).toEqual(first.body);
  });

  it('has made an API key whose secret is gone', async () => {
    await using w = await world({ plugins, durable: true });
    const first = await post(w, '/api/api-token');
    await forgetAnswers(w);
    const again = await post(w, '/api/api-token');
    expect([again.status, again.body.code]).toEqual([409, 'idempotency.shown_once']);
    expect(again.body.errors[0]).toContain(first.body.id);
  });

  it('is taken up by the next process with the same id', async () => {
    const attempts: Attempt[] = [];
    const slow = slowPlugin((attempt) => {
      attempts.push(attempt);
      return attempt.isRepeat ? Promise.resolve(Response.json({})) : new Promise(() => {});
    });
    await using w = await world({ plugins: [...plugins, slow], durable: true });
    void ask(w);
    await w.settle();
    await w.crash({ downFor: '1m' });
    expect((await ask(w)).status).toBe(200);
    expect(attempts).toMatchObject([
      { id: expect.any(String), isRepeat: false },
      { id: attempts[0]?.id, isRepeat: true },
    ]);
  });

  it.each([500, 503])('as %i is not remembered, and its repeat has the same id', async (status) => {
    const attempts: Attempt[] = [];
    const slow = slowPlugin(async (attempt) => {
      if (attempts.push(attempt) > 1) return new Response(null, { status: 204 });
      throw status === 500 ? new Error('a bug') : new Fault('store.busy', { status, message: 'Busy.' });
    });
    await using w = await world({ plugins: [...plugins, slow] });
    expect([(await ask(w)).status, (await ask(w)).status, (await ask(w)).status]).toEqual([status, 204, 204]);
    expect(attempts).toMatchObject([
      { id: expect.any(String), isRepeat: false },
      { id: attempts[0]?.id, isRepeat: true },
    ]);
  });
});

describe('a repeat while the first request runs', () => {
  it('is 409 after 10 s, and gets the answer when there is one', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    let runs = 0;
    const slow = slowPlugin(() => {
      runs += 1;
      return promise;
    });
    await using w = await world({ plugins: [...plugins, slow] });
    const first = ask(w);
    await w.settle();
    let status: number | undefined;
    const second = ask(w).then((answer) => {
      status = answer.status;
      return answer;
    });
    await w.advance('9s');
    expect(status).toBeUndefined();
    const other = await ask(w, 'another body');
    expect(other.status).toBe(422);
    await w.advance('1s');
    expect(status).toBe(409);
    expect(await (await second).json()).toMatchObject({ code: 'idempotency.running' });
    const third = ask(w);
    await w.settle();
    resolve(Response.json({ is: 'done' }));
    expect(await (await first).json()).toEqual({ is: 'done' });
    await w.advance('250ms');
    expect(await (await third).json()).toEqual({ is: 'done' });
    expect(runs).toBe(1);
  });
});

describe('an account with too many keys', () => {
  it('is refused new ones with 429; a repeat, and a request without, go on', async () => {
    const run = () => Promise.resolve(Response.json({ is: 'done' }));
    await using w = await world({ plugins: [...plugins, slowPlugin(run, { recordsPerAccount: 2 })] });
    const send = (id: string, key = bootstrapKey) => post(w, '/api/slow', { id, key });
    expect([(await send('a')).status, (await send('b')).status]).toEqual([200, 200]);
    const refused = await send('c');
    expect(refused).toMatchObject({ status: 429, body: { code: 'idempotency.too_many' } });
    expect(refused.headers.get('retry-after')).toBe('3600');
    expect((await send('a')).status).toBe(200);
    expect((await w.request('POST', '/api/slow')).status).toBe(200);
    const other = await anotherAccount(w);
    expect((await send('c', other.key)).status).toBe(200);
  });
});
const done = Type.Object({}, { description: 'Whatever the test wants.' });

/** A plugin with `POST /api/slow`, which is answered as told. */
function slowPlugin(
  run: (attempt: Attempt) => Promise<Response>,
  options?: { recordsPerAccount: number },
): Plugin {
  return definePlugin({
    id: 'slow',
    summary: 'answers when told to',
    needs: [authenticator],
    routes(kit) {
      const once = idempotent(kit, options);
      return new Elysia().post(
        '/api/slow',
        async ({ request }) => {
          const principal = await authenticate(request, kit.use(authenticator));
          return once(request, { account: principal.accountId, run });
        },
        says('Takes its time.', {
          name: 'slow',
          answers: { 200: json(done), 201: json(done), 204: nothing },
        }),
      );
    },
  });
}

/** Without the settling of `w.request`, so that time can be moved meanwhile. */
function ask(w: World, body = ''): Promise<Response> {
  const headers = { authorization: `Bearer ${bootstrapKey}`, 'idempotency-key': 'first' };
  return Promise.resolve(
    w.app.handle(new Request('http://localhost:8080/api/slow', { method: 'POST', headers, body })),
  );
}

async function postRoutes(): Promise<string[]> {
  await using w = await world({ plugins });
  const { routes } = w.app as unknown as { routes: { method: string; path: string }[] };
  const paths = routes.filter(({ method }) => method === 'POST').map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(4);
  return paths.filter((path) => !without.includes(path));
}
