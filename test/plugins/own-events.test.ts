import { describe, expect, it } from 'vitest';
import {
  definePlugin,
  type Emission,
  type EventDeclaration,
  type Kit,
  type LoggedEvent,
  type Plugin,
} from '../../sdk/plugin.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const url = 'https://hooks.example.com/in';

/** A plugin from outside that emits what a test asks for, and notes what it reacts to. */
function counting(emits: Readonly<Record<string, EventDeclaration>> = declared) {
  let own: Kit | undefined;
  const seen: LoggedEvent[] = [];
  const plugin = definePlugin({
    id: 'acme-views',
    summary: 'counts views',
    contract: 3,
    emits,
    reactions: { '*': async (event) => void (event.type.startsWith('acme-views.') && seen.push(event)) },
    start(kit) {
      own = kit as unknown as Kit;
      return undefined;
    },
  }) as unknown as Plugin;
  return {
    plugin,
    seen,
    emit: (event: Emission) => (own as Kit).events.emit(event),
    get declared() {
      return (own as Kit).events.declared;
    },
  };
}

const declared = {
  'acme-views.milestone': {
    meaning: 'A stream has had a round number of viewers.',
    payload: { viewers: 1000 },
    hasStream: true,
  },
  'acme-views.reset': 'The counts of an account were set back.',
  'acme-views.counted': { meaning: 'Only for plugins: a view was counted.', webhooks: false },
} as const;

async function adminId(w: World): Promise<string> {
  return (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
}

describe('events of a plugin', () => {
  it('are offered to webhooks wherever events are named, but those for plugins alone', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const post = (events: string[]) =>
      w.request('POST', '/api/webhook', { body: { name: 'W', url, events } });
    expect((await post(['acme-views.milestone', 'stream.started'])).status).toBe(201);
    expect((await post(['acme-views.reset'])).status).toBe(201);
    for (const name of ['acme-views.milestones', 'acme-views.counted']) {
      const { status, body } = await post([name]);
      expect([status, body.errors[0]]).toEqual([422, expect.stringContaining(`no event "${name}"`)]);
      expect(body.errors[0]).toMatch(
        /events are stream\.started, .*acme-views\.milestone, acme-views\.reset$/,
      );
    }
    const names = JSON.stringify(
      w.document.paths['/api/webhook']?.post?.requestBody && w.document.paths['/api/webhook'].post,
    );
    expect(names).toContain('"acme-views.milestone","acme-views.reset"]');
    expect(names).not.toContain('counted');
    const stream = (type: string) => w.request('HEAD', `/api/events?type=${type}`);
    expect((await stream('acme-views.milestone')).status).toBe(200);
    expect((await stream('acme-views.milestonne')).status).toBe(422);
  });

  it('reach webhooks, event streams and reactions, with the stream and its owner alone', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    w.outbound.answer(url, () => ({}));
    const { id: account, key } = await anotherAccount(w);
    const body = { name: 'W', url, events: ['acme-views.milestone'] };
    const { body: stream } = await w.request('POST', '/api/stream', { key, body: { name: 'S' } });
    const { body: hook } = await w.request('POST', '/api/webhook', { key, body });
    await w.request('POST', '/api/webhook', { key, body: { ...body, streamId: stream.id } });
    await w.request('POST', '/api/webhook', { body });
    const type = 'acme-views.milestone';
    expect(await views.emit({ type, account, stream: stream.id, payload: { viewers: 10 } })).toBe('ok');
    await w.settle();
    const bodies = w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)));
    expect(bodies).toHaveLength(2);
    expect(bodies.map(({ webhookId }) => webhookId)).toContain(hook.id);
    expect(bodies[0]).toMatchObject({
      ...{ event: type, createdAt: w.now(), timestamp: w.now() },
      ...{ payload: { viewers: 10 }, stream: { id: stream.id, name: 'S', userId: account, isActive: false } },
    });
    expect(JSON.stringify(bodies)).not.toContain(stream.streamKey);
    expect(views.seen.map((event) => [event.type, event.account, event.stream])).toEqual([
      [type, account, stream.id],
    ]);
    const shown = (await w.events()).filter(({ event }) => event === type);
    expect(shown).toEqual([{ ...bodies[0], webhookId: undefined }]);
  });

  it('are sent as examples that the plugin gives', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    w.outbound.answer(url, () => ({}));
    const body = { name: 'W', url, events: ['stream.started'] };
    const { id } = (await w.request('POST', '/api/webhook', { body })).body;
    const test = (event: string) => w.request('POST', `/api/webhook/${id}/test`, { body: { event } });
    expect((await test('acme-views.milestone')).body.success).toBe(true);
    expect(JSON.parse(String(w.outbound.sent[0]?.request.body))).toMatchObject({
      ...{ webhookId: id, event: 'acme-views.milestone', payload: { viewers: 1000 } },
      stream: { name: 'Example', isActive: true },
    });
    await test('acme-views.reset');
    expect(Object.keys(JSON.parse(String(w.outbound.sent[1]?.request.body)))).toEqual([
      ...['id', 'webhookId', 'createdAt', 'timestamp', 'event'],
    ]);
    expect((await test('acme-views.counted')).status).toBe(422);
  });

  it('of a plugin that is off stay in webhooks, which get them again when it is on', async () => {
    const views = counting();
    const all = [...plugins, views.plugin];
    await using w = await world({ plugins: all, durable: true });
    const body = { name: 'W', url, events: ['acme-views.reset'] };
    const { id } = (await w.request('POST', '/api/webhook', { body })).body;
    await w.crash({ downFor: '1s', plugins });
    expect((await w.request('GET', `/api/webhook/${id}`)).body.events).toEqual(body.events);
    // The rest can be changed meanwhile, and no other webhook can name it.
    const renamed = { ...body, name: 'V' };
    expect((await w.request('PUT', `/api/webhook/${id}`, { body: renamed })).status).toBe(200);
    expect((await w.request('POST', '/api/webhook', { body })).status).toBe(422);
    await w.crash({ downFor: '1s', plugins: all });
    w.outbound.answer(url, () => ({}));
    await views.emit({ type: 'acme-views.reset', account: await adminId(w) });
    await w.settle();
    expect(w.outbound.sent).toHaveLength(1);
  });

  it('for plugins alone reach no client', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const type = 'acme-views.counted';
    await views.emit({ type, account: await adminId(w), payload: { account: 'x' } });
    await w.settle();
    expect(views.seen.map((event) => [event.type, event.account])).toEqual([[type, '']]);
    expect((await w.events()).map(({ event }) => event)).not.toContain(type);
  });

  it('have names that begin with the id of the plugin', async () => {
    const started = (names: string[]) =>
      world({ plugins: [...plugins, counting(Object.fromEntries(names.map((one) => [one, 'x']))).plugin] });
    await expect(
      started(['milestone', 'acme-views.A', 'acme-views.', 'stream.viewed']),
    ).rejects.toMatchObject({
      code: 'boot.invalid',
      problems: ['milestone', 'acme-views.A', 'acme-views.', 'stream.viewed'].map((name) =>
        expect.stringContaining(`its event ${name} must be named acme-views. and a word`),
      ),
    });
    await expect(started([`acme-views.${'x'.repeat(90)}`])).rejects.toThrow('at most 100 characters');
    await using _ = await started(['acme-views.a.b_c-d', 'acme-views.v2']);
  });
});

