import { describe, expect, it } from 'vitest';
import { noVitals } from '../../../core/ports/media.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { parseExposition } from '../../kit/exposition.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { type World, world } from '../../kit/world.ts';

const plugins = await allPlugins();
const codecs = { codecs: ['avc1.640028', 'mp4a.40.2'] };
const badCodecs = { codecs: ['hvc1.1.6.L93.B0', 'mp4a.40.2'] };

async function broadcast(w: World) {
  const stream = await w.given.stream();
  const publish = await w.given.broadcast(stream);
  publish.shows({ vitals: codecs, figures: { ingestRate: 1_000_000 }, viewers: 2 });
  return { stream, publish, session: publish.grant.sessionId };
}

/** Media comes every second while time passes. */
async function flow(
  w: World,
  publish: ScriptedPublish,
  options: { seconds: number; fps?: number },
): Promise<void> {
  const { seconds, fps = 30 } = options;
  for (let second = 0; second < seconds; second += 1) {
    const vitals = w.media.readings().find(({ grant }) => grant.token === publish.grant.token)?.vitals;
    const { frames, videoTime, stepTime, stepSquares } = vitals ?? noVitals;
    publish.shows({
      figures: { lastMediaAt: w.now() + 1000 },
      vitals: {
        frames: frames + fps,
        stepTime: stepTime + 1000,
        stepSquares: stepSquares + fps * (1000 / fps) ** 2,
        videoTime: videoTime + 1000,
        audioTime: videoTime + 1000,
        keyFrames: 1,
        keyTime: videoTime,
        videoAt: w.now() + 1000,
        audioAt: w.now() + 1000,
      },
    });
    await w.advance('1s');
  }
}

const read = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}`)).body;
const points = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}/health`)).body;
const told = async (w: World) =>
  (await w.events()).filter(({ event }) => event === 'stream.health').map(({ payload }) => payload.health);

describe('health', () => {
  it('is on stream and session within a second or two, and goes when the cause has', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    await flow(w, publish, { seconds: 3 });
    expect(await read(w, stream.id)).toMatchObject({ isHealthy: true, issues: [] });
    publish.shows({ vitals: badCodecs });
    await flow(w, publish, { seconds: 1 });
    for (const id of [stream.id, session]) {
      const issues = [expect.stringContaining('video codec')];
      expect(await read(w, id)).toMatchObject({ isHealthy: false, issues });
    }
    publish.shows({ vitals: codecs });
    await flow(w, publish, { seconds: 6 });
    expect(await read(w, stream.id)).toMatchObject({ isHealthy: true, issues: [] });
  });

  it('is also what the media itself says', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    publish.shows({ figures: { issues: ['the clock jumped'] } });
    await flow(w, publish, { seconds: 2 });
    expect(await read(w, stream.id)).toMatchObject({ isHealthy: false, issues: ['the clock jumped'] });
    expect((await points(w, stream.id)).at(-1)).toMatchObject({
      isHealthy: false,
      issues: ['the clock jumped'],
    });
  });

  it('is also how its recording does, for as long as that lasts', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    const issues = ['The recording lacks a part: the disk is full. Make room on it.'];
    publish.shows({ figures: { issues } });
    await flow(w, publish, { seconds: 2 });
    for (const id of [stream.id, session])
      expect(await read(w, id)).toMatchObject({ isHealthy: false, issues });
    expect(await told(w)).toEqual([{ sessionId: session, isHealthy: false, issues }]);
    publish.shows({ figures: { issues: [] } });
    await flow(w, publish, { seconds: 12 });
    for (const id of [stream.id, session])
      expect(await read(w, id)).toMatchObject({ isHealthy: true, issues: [] });
    expect((await told(w)).at(-1)).toEqual({ sessionId: session, isHealthy: true, issues: [] });
  });

  it('emits an event when it changes, with the stream and without its key', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    await flow(w, publish, { seconds: 12 });
    expect(await told(w)).toEqual([]);
    publish.shows({ vitals: badCodecs });
    await flow(w, publish, { seconds: 2 });
    const issues = [expect.stringContaining('video codec')];
    expect(await told(w)).toEqual([{ sessionId: session, isHealthy: false, issues }]);
    const event = (await w.events()).at(-1);
    expect(event).toMatchObject({
      event: 'stream.health',
      stream: { id: stream.id, isHealthy: false, issues },
    });
    expect(JSON.stringify(event)).not.toContain(stream.streamKey);
    publish.shows({ vitals: codecs });
    await flow(w, publish, { seconds: 20 });
    expect((await told(w)).map(({ isHealthy }) => isHealthy)).toEqual([false, true]);
    expect(new Set((await w.events()).map(({ id }) => id)).size).toBe((await w.events()).length);
  });

  it('floods nobody when it flaps, and ends with how it is', async () => {
    await using w = await world({ plugins });
    const { publish } = await broadcast(w);
    for (let turn = 0; turn < 30; turn += 1) {
      publish.shows({ figures: { issues: turn % 2 === 0 ? ['odd'] : [] } });
      await flow(w, publish, { seconds: 1 });
    }
    const flapping = await told(w);
    expect(flapping.length).toBeGreaterThan(1);
    expect(flapping.length).toBeLessThanOrEqual(3);
    const times = (await w.events())
      .filter(({ event }) => event === 'stream.health')
      .map(({ timestamp }) => timestamp);
    for (const [index, time] of times.entries())
      if (index > 0) expect(time - times[index - 1]).toBeGreaterThanOrEqual(10_000);
    await flow(w, publish, { seconds: 11 });
    expect((await told(w)).at(-1).isHealthy).toBe(true);
  });

  it('tells of a lost connection and its return, and not of an end', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    await flow(w, publish, { seconds: 3 });
    publish.end({ clean: false });
    await w.advance('2s');
    expect((await told(w)).map(({ isHealthy }) => isHealthy)).toEqual([false]);
    const back = await w.given.broadcast(stream);
    back.shows({ vitals: codecs });
    await flow(w, back, { seconds: 12 });
    expect((await told(w)).map(({ isHealthy }) => isHealthy)).toEqual([false, true]);
    back.end({ clean: true });
    await w.advance('20s');
    expect(await told(w)).toHaveLength(2);
  });

  it('tells nobody of a publish that cannot be played', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.media.publish(stream.streamKey);
    publish.shows({ vitals: badCodecs });
    await flow(w, publish, { seconds: 20 });
    expect(await told(w)).toEqual([]);
  });

  it('writes the event again when the store did not take it', async () => {
    await using w = await world({ plugins });
    const { publish } = await broadcast(w);
    await flow(w, publish, { seconds: 2 });
    const { write } = w.store;
    Object.assign(w.store, { write: async () => Promise.reject(new Error('down')) });
    publish.shows({ vitals: badCodecs });
    await flow(w, publish, { seconds: 2 });
    Object.assign(w.store, { write });
    await flow(w, publish, { seconds: 2 });
    expect(await told(w)).toHaveLength(1);
  });
});

