import { describe, expect, it } from 'vitest';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { type World, world } from '../../kit/world.ts';
import { givenTarget, pushPlugins as plugins } from './kit.ts';
import { live, orders, rows, shown, told } from './live-kit.ts';

describe('a target that cannot be reached', () => {
  it('is told once for each outage, and again when the reason changes', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const { id } = await live(w, [target]);
    const fails = async (reason: 'connect' | 'rejected', message: string) => {
      w.pusher.fails(id, reason, { message });
      await w.settle();
    };
    const written = async () => (await rows(w))[0]?.revision ?? 0;
    await fails('connect', 'It refused the connection.');
    const revision = await written();
    for (let n = 0; n < 5; n += 1) await fails('connect', 'It refused the connection again.');
    // An attempt that fails as the one before is no write.
    expect(await written()).toBe(revision);
    await fails('rejected', 'It said no.');
    await fails('rejected', 'It said no again.');
    w.pusher.connects(id);
    await w.settle();
    w.pusher.loses(id, 'closed', { message: 'It closed the connection.' });
    await w.settle();
    await fails('connect', 'It refused the connection.');
    w.pusher.connects(id);
    await w.settle();
    expect(await told(w)).toEqual([
      'error T: It refused the connection.',
      'error T: It said no.',
      'connected T',
      'error T: It closed the connection.',
      'disconnected T',
      'error T: It refused the connection.',
      'connected T',
    ]);
  });

  it('or is too slow shows in issues while it lasts, and leaves the stream healthy', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const { id, stream } = await live(w, [target]);
    w.pusher.fails(id, 'connect', { message: 'It refused the connection.', retryAt: w.now() + 10_000 });
    await w.advance('2s');
    const issue = `Multistream target T (${target}): It refused the connection. Next attempt in 8 s.`;
    const session = (await w.request('GET', '/api/stream?active=1&sessionsonly=1')).body[0];
    for (const one of [await shown(w, stream.id), session])
      expect(one).toMatchObject({ isHealthy: true, issues: [issue] });
    w.pusher.connects(id);
    await w.advance('2s');
    expect(await shown(w, stream.id)).toMatchObject({ isHealthy: true, issues: [] });
    w.pusher.slows(id);
    await w.advance('2s');
    const { issues, isHealthy } = await shown(w, stream.id);
    expect([isHealthy, issues]).toEqual([
      true,
      [`Multistream target T (${target}): It takes less than is broadcast.`],
    ]);
  });

  it('that is too slow is told once in ten minutes, without disconnected', async () => {
    await using w = await world({ plugins });
    const { id, publish } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    for (let minute = 0; minute < 21; minute += 1) {
      w.pusher.slows(id);
      publish.progress();
      await w.advance('1m');
    }
    expect(await told(w)).toEqual([
      'connected T',
      ...Array(3).fill('error T: It takes less than is broadcast.'),
    ]);
  });
});

