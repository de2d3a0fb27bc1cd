import { describe, expect, it } from 'vitest';
import { type FleetNode, fleet } from '../../kit/fleet.ts';
import { created, onAir, plugins, shown, three, types } from './kit.ts';

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
