import { describe, expect, it } from 'vitest';
import type { ResourceCommit, StepCommit } from '../../core/ports/store.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();
const read = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}`)).body;
const broadcast = async (w: World) => {
  const stream = await w.given.stream();
  const publish = await w.given.broadcast(stream);
  return { stream, publish, session: publish.grant.sessionId };
};

describe('live figures', () => {
  it('are on stream and session a second later, and commit nothing', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    const lastMediaAt = w.now() + 700;
    const written: string[] = [];
    const { commit, write } = w.store;
    Object.assign(w.store, {
      commit(step: StepCommit) {
        written.push(step.actor);
        return commit.call(w.store, step);
      },
      write(rows: ResourceCommit) {
        // The heartbeat of the node is none of ours.
        written.push(...rows.rows.map(({ kind }) => kind).filter((kind) => kind !== 'node'));
        return write.call(w.store, rows);
      },
    });
    publish.shows({
      figures: { bytes: 5000, segments: 3, duration: 6.5, ingestRate: 2_000_000, lastMediaAt },
      viewers: 7,
    });
    await w.advance('1s');
    const figures = {
      sourceBytes: 5000,
      sourceSegments: 3,
      sourceSegmentsDuration: 6.5,
      ingestRate: 2_000_000,
      lastSeen: lastMediaAt,
      viewerCount: 7,
      isHealthy: true,
      issues: [],
    };
    expect(await read(w, stream.id)).toMatchObject(figures);
    expect(await read(w, session)).toMatchObject(figures);
    const paths = ['stream', 'session', `stream/${stream.id}/sessions`];
    for (const path of paths) {
      for (const row of (await w.request('GET', `/api/${path}`)).body) expect(row).toMatchObject(figures);
    }
    await w.advance('20s');
    expect(written).toEqual([]);
    publish.progress();
    await w.settle();
    expect(written).toHaveLength(1);
  });

  it('are looked up once for each row on the air and never for the others', async () => {
    await using w = await world({ plugins });
    const asked: string[] = [];
    const { get } = w.volatile;
    w.volatile.get = (keys) => {
      asked.push(...keys);
      return get(keys);
    };
    const idle = await w.given.stream();
    const { stream } = await broadcast(w);
    const ended = await broadcast(w);
    ended.publish.end({ clean: true });
    await w.advance('2s');
    asked.length = 0;
    for (const id of [idle.id, ended.stream.id, ended.session]) await read(w, id);
    expect(asked).toEqual([]);
    const key = `live/${stream.id}`;
    await w.request('GET', '/api/stream');
    expect(asked).toEqual([key, key]);
  });

  it('are those that were stored when nothing can be read', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    publish.progress({ bytes: 900 });
    await w.settle();
    publish.shows({ figures: { bytes: 1000 } });
    await w.advance('1s');
    w.volatile.get = async () => {
      throw new Error('out of reach');
    };
    expect(await read(w, stream.id)).toMatchObject({ isActive: true, sourceBytes: 900, isHealthy: true });
  });

  it('say once for each outage that they could not be published', async () => {
    await using w = await world({ plugins });
    await broadcast(w);
    const warned = () => w.lines.filter((line) => line.includes('could not be published')).length;
    const { set } = w.volatile;
    w.volatile.set = async () => {
      throw new Error('out of reach');
    };
    await w.advance('10s');
    expect(warned()).toBe(1);
    w.volatile.set = set;
    await w.advance('2s');
    w.volatile.set = async () => {
      throw new Error('out of reach');
    };
    await w.advance('2s');
    expect(warned()).toBe(2);
  });

  it('of a publish that was taken over are not shown for the one that took over', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    publish.shows({ figures: { bytes: 5000 } });
    await w.advance('1s');
    const second = await w.media.publish(stream.streamKey);
    second.playable({ bytes: 10 });
    await w.settle();
    expect((await read(w, stream.id)).sourceBytes).toBe(10);
    publish.end({ clean: false, bytes: 6000 });
    await w.advance('1s');
    expect((await read(w, stream.id)).sourceBytes).toBe(6010);
  });

  it('count viewers of a held broadcast too, and say nothing of one that is off', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    publish.shows({ viewers: 3 });
    publish.end({ clean: false });
    await w.advance('2s');
    expect(await read(w, stream.id)).toMatchObject({
      isActive: true,
      isHealthy: false,
      viewerCount: 3,
      ingestRate: 0,
    });
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    const off = await read(w, stream.id);
    expect(off.isActive).toBe(false);
    for (const name of ['viewerCount', 'ingestRate', 'isHealthy']) expect(off).not.toHaveProperty(name);
  });

  it.each(['delete', 'terminate', 'close', 'suspend'])('are kept to the last on %s', async (how) => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    publish.progress({ bytes: 100, segments: 1, duration: 2 });
    await w.advance('20s');
    const last = { bytes: 7000, segments: 9, duration: 22, lastMediaAt: w.now() };
    publish.shows({ figures: last });
    const path = `/api/stream/${stream.id}`;
    if (how === 'delete') await w.request('DELETE', path);
    if (how === 'terminate') await w.request('DELETE', `${path}/terminate`);
    if (how === 'suspend') await w.request('PATCH', path, { body: { suspended: true } });
    publish.end({ clean: how === 'close', ...last });
    await w.settle();
    expect(await read(w, session)).toMatchObject({
      isActive: false,
      sourceBytes: 7000,
      sourceSegments: 9,
      sourceSegmentsDuration: 22,
      lastSeen: last.lastMediaAt,
    });
  });

  it('set no timer while nothing is on the air', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    const { set } = w.volatile;
    let sets = 0;
    w.volatile.set = (entries, options) => {
      sets += entries.length;
      return set(entries, options);
    };
    publish.end({ clean: true });
    await w.advance('30s');
    expect(sets).toBe(0);
    const again = await w.media.publish(stream.streamKey);
    again.playable();
    await w.advance('30s');
    expect(sets).toBe(30);
  });

  it('are published for all, however many turns it takes', async () => {
    await using w = await world({ plugins });
    const ids: string[] = [];
    for (let index = 0; index < 120; index += 1) {
      const { stream, publish } = await broadcast(w);
      publish.shows({ viewers: index + 1 });
      ids.push(stream.id);
    }
    await w.advance('1s');
    const listed = (await w.request('GET', '/api/stream?limit=1000&streamsonly=1')).body;
    const counts = ids.map((id) => listed.find((row: { id: string }) => row.id === id).viewerCount);
    expect(counts).toEqual(ids.map((_, index) => index + 1));
  });
});
