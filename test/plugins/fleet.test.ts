import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { type Attempt, idempotent } from '../../core/http/idempotency.ts';
import { json } from '../../core/http/operation.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import health from '../../plugins/health/index.ts';
import streams from '../../plugins/streams/index.ts';
import webhooks from '../../plugins/webhooks/index.ts';
import { asTimePasses } from '../kit/as-time-passes.ts';
import { type Fleet, type FleetNode, fleet } from '../kit/fleet.ts';
import { bootstrapKey } from '../kit/world.ts';

const plugins = [accounts, streams, events, health] as unknown as Plugin[];
const types = (list: { event: string }[]) =>
  list.map(({ event }) => event).filter((event) => event !== 'stream.health');

/** One node with the actors, two that take broadcasts. */
async function three(f: Fleet) {
  const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
  const m = await f.start('m', { roles: ['media'] });
  const n = await f.start('n', { roles: ['media'] });
  return { a, m, n };
}

const created = async (node: FleetNode, body: Record<string, unknown> = {}) => {
  const answer = await node.request('POST', '/api/stream', { body: { name: 'A stream', ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
};
const onAir = async (f: Fleet, node: FleetNode, { streamKey }: { streamKey: string }) => {
  const publish = await node.media.publish(streamKey);
  publish.playable();
  await f.settle();
  return publish;
};
const shown = async (node: FleetNode, id: string) => (await node.request('GET', `/api/stream/${id}`)).body;

describe('an order', () => {
  it('goes to the node that feeds the stream', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    const publish = await onAir(f, m, stream);
    expect(await shown(a, stream.id)).toMatchObject({ isActive: true });
    await a.request('DELETE', `/api/stream/${stream.id}/terminate`);
    expect(publish.closedBecause).toBe('The broadcast was stopped.');
    expect([a, m, n].map(({ media }) => media.retired)).toEqual([[], [stream.playbackId], []]);
    expect(await f.store.orders()).toEqual([]);
  });

  it('closes the old connection and drops its playlist when another node takes over, and no other', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    const first = await onAir(f, m, stream);
    const second = await onAir(f, n, stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    expect(first.closedBecause).toContain('took over');
    expect([m.media.retired, n.media.retired]).toEqual([[stream.playbackId], []]);
    first.end({ clean: false, duration: 20 });
    second.end({ clean: true, duration: 5 });
    await f.settle();
    expect(m.media.retired).toHaveLength(1);
    expect(n.media.retired).toEqual([stream.playbackId]);
    expect(await shown(a, stream.id)).toMatchObject({ isActive: false, sourceSegmentsDuration: 25 });
  });

  it('drops the playlist that was held on the old node, when the encoder comes back on another', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    (await onAir(f, m, stream)).end({ clean: false });
    await f.settle();
    expect(m.media.retired).toEqual([]);
    await onAir(f, n, stream);
    expect([m.media.retired, n.media.retired]).toEqual([[stream.playbackId], []]);
    expect(types(await f.events())).toEqual(['stream.started']);
  });

  it('that comes late does not drop the playlist of a later publish', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    await onAir(f, m, stream);
    m.cut();
    await onAir(f, n, stream);
    expect(await f.store.orders()).toHaveLength(2);
    m.mend();
    const back = await onAir(f, m, stream);
    back.end({ clean: false });
    await f.advance('2s');
    expect(await f.store.orders()).toEqual([]);
    expect(m.media.retired).toEqual([]);
    expect(n.media.retired).toEqual([stream.playbackId]);
  });

  it('waits for a node that does not listen, and ends with it', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    const publish = await onAir(f, m, stream);
    m.cut();
    await a.request('DELETE', `/api/stream/${stream.id}/terminate`);
    expect(await f.store.orders()).toHaveLength(2);
    m.mend();
    await f.advance('1s');
    expect(publish.closedBecause).toBe('The broadcast was stopped.');
    expect(await f.store.orders()).toEqual([]);

    const other = await created(a);
    await onAir(f, m, other);
    m.cut();
    await a.request('DELETE', `/api/stream/${other.id}/terminate`);
    await f.advance('8s');
    expect(await f.store.orders()).toHaveLength(2);
    await f.advance('10s');
    expect(await f.store.orders()).toEqual([]);
  });
});