describe('an emit', () => {
  const type = 'acme-views.milestone';

  it('with an id writes one event, across a crash too, for each account', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin], durable: true });
    const account = await adminId(w);
    const { id: other } = await anotherAccount(w);
    const once = { type, account, payload: 1, id: 'milestone/1000' };
    const both = await Promise.all([views.emit(once), views.emit({ ...once, payload: 2 })]);
    expect(both).toEqual(['ok', 'duplicate']);
    await w.settle();
    expect(views.seen).toHaveLength(1);
    await w.crash({ downFor: '1m' });
    expect(await views.emit(once)).toBe('duplicate');
    expect(await views.emit({ ...once, account: other })).toBe('ok');
    expect(await views.emit({ ...once, type: 'acme-views.reset' })).toBe('ok');
    expect(await views.emit({ ...once, id: 'milestone/2000' })).toBe('ok');
    expect([await views.emit({ type, account }), await views.emit({ type, account })]).toEqual(['ok', 'ok']);
    await w.settle();
    const events = (await w.events()).filter(({ event }) => event.startsWith('acme-views.'));
    expect(events.map(({ payload }) => payload)).toEqual([1, 1, 1, 1, undefined, undefined]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(6);
  });

  it('with an id is forgotten with the event, when the log is swept after a day', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const once = { type, account: await adminId(w), id: 'a' };
    await views.emit(once);
    const first = w.now();
    await w.advance('1s');
    await w.store.sweep(first);
    expect(await views.emit(once)).toBe('duplicate');
    await w.store.sweep(first + 1);
    expect(await views.emit(once)).toBe('ok');
  });

  it('refuses what is not declared, not JSON, too large, or of a stream of another account', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const account = await adminId(w);
    await expect(views.emit({ type: 'acme-views.other', account })).rejects.toThrow('in its emits');
    await expect(views.emit({ type: 'stream.started', account })).rejects.toThrow('in its emits');
    await expect(views.emit({ type, account, payload: () => {} })).rejects.toThrow('is not JSON');
    await expect(views.emit({ type, account, payload: 7n })).rejects.toThrow();
    await expect(views.emit({ type, account, id: 'a b' })).rejects.toThrow('visible ASCII');
    for (const wrong of ['', 'a\nb', undefined as never])
      await expect(views.emit({ type, account: wrong, id: 'a' })).rejects.toThrow('the id of an account');
    await expect(views.emit({ type, account, payload: 'x'.repeat(65_535) })).rejects.toMatchObject({
      ...{ code: 'events.payload_too_large', status: 413 },
    });
    const stream = await w.given.stream();
    const { id: other } = await anotherAccount(w);
    await expect(views.emit({ type, account: other, stream: stream.id })).rejects.toThrow('another account');
    expect(await views.emit({ type, account, payload: 'x'.repeat(65_534) })).toBe('ok');
    // A stream that was deleted meanwhile is named by its id.
    expect(await views.emit({ type, account, stream: 'gone' })).toBe('ok');
    const events = (await w.events()).filter(({ event }) => event === type);
    expect(events.map(({ stream: shown }) => shown)).toEqual([undefined, { id: 'gone' }]);
  });
});

