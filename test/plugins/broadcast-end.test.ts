import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import streams from '../../plugins/streams/index.ts';
import { type World, world } from '../kit/world.ts';

const plugins = [accounts, streams] as unknown as Plugin[];
const types = (list: { event: string }[]) => list.map(({ event }) => event);
const read = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}`)).body;

describe('figures of a session', () => {
  it.each([
    ['DELETE', '/terminate', undefined],
    ['PATCH', '', { suspended: true }],
    ['POST', '/rotate-key', undefined],
  ])('are whole after %s %s, with what was sent since the last report', async (method, path, body) => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.media.publish(stream.streamKey);
    publish.playable({ duration: 0.3, bytes: 100, segments: 1 });
    await w.advance('20s');
    await w.request(method, `/api/stream/${stream.id}${path}`, { body });
    publish.end({ clean: false, duration: 20, bytes: 9000, segments: 10 });
    await w.settle();
    const whole = { sourceSegmentsDuration: 20, sourceBytes: 9000, sourceSegments: 10 };
    expect(await read(w, publish.grant.sessionId)).toMatchObject(whole);
    expect(await read(w, stream.id)).toMatchObject(whole);
  });

  it('are the sum of both when one connection takes over from another', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.media.publish(stream.streamKey);
    first.playable({ duration: 0.3 });
    await w.advance('20s');
    const second = await w.given.broadcast(stream);
    first.end({ clean: false, duration: 20 });
    await w.settle();
    second.end({ clean: true, duration: 5 });
    await w.settle();
    // Told twice, counted once.
    first.end({ clean: false, duration: 20 });
    await w.settle();
    expect((await read(w, stream.id)).sourceSegmentsDuration).toBe(25);
  });

  it('stay when a reconnect is terminated before it plays', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: true, duration: 7 });
    await w.settle();
    await w.media.publish(stream.streamKey);
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    expect(await read(w, stream.id)).toMatchObject({ sourceSegmentsDuration: 7, isActive: false });
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
  });
});

describe('the windows', () => {
  it('take a holdSeconds that is set while the broadcast is on the air', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { holdSeconds: 100 } });
    publish.end({ clean: false });
    await w.advance('99s');
    expect((await read(w, stream.id)).isActive).toBe(true);
    await w.advance('1s');
    expect((await read(w, stream.id)).isActive).toBe(false);
  });

  it('end at once with holdSeconds 0, still with a window to come back in', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ holdSeconds: 0 });
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: false });
    await w.settle();
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId).toBe(publish.grant.sessionId);
  });

  it('are not moved by a connection within hold that never plays', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    const lastMediaAt = w.now();
    publish.end({ clean: false });
    await w.advance('25s');
    const mute = await w.media.publish(stream.streamKey);
    await w.advance('10s');
    mute.end({ clean: false, lastMediaAt: 0 });
    await w.settle();
    const [, idle] = await w.events();
    expect(idle).toMatchObject({ event: 'stream.idle', timestamp: lastMediaAt + 30_000 });
  });

  it('end when they would have, by their own time, however long the server was down', async () => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    const lastHeartbeat = w.now();
    const first = await w.given.broadcast(stream);
    await w.advance('1s');
    await w.crash({ downFor: '10m' });
    const [, idle] = await w.events();
    expect(idle).toMatchObject({ event: 'stream.idle', timestamp: lastHeartbeat + 30_000 });
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId).not.toBe(first.grant.sessionId);
  });

  it('begin with the end of the process that had the connection, also when the next one dies as it starts', async () => {
    let isBroken = false;
    const fragile = definePlugin({
      id: 'fragile',
      summary: 'fails to start when told to',
      // So that the program does not go on without it.
      isEssential: true,
      start() {
        if (isBroken) throw new Error('not today');
        return undefined;
      },
    });
    await using w = await world({ plugins: [fragile as unknown as Plugin, ...plugins], durable: true });
    const stream = await w.given.stream();
    const lastHeartbeat = w.now();
    await w.given.broadcast(stream);
    isBroken = true;
    await expect(w.crash({ downFor: '5s' })).rejects.toThrow('not today');
    isBroken = false;
    await w.crash({ downFor: '10s' });
    expect(await read(w, stream.id)).toMatchObject({ isActive: true, isHealthy: false });
    await w.advance('30s');
    const [, idle] = await w.events();
    expect(idle).toMatchObject({ event: 'stream.idle', timestamp: lastHeartbeat + 30_000 });
  });
});

describe('a server that dies and comes back', () => {
  type Publish = Awaited<ReturnType<World['media']['publish']>>;
  const held = async (w: World, publish: Publish) => {
    publish.end({ clean: false });
    await w.settle();
  };
  const recent = async (w: World, publish: Publish) => {
    publish.end({ clean: true });
    await w.settle();
  };
  const reconnecting = async (w: World, publish: Publish, stream: { streamKey: string }) => {
    await recent(w, publish);
    await w.media.publish(stream.streamKey);
  };
  const on = ['stream.started'];
  const off = ['stream.started', 'stream.idle'];

  it.each([
    ['live', async () => {}, '5s', { isSame: true, events: on }],
    ['live', async () => {}, '1m', { isSame: true, events: [...off, ...on] }],
    ['live', async () => {}, '10m', { isSame: false, events: [...off, ...on] }],
    ['held', held, '5s', { isSame: true, events: on }],
    ['held', held, '1m', { isSame: true, events: [...off, ...on] }],
    ['held', held, '10m', { isSame: false, events: [...off, ...on] }],
    ['recent', recent, '1m', { isSame: true, events: [...off, ...on] }],
    ['recent', recent, '10m', { isSame: false, events: [...off, ...on] }],
    ['reconnecting', reconnecting, '1m', { isSame: true, events: [...off, ...on] }],
    ['reconnecting', reconnecting, '10m', { isSame: false, events: [...off, ...on] }],
  ] as const)('goes on by the clock when it was %s', async (_, prepare, downFor, { isSame, events }) => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    await prepare(w, first, stream);
    await w.crash({ downFor });
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId === first.grant.sessionId).toBe(isSame);
    expect(types(await w.events())).toEqual(events);
  });

  it('leaves no trace of a publish that was never played', async () => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    const first = await w.media.publish(stream.streamKey);
    await w.crash({ downFor: '1s' });
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId).not.toBe(first.grant.sessionId);
    expect((await w.request('GET', `/api/stream/${first.grant.sessionId}`)).status).toBe(404);
    expect(types(await w.events())).toEqual(on);
  });
});