describe('a node that dies', () => {
  it('leaves its broadcasts held, and over when nobody comes back, counted from its last heartbeat', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const [lost, other] = [await created(a), await created(a)];
    await onAir(f, m, lost);
    await onAir(f, n, other);
    await f.advance('4s');
    const [{ body }] = (await f.store.resources.list('node', { limit: 9 })).filter(({ id }) => id === 'm');
    const { aliveAt } = JSON.parse(body);
    m.cut();
    await f.advance('14s');
    expect(await shown(a, lost.id)).toMatchObject({ isActive: true, isHealthy: false });
    expect((await shown(a, lost.id)).issues[0]).toContain('connection of the encoder was lost');
    await f.advance('30s');
    const idle = (await f.events()).find(({ event }) => event === 'stream.idle');
    expect(idle).toMatchObject({ stream: { id: lost.id }, timestamp: aliveAt + 30_000 });
    expect(await shown(a, other.id)).toMatchObject({ isActive: true });
  });

  it('is forgotten by an encoder that goes on with another: same session, no event', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    const first = await onAir(f, m, stream);
    m.cut();
    await f.advance('14s');
    const second = await onAir(f, n, stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    expect(types(await f.events())).toEqual(['stream.started']);
    // Back from the dead it changes nothing, and ends.
    m.mend();
    first.progress({ duration: 99 });
    await f.advance('5s');
    expect(m.ended).toContain('declared this node "m" dead');
    expect(await shown(a, stream.id)).toMatchObject({ isActive: true });
  });

  it('and starts again under its name at once knows that its connections are gone', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    await onAir(f, m, stream);
    m.cut();
    await f.start('m', { roles: ['media'] });
    await f.settle();
    expect(await shown(a, stream.id)).toMatchObject({ isActive: true, isHealthy: false });
  });

  it('is seen to when the actors answer again', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    await onAir(f, m, stream);
    await f.advance('4s');
    m.cut();
    f.state.areActorsDown = true;
    await f.advance('20s');
    expect(await shown(a, stream.id)).toMatchObject({ isHealthy: true });
    f.state.areActorsDown = false;
    await f.advance('4s');
    expect(await shown(a, stream.id)).toMatchObject({ isHealthy: false });
  });
});

describe('clocks that differ', () => {
  it('lengthen no window: a media node may be ahead', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    const publish = await onAir(f, m, stream);
    publish.end({ clean: false, lastMediaAt: f.clock.now() + 3_600_000 });
    await f.advance('31s');
    expect(await shown(a, stream.id)).toMatchObject({ isActive: false });
  });
});

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

