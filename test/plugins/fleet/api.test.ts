import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { authenticate, authenticator } from '../../../core/http/auth.ts';
import { says } from '../../../core/http/http.ts';
import { type Attempt, idempotent } from '../../../core/http/idempotency.ts';
import { json } from '../../../core/http/operation.ts';
import { definePlugin, type Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import streams from '../../../plugins/streams/index.ts';
import webhooks from '../../../plugins/webhooks/index.ts';
import { type FleetNode, fleet } from '../../kit/fleet.ts';
import { bootstrapKey } from '../../kit/world.ts';
import { created, onAir, plugins, shown, three } from './kit.ts';

describe('what a node remembers', () => {
  const newKey = async (node: FleetNode) => (await node.request('POST', '/api/api-token', { body: {} })).body;

  it('is no deleted key: it is refused at once, whichever node deleted it', async () => {
    await using f = await fleet({ plugins });
    const { a } = await three(f);
    const b = await f.start('b', { roles: ['api'] });
    const { key, id } = await newKey(a);
    for (const node of [a, b]) expect((await node.request('GET', '/api/stream', { key })).status).toBe(200);
    await b.request('DELETE', `/api/api-token/${id}`);
    for (const node of [a, b]) expect((await node.request('GET', '/api/stream', { key })).status).toBe(401);
  });

  const listening = async (node: FleetNode, key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await node.booted.app.handle(new Request('http://localhost:8080/api/events', { headers }));
    expect(answer.status).toBe(200);
    let isOpen = true;
    void answer.text().then(() => {
      isOpen = false;
    });
    return () => isOpen;
  };

  it('ends event streams of a key that another node deleted, at once', async () => {
    await using f = await fleet({ plugins });
    const { a } = await three(f);
    const b = await f.start('b', { roles: ['api'] });
    const [gone, kept] = [await newKey(a), await newKey(a)];
    const [first, second] = [await listening(b, gone.key), await listening(b, kept.key)];
    await a.request('DELETE', `/api/api-token/${gone.id}`);
    await f.settle();
    expect([first(), second()]).toEqual([false, true]);
  });

  it('ends them within 5 s when it was not told', async () => {
    await using f = await fleet({ plugins });
    const { a } = await three(f);
    const b = await f.start('b', { roles: ['api'] });
    const [gone, kept] = [await newKey(a), await newKey(a)];
    const [first, second] = [await listening(b, gone.key), await listening(b, kept.key)];
    f.volatile.announce = async () => {
      throw new Error('not now');
    };
    const deleted = await a.request('DELETE', `/api/api-token/${gone.id}`);
    expect(deleted.status).toBe(204);
    expect(first()).toBe(true);
    await f.advance('5s');
    expect([first(), second()]).toEqual([false, true]);
  });

  it('is told to all: a newcomer that one node refused is an issue on every node', async () => {
    await using f = await fleet({ plugins, config: { streams: { busyKey: 'refuse' } } });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    await onAir(f, m, stream);
    expect((await n.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'rejected' });
    await f.settle();
    const contested = async () =>
      (await shown(a, stream.id)).issues.filter((issue: string) => issue.includes('key is in use'));
    expect(await contested()).toHaveLength(1);
    await f.advance('61s');
    expect(await contested()).toEqual([]);
  });

  it('is the last second of a broadcast on another node, when its stream is deleted', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    const publish = await onAir(f, m, stream);
    publish.shows({ figures: { duration: 17, bytes: 900, segments: 4, lastMediaAt: f.clock.now() } });
    await f.advance('2s');
    await a.request('DELETE', `/api/stream/${stream.id}`);
    expect(publish.closedBecause).toBe('The stream was deleted.');
    expect(await shown(a, publish.grant.sessionId)).toMatchObject({
      ...{ sourceSegmentsDuration: 17, sourceBytes: 900, sourceSegments: 4 },
    });
  });
});