describe('the history', () => {
  it('has a point for each 5 s, of the parent and of the session', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    await flow(w, publish, { seconds: 31 });
    const all = await points(w, stream.id);
    expect(await points(w, session)).toEqual(all);
    expect(all).toHaveLength(7);
    expect(all.map(({ time }: { time: number }) => time % 5000)).toEqual(Array(7).fill(0));
    expect(all[5].time - all[4].time).toBe(5000);
    expect(all[5]).toEqual({
      time: expect.any(Number),
      ingestRate: 1_000_000,
      fps: 30,
      keyFrameInterval: 1,
      jitter: 0,
      dropped: 0,
      late: 0,
      viewerCount: 2,
      isHealthy: true,
      issues: [],
    });
    expect(all.at(-1).time).toBeGreaterThan(w.now() - 5001);
  });

  it('sums what is missing or late, and remembers issues of any second', async () => {
    await using w = await world({ plugins });
    const { stream, publish } = await broadcast(w);
    await flow(w, publish, { seconds: 5 });
    publish.shows({ vitals: { gapTime: 400, late: 3, jitter: 1200 } });
    await flow(w, publish, { seconds: 1 });
    publish.shows({ vitals: { gapTime: 700, late: 4, jitter: 10 } });
    await flow(w, publish, { seconds: 3 });
    const point = (await points(w, stream.id)).find(({ dropped }: { dropped: number }) => dropped > 0);
    expect(point).toMatchObject({ dropped: 700, late: 4, jitter: 1200, isHealthy: false });
    expect(point.issues).toHaveLength(3);
  });

  it('goes on across a reconnect, each session has its own, and is let go 10 min after its end', async () => {
    await using w = await world({ plugins });
    const { stream, publish, session } = await broadcast(w);
    await flow(w, publish, { seconds: 10 });
    publish.end({ clean: true });
    await w.advance('30s');
    const back = await w.given.broadcast(stream);
    expect(back.grant.sessionId).toBe(session);
    await flow(w, back, { seconds: 10 });
    const first = await points(w, session);
    expect(first.length).toBeGreaterThanOrEqual(4);
    expect(
      Math.max(...first.slice(1).map((p: { time: number }, i: number) => p.time - first[i].time)),
    ).toBeGreaterThan(20_000);
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    back.end({ clean: true });
    const next = await w.given.broadcast(stream);
    await flow(w, next, { seconds: 3 });
    expect(next.grant.sessionId).not.toBe(session);
    expect((await points(w, session)).length).toBe(first.length);
    expect((await points(w, stream.id)).length).toBeLessThan(first.length);
    await w.advance('610s');
    expect(await points(w, session)).toEqual([]);
    expect((await points(w, stream.id)).length).toBeGreaterThan(100);
    next.end({ clean: true });
    await w.advance('11m');
    expect(await points(w, stream.id)).toEqual([]);
  });

  it('is empty for a stream that never was on the air, and 404 for one that is not there', async () => {
    await using w = await world({ plugins });
    expect(await points(w, (await w.given.stream()).id)).toEqual([]);
    const answer = await w.request('GET', '/api/stream/nothing/health');
    expect([answer.status, answer.body.code]).toEqual([404, 'stream.not_found']);
  });
});

describe('without the plugin', () => {
  it('streams say what the media says and nothing more', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'health') });
    const { stream, publish } = await broadcast(w);
    publish.shows({ vitals: badCodecs });
    await flow(w, publish, { seconds: 5 });
    expect(await read(w, stream.id)).toMatchObject({ isHealthy: true, issues: [], viewerCount: 2 });
    expect((await w.request('GET', `/api/stream/${stream.id}/health`)).status).toBe(404);
  });
});

describe('the metrics', () => {
  it('tell how many broadcasts are not healthy', async () => {
    await using w = await world({ plugins });
    const { publish } = await broadcast(w);
    await broadcast(w);
    const unhealthy = async () => {
      const answer = await w.app.handle(new Request('http://localhost:8080/metrics'));
      const samples = parseExposition(await answer.text());
      return samples.find(({ name }) => name === 'millrace_unhealthy_broadcasts')?.value;
    };
    expect(await unhealthy()).toBe(0);
    publish.shows({ vitals: badCodecs });
    await w.advance('1s');
    expect(await unhealthy()).toBe(1);
    publish.end({ clean: true });
    await w.advance('2s');
    expect(await unhealthy()).toBe(0);
  });
});