describe('the health of a broadcast', () => {
  const points = (node: FleetNode, id: string) => node.request('GET', `/api/stream/${id}/health`);

  it('is asked of the nodes that fed it', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    const stream = await created(a);
    expect((await points(a, stream.id)).body).toEqual([]);
    await onAir(f, m, stream);
    await f.advance('12s');
    const before = (await points(a, stream.id)).body;
    expect(before.length).toBeGreaterThanOrEqual(2);
    const { grant } = await onAir(f, n, stream);
    await f.advance('12s');
    for (const id of [stream.id, grant.sessionId]) {
      const after = (await points(a, id)).body;
      const times = after.map(({ time }: { time: number }) => time);
      expect(times.slice(0, before.length - 1)).toEqual(
        before.slice(0, -1).map(({ time }: { time: number }) => time),
      );
      expect(times.length).toBeGreaterThan(before.length);
      expect(times).toEqual([...new Set(times)].sort());
    }
  });

  it('is 503 while the node that knows cannot be reached, and empty when it has died', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    await onAir(f, m, stream);
    await f.advance('12s');
    m.cut();
    const answer = await points(a, stream.id);
    expect(answer).toMatchObject({ status: 503, body: { code: 'node.unreachable' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    await f.advance('20s');
    expect(await points(a, stream.id)).toMatchObject({ status: 200, body: [] });
  });
});

describe('while the actors do not answer', () => {
  it('an encoder is told to come again, and is let in as soon as they do', async () => {
    await using f = await fleet({ plugins, config: { streams: { busyKey: 'refuse' } } });
    const { a, m } = await three(f);
    const stream = await created(a);
    f.state.areActorsDown = true;
    expect((await m.media.publish(stream.streamKey)).answer).toEqual({
      granted: false,
      reason: 'unavailable',
      message: 'The server cannot check the stream key at the moment. Try again.',
    });
    f.state.areActorsDown = false;
    await f.advance('5s');
    expect((await m.media.publish(stream.streamKey)).answer).toMatchObject({ granted: true });
  });

  it('is told so too while its key cannot be looked up', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    f.state.isStoreDown = true;
    expect((await m.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'unavailable' });
  });

  it('figures of ever so long are two facts, and what follows comes in its order', async () => {
    await using f = await fleet({ plugins });
    const { a, m } = await three(f);
    const stream = await created(a);
    const publish = await m.media.publish(stream.streamKey);
    f.state.areActorsDown = true;
    publish.playable({ duration: 1 });
    for (let minute = 0; minute < 60; minute += 1) {
      await f.advance('3s');
      publish.progress({ duration: 1 + minute * 60 });
    }
    publish.end({ clean: true, duration: 3600 });
    const tries = f.lines.filter((line) => line.includes('a media fact could not be stored')).length;
    expect(tries).toBeLessThan(15);
    const before = await f.store.load(`broadcast/${stream.id}`);
    f.state.areActorsDown = false;
    await f.advance('5s');
    const after = await f.store.load(`broadcast/${stream.id}`);
    expect((after?.sequence ?? 0) - (before?.sequence ?? 0)).toBe(2);
    expect(types(await f.events())).toEqual(['stream.started', 'stream.idle']);
    expect(await shown(a, stream.id)).toMatchObject({ isActive: false, sourceSegmentsDuration: 3600 });
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
              principal,
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

describe('nodes that start together', () => {
  it('have one bootstrap key: a node with another is refused while one of the others runs', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    const a = await f.start('a');
    await f.start('b');
    await f.start('m', { roles: ['media'], bootstrapKey: 'asked-of-nobody-here' });
    const with2 = (id: string) =>
      f.start(id, { bootstrapKey: 'another-bootstrap-key' }).then(
        () => 'started',
        (error) => error,
      );
    const refused = with2('c');
    expect(await asTimePasses(refused, () => f.advance('1s'))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringMatching(/^bootstrapKey: differs from that of the running node "[ab]"; /),
    });
    // The same node with the right one is welcome, and nobody has been disturbed.
    await f.start('c');
    expect((await a.request('GET', '/api/api-token')).status).toBe(200);
  });

  it('take another bootstrap key once none of those that had the last one runs', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    const first = await f.start('first', { roles: ['actors'] });
    const a = await f.start('a', { roles: ['api'] });
    const b = await f.start('b', { roles: ['api'] });
    await a.booted.stop();
    // Killed: its row looks as if it lived.
    b.cut();
    const starting = f.start('c', { roles: ['api'], bootstrapKey: 'another-bootstrap-key' });
    const c = await asTimePasses(starting, () => f.advance('1s'));
    const key = 'another-bootstrap-key';
    expect((await c.request('GET', '/api/api-token', { key })).status).toBe(200);
    expect((await c.request('GET', '/api/api-token')).status).toBe(401);
    expect(first.ended).toBeUndefined();
    // Who comes with the old one is refused now.
    const late = f.start('d', { roles: ['api'] }).catch((error) => error);
    expect(await asTimePasses(late, () => f.advance('1s'))).toMatchObject({ code: 'config.invalid' });
  });

  it('that start at one time with different keys: one of them is refused', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin] });
    await f.start('first', { roles: ['actors'] });
    const outcomes = ['one-of-two-keys-here', 'two-of-two-keys-here'].map((key, n) =>
      f.start(`n${n}`, { roles: ['api'], bootstrapKey: key }).then(
        () => 'started',
        (error) => error.code,
      ),
    );
    await f.advance('15s');
    expect((await Promise.all(outcomes)).sort()).toEqual(['config.invalid', 'started']);
  });

  it('make one admin account, and one bootstrap key that all of them know', async () => {
    await using f = await fleet({ plugins: [accounts as unknown as Plugin], bootstrapKey: null });
    const nodes = await Promise.all([f.start('a'), f.start('b'), f.start('c')]);
    const admins = await f.store.resources.list('account', { where: { role: 'admin' }, limit: 9 });
    expect(admins).toHaveLength(1);
    const keys = (await Promise.all(nodes.map(({ dataDir }) => readKey(dataDir)))).filter(
      (key) => key !== undefined,
    );
    expect(keys).toHaveLength(1);
    const key = keys[0];
    for (const node of nodes) {
      expect((await node.request('GET', '/api/api-token', { ...(key && { key }) })).status).toBe(200);
    }
  });
});

const readKey = (dataDir: string) =>
  readFile(join(dataDir, 'bootstrap-key'), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );

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