describe('a push', () => {
  const breaks = async (w: World, publish: ScriptedPublish) => {
    publish.end({ clean: false });
    await w.advance('3s');
  };

  it('is kept through hold, without a word', async () => {
    await using w = await world({ plugins });
    const { id, publish, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await breaks(w, publish);
    expect(orders(w, id)).toHaveLength(1);
    const back = await w.given.broadcast(stream);
    await w.advance('3s');
    expect(orders(w, id)).toHaveLength(1);
    expect(await told(w)).toEqual(['connected T']);
    // What comes later is of the same push.
    w.pusher.loses(id, 'closed', { message: 'Gone.' });
    await w.settle();
    back.end({ clean: true });
    await w.settle();
    expect(await told(w)).toEqual(['connected T', 'error T: Gone.', 'disconnected T']);
  });

  it('begins again when the broadcast comes back after idle, in the same session', async () => {
    await using w = await world({ plugins });
    const { id, publish, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    publish.end({ clean: true });
    await w.advance('1m');
    expect(orders(w, id)).toEqual([]);
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId).toBe(publish.grant.sessionId);
    await w.advance('2s');
    w.pusher.connects(id);
    await w.settle();
    expect(await told(w)).toEqual(['connected T', 'disconnected T', 'connected T']);
    expect(await rows(w)).toHaveLength(1);
  });

  it.each(['terminate', 'suspend', 'delete'])('ends with its broadcast: %s', async (how) => {
    await using w = await world({ plugins });
    const { id, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    const path = `/api/stream/${stream.id}`;
    if (how === 'terminate') await w.request('DELETE', `${path}/terminate`);
    if (how === 'suspend') await w.request('PATCH', path, { body: { suspended: true } });
    if (how === 'delete') await w.request('DELETE', path);
    await w.advance('2s');
    expect(orders(w, id)).toEqual([]);
    expect(await told(w)).toEqual(['connected T', 'disconnected T']);
    expect(await rows(w)).toEqual([]);
  });

  it('goes on when the next session comes before the playlist has gone, and is told in both', async () => {
    await using w = await world({ plugins });
    const { id, stream, publish } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    // The order to let go of the playlist is late: who comes meanwhile goes on with it.
    const retire = w.media.retire;
    w.media.retire = () => {};
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    const next = await w.given.broadcast(stream);
    w.media.retire = retire;
    expect(next.grant.sessionId).not.toBe(publish.grant.sessionId);
    await w.advance('2s');
    expect(orders(w, id)).toHaveLength(1);
    expect(await told(w)).toEqual(['connected T', 'disconnected T', 'connected T']);
    expect((await rows(w)).map(({ body }) => JSON.parse(body).sessionId)).toEqual([next.grant.sessionId]);
  });

  it('is told to have ended when the server stops, and begins anew after it', async () => {
    await using w = await world({ plugins, durable: true });
    const { id, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    await w.stop();
    await w.crash({ downFor: '1s' });
    expect(await told(w)).toEqual(['connected T', 'disconnected T']);
    await w.given.broadcast(stream);
    await w.advance('2s');
    w.pusher.connects(id);
    await w.settle();
    expect((await told(w)).slice(2)).toEqual(['connected T']);
  });
});

describe('a process that dies', () => {
  it('is told as an error and disconnected by the next, and connected again when media flows', async () => {
    await using w = await world({ plugins, durable: true });
    const { id, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    await w.crash({ downFor: '5s' });
    const died = ['error T: The server that pushed the broadcast has ended unexpectedly.', 'disconnected T'];
    expect(await told(w)).toEqual(['connected T', ...died]);
    await w.given.broadcast(stream);
    await w.advance('2s');
    w.pusher.connects(id);
    await w.settle();
    expect(await told(w)).toEqual(['connected T', ...died, 'connected T']);
    await w.crash({ downFor: '5s' });
    await w.crash({ downFor: '10m' });
    await w.advance('1s');
    expect(await told(w)).toEqual(['connected T', ...died, 'connected T', ...died]);
    expect(await rows(w)).toEqual([]);
  });

  it('while a target was out of reach tells nothing, and the next says no more than it did', async () => {
    await using w = await world({ plugins, durable: true });
    const { id, stream } = await live(w, [await givenTarget(w)]);
    w.pusher.fails(id, 'connect', { message: 'It refused.' });
    await w.settle();
    await w.crash({ downFor: '5s' });
    await w.given.broadcast(stream);
    await w.advance('2s');
    w.pusher.fails(id, 'connect', { message: 'It refused.' });
    await w.settle();
    w.pusher.fails(id, 'dns', { message: 'It has no address.' });
    await w.settle();
    expect(await told(w)).toEqual(['error T: It refused.', 'error T: It has no address.']);
  });
});

describe('while the store does not answer', () => {
  /** Reads and steps fail until it is called. */
  const broken = (w: World) => {
    const { commit } = w.store;
    const { get } = w.store.resources;
    const no = () => Promise.reject(new Error('the store does not answer'));
    Object.assign(w.store, { commit: no });
    Object.assign(w.store.resources, { get: no });
    return () => {
      Object.assign(w.store, { commit });
      Object.assign(w.store.resources, { get });
    };
  };

  it('pushes stay as they are, and what happened is told later, once each, in order', async () => {
    await using w = await world({ plugins });
    const { id, publish } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    const mend = broken(w);
    w.pusher.loses(id, 'closed', { message: 'It left.' });
    for (let n = 0; n < 100; n += 1) w.pusher.fails(id, 'connect', { message: 'It refused.' });
    await w.advance('30s');
    expect(orders(w, id)).toHaveLength(1);
    w.pusher.connects(id);
    await w.advance('30s');
    mend();
    publish.progress();
    await w.advance('10s');
    expect(await told(w)).toEqual([
      ...['connected T', 'error T: It left.', 'disconnected T', 'error T: It refused.', 'connected T'],
    ]);
  });

  it('in time, what it stored all the same is told once', async () => {
    await using w = await world({ plugins });
    const { id } = await live(w, [await givenTarget(w)]);
    const { commit } = w.store;
    let asked = 0;
    // Every second commit is written, and nobody hears that it was.
    const unheard: typeof commit = async (step) => {
      const outcome = await commit(step);
      asked += 1;
      if (asked % 2 === 1) throw new Error('the store does not answer');
      return outcome;
    };
    Object.assign(w.store, { commit: unheard });
    w.pusher.fails(id, 'connect', { message: 'It refused.' });
    w.pusher.connects(id);
    w.pusher.slows(id);
    w.pusher.loses(id, 'closed', { message: 'It left.' });
    w.pusher.connects(id);
    await w.advance('10s');
    Object.assign(w.store, { commit });
    expect(asked).toBeGreaterThan(5);
    expect(await told(w)).toEqual([
      ...['error T: It refused.', 'connected T', 'error T: It takes less than is broadcast.'],
      ...['error T: It left.', 'disconnected T', 'connected T'],
    ]);
  });

  it('for long, a target that comes and goes is bounded, and connected and disconnected alternate', async () => {
    await using w = await world({ plugins });
    const { id, publish } = await live(w, [await givenTarget(w)]);
    const mend = broken(w);
    for (let n = 0; n < 200; n += 1) {
      w.pusher.connects(id);
      w.pusher.slows(id);
      w.pusher.loses(id, 'closed', { message: 'It left.' });
      w.pusher.fails(id, 'connect', { message: 'It refused.' });
    }
    w.pusher.connects(id);
    const waiting = (await w.app.handle(new Request('http://localhost/metrics'))).text();
    expect(await waiting).toMatch(/^millrace_multistream_facts_waiting 1[0-9]$/m);
    mend();
    publish.progress();
    await w.advance('10s');
    const words = (await told(w)).map((one) => one.split(' ')[0]).filter((word) => word !== 'error');
    expect(words.length).toBeGreaterThan(2);
    expect(words).toEqual(words.map((_, index) => (index % 2 === 0 ? 'connected' : 'disconnected')));
    expect(words.at(-1)).toBe('connected');
  });
});