describe('a flood of events', () => {
  const type = 'acme-views.counted';
  const flood = (views: ReturnType<typeof counting>, count: number) => {
    const outcomes = { ok: 0, duplicate: 0 };
    const refused: unknown[] = [];
    const all = Array.from({ length: count }, (_, n) =>
      views.emit({ type, account: '', payload: n }).then(
        (outcome) => {
          outcomes[outcome] += 1;
        },
        (error: unknown) => void refused.push(error),
      ),
    );
    return { outcomes, refused, all: Promise.all(all) };
  };

  it('is slowed down to 50 a second after the first 200, in order and without loss', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const { outcomes, refused, all } = flood(views, 500);
    await w.settle();
    expect(outcomes.ok).toBe(200);
    await w.advance('1s');
    expect(outcomes.ok).toBe(250);
    await w.advance('4990ms');
    expect(outcomes.ok).toBe(499);
    await w.advance('10ms');
    await all;
    expect([outcomes.ok, refused]).toEqual([500, []]);
    expect(views.seen.map(({ body }) => JSON.parse(body).payload)).toEqual(
      Array.from({ length: 500 }, (_, n) => n),
    );
    // The bucket fills up again.
    await w.advance('4s');
    const second = flood(views, 200);
    await w.settle();
    expect(second.outcomes.ok).toBe(200);
    const lines = w.lines.filter((line) => line.includes('more than 50 events a second'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"plugin":"acme-views"');
    const metrics = await (await w.app.handle(new Request('http://localhost/metrics'))).text();
    expect(metrics).toContain('millrace_event_floods_total{plugin="acme-views",outcome="waited"} 300');
  });

  it('is refused beyond 1000 that wait, and reported once a minute', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const { outcomes, refused } = flood(views, 1210);
    await w.settle();
    expect([outcomes.ok, refused.length]).toEqual([200, 10]);
    expect(refused[0]).toMatchObject({ code: 'events.flooded', status: 503, retryAfter: 20 });
    await w.advance('20s');
    expect(outcomes.ok).toBe(1200);
    await w.advance('1m');
    flood(views, 201);
    await w.advance('1s');
    expect(w.lines.filter((line) => line.includes('more than 50 events a second'))).toHaveLength(2);
  });

  it('does not hold up the stop of the program', async () => {
    const views = counting();
    await using w = await world({ plugins: [...plugins, views.plugin] });
    const { outcomes, refused, all } = flood(views, 300);
    await w.settle();
    await w.stop();
    await all;
    expect([outcomes.ok, refused.length]).toEqual([200, 100]);
    expect(refused[0]).toMatchObject({ code: 'server.stopping' });
  });

  it('of one plugin does not slow down another', async () => {
    const views = counting();
    const other = counting({});
    const plugin = { ...other.plugin, id: 'other', emits: { 'other.done': 'Done.' }, reactions: {} };
    await using w = await world({ plugins: [...plugins, views.plugin, plugin] });
    const { outcomes } = flood(views, 300);
    expect(await other.emit({ type: 'other.done', account: 'theirs' })).toBe('ok');
    await w.advance('10s');
    expect(outcomes.ok).toBe(300);
  });
});