describe('a request with an Idempotency-Key', () => {
  /** `POST /api/slow` is answered when the test says so, by whichever node runs it. */
  function slow() {
    const running: { node: string; attempt: Attempt; answer: (response: Response | Error) => void }[] = [];
    const plugin = definePlugin({
      id: 'slow',
      summary: 'answers when told to',
      needs: [authenticator],
      routes(kit) {
        const once = idempotent(kit);
        return new Elysia().post(
          '/api/slow',
          async ({ request }) => {
            const principal = await authenticate(request, kit.use(authenticator));
            return once(request, {
              account: principal.accountId,
              run: (attempt) =>
                new Promise<Response>((resolve, reject) => {
                  const answer = (given: Response | Error) =>
                    given instanceof Error ? reject(given) : resolve(given);
                  running.push({ node: kit.deployment.node.id, attempt, answer });
                }),
            });
          },
          says('Takes its time.', { name: 'slow', answers: { 200: json(Type.Object({})) } }),
        );
      },
    }) as unknown as Plugin;
    const ask = (node: FleetNode) => {
      const headers = { authorization: `Bearer ${bootstrapKey}`, 'idempotency-key': 'first' };
      const request = new Request('http://localhost:8080/api/slow', { method: 'POST', headers });
      return Promise.resolve(node.booted.app.handle(request)).then(async (answer) => {
        return [answer.status, await answer.json()];
      });
    };
    return { plugin, running, ask };
  }

  it('runs on one node; a repeat on another waits for its answer', async () => {
    const s = slow();
    await using f = await fleet({ plugins: [accounts as unknown as Plugin, s.plugin] });
    const [a, b] = [await f.start('a'), await f.start('b')];
    const first = s.ask(a);
    await f.settle();
    const second = s.ask(b);
    await f.advance('3s');
    expect(s.running.map(({ node }) => node)).toEqual(['a']);
    s.running[0]?.answer(Response.json({ n: 1 }));
    await f.advance('1s');
    expect([await first, await second]).toEqual([
      [200, { n: 1 }],
      [200, { n: 1 }],
    ]);
  });

  it('is 409 elsewhere after 10 s, and taken over when its node has died', async () => {
    const s = slow();
    await using f = await fleet({ plugins: [accounts as unknown as Plugin, s.plugin] });
    const [a, b] = [await f.start('a'), await f.start('b')];
    void a;
    const c = await f.start('c');
    void s.ask(c).catch(() => {});
    await f.settle();
    const second = s.ask(b);
    await f.advance('11s');
    expect(await second).toMatchObject([409, { code: 'idempotency.running' }]);
    c.cut();
    await f.advance('15s');
    const third = s.ask(b);
    await f.settle();
    expect(s.running.map(({ node, attempt: { id, isRepeat } }) => [node, id, isRepeat])).toEqual([
      ['c', s.running[0]?.attempt.id, false],
      ['b', s.running[0]?.attempt.id, true],
    ]);
    s.running[1]?.answer(Response.json({ n: 2 }));
    await f.settle();
    expect(await third).toEqual([200, { n: 2 }]);
    s.running[0]?.answer(Response.json({ n: 3 }));
    await f.settle();
  });

  it('that failed on one node is run again by another at once', async () => {
    const s = slow();
    await using f = await fleet({ plugins: [accounts as unknown as Plugin, s.plugin] });
    const [a, b] = [await f.start('a'), await f.start('b')];
    const first = s.ask(a);
    await f.settle();
    s.running[0]?.answer(new Error('a bug'));
    await f.settle();
    expect((await first)[0]).toBe(500);
    const second = s.ask(b);
    await f.settle();
    s.running[1]?.answer(Response.json({ n: 1 }));
    await f.settle();
    expect(await second).toEqual([200, { n: 1 }]);
  });
});

it('a webhook that is changed on one node is tried again by all', async () => {
  await using f = await fleet({ plugins: [accounts, streams, webhooks] as unknown as Plugin[] });
  const a = await f.start('a');
  const b = await f.start('b');
  let heard: unknown;
  f.volatile.listen('webhooks/reset', (id) => {
    heard = id;
  });
  const body = { name: 'W', url: 'https://hooks.example.com/', events: ['stream.started'] };
  const { id } = (await a.request('POST', '/api/webhook', { body })).body;
  const changed = { ...body, url: 'https://other.example.com/' };
  expect((await b.request('PUT', `/api/webhook/${id}`, { body: changed })).status).toBe(200);
  expect(heard).toBe(id);
});
