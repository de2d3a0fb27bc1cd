import { describe, expect, it } from 'vitest';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { type World, world } from '../../kit/world.ts';
import { givenTarget, inShort, pushPlugins as plugins, secretUrl, targetPath, targets } from './kit.ts';

const url = secretUrl;
const hd = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };

/** A broadcast with these targets, which are pushed to. */
async function live(w: World, ids: readonly string[], more: Record<string, unknown> = {}) {
  const stream = await w.given.stream({ multistream: targets(...ids), ...more });
  const publish = await w.given.broadcast(stream);
  await w.advance('2s');
  return { stream, publish, id: stream.playbackId as string };
}

const told = async (w: World) => inShort(await w.events());
const orders = (w: World, playbackId: string) => w.pusher.orders(playbackId);
const wantedIds = (w: World, playbackId: string) => orders(w, playbackId).map(({ id }) => id);
const pushId = (target: string) => `${target}/source`;
const rows = (w: World) => w.store.resources.list('multistream-push', { limit: 100 });
const ownerIn = async (w: World) =>
  (await w.store.resources.list('multistream-target', { limit: 1 }))[0].account;
const shown = async (w: World, id: string) => (await w.request('GET', `/api/stream/${id}`)).body;

describe('a broadcast with targets', () => {
  it('is pushed once it is on the air, and says when media flows and when no more does', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const stream = await w.given.stream({ multistream: targets(target) });
    const publish = await w.media.publish(stream.streamKey);
    await w.advance('3s');
    // It may never become a session.
    expect(w.pusher.wants).toEqual([]);
    publish.playable();
    await w.advance('2s');
    const owner = await ownerIn(w);
    expect(orders(w, stream.playbackId)).toEqual([{ id: pushId(target), url, videoOnly: false, owner }]);
    expect(await told(w)).toEqual([]);
    w.pusher.connects(stream.playbackId);
    await w.settle();
    publish.end({ clean: true });
    await w.settle();
    const events = await w.events();
    expect(events.map(({ event }) => event)).toEqual([
      ...['stream.started', 'multistream.connected', 'stream.idle', 'multistream.disconnected'],
    ]);
    const [, connected, , disconnected] = events;
    expect(connected).toMatchObject({
      stream: { id: stream.id, isActive: true, multistream: targets(target) },
      payload: { target: { id: target, name: 'T', profile: 'source' } },
    });
    expect(connected.stream).not.toHaveProperty('streamKey');
    expect(connected.payload).toEqual({ target: { id: target, name: 'T', profile: 'source' } });
    expect(disconnected.payload).toEqual(connected.payload);
    expect(disconnected.stream).toMatchObject({ id: stream.id, isActive: false });
  });

  it('is pushed as the entry says, of the rendition that it wants, and not to what is disabled, deleted or of others', async () => {
    await using w = await world({ plugins });
    const [a, b, off, gone] = [
      await givenTarget(w, { name: 'A' }),
      await givenTarget(w, { name: 'B', url: `${url}-b` }),
      await givenTarget(w, { disabled: true }),
      await givenTarget(w, { name: 'Gone' }),
    ];
    const stream = await w.given.stream({
      profiles: [hd],
      multistream: {
        targets: [
          { profile: 'source', id: a, videoOnly: true },
          ...[b, off, gone].map((id) => ({ profile: 'source', id })),
          { profile: '720p', id: a },
        ],
      },
    });
    await w.request('DELETE', `${targetPath}/${gone}`);
    await w.given.broadcast(stream);
    await w.advance('2s');
    const owner = await ownerIn(w);
    expect(orders(w, stream.playbackId)).toEqual([
      { id: pushId(a), url, videoOnly: true, owner },
      { id: pushId(b), url: `${url}-b`, videoOnly: false, owner },
      { id: `${a}/720p`, url, videoOnly: false, owner, profile: '720p' },
    ]);
    await w.advance('2s');
    const { issues, isHealthy } = await shown(w, stream.id);
    expect(issues).toEqual([
      `Multistream target ${gone} was deleted: nothing is sent to it. Remove it from multistream.`,
    ]);
    expect(isHealthy).toBe(true);
  });

  it('tells of a rendition by its profile, and once of all that get nothing while it is not made', async () => {
    await using w = await world({ plugins });
    const [a, b] = [await givenTarget(w, { name: 'A' }), await givenTarget(w, { name: 'B' })];
    const wanted = [
      { profile: '720p', id: a },
      { profile: '720p', id: b },
      { profile: 'source', id: b },
    ];
    const stream = await w.given.stream({ profiles: [hd], multistream: { targets: wanted } });
    const { playbackId } = stream;
    await w.given.broadcast(stream);
    await w.advance('2s');
    w.pusher.connects(playbackId, `${a}/720p`);
    await w.settle();
    const payload = { target: { id: a, name: 'A', profile: '720p' } };
    expect((await w.events()).at(-1)).toMatchObject({ event: 'multistream.connected', payload });
    const issues = async () => {
      await w.advance('2s');
      const { issues, isHealthy } = await shown(w, stream.id);
      return [isHealthy, ...issues.filter((issue: string) => issue.includes('ultistream'))];
    };
    const renditions = [{ name: '720p', isListed: true }];
    const trouble = { reason: 'capacity', message: 'They take too much.' } as const;
    w.transcoder.shows(playbackId, { state: 'starting', renditions });
    expect(await issues()).toEqual([true]);
    w.transcoder.shows(playbackId, { state: 'refused', renditions, trouble });
    const idle =
      'Multistream targets of the profiles 720p receive nothing new: these renditions are not being made.';
    expect(await issues()).toEqual([true, idle]);
    w.transcoder.shows(playbackId, { state: 'running', renditions, trouble });
    expect(await issues()).toEqual([true]);
    // Of the source nothing is missing.
    await w.request('PATCH', `/api/stream/${stream.id}`, {
      body: { multistream: { targets: [{ profile: 'source', id: b }] } },
    });
    await w.advance('2s');
    expect(wantedIds(w, playbackId)).toEqual([pushId(b)]);
    w.transcoder.shows(playbackId, { state: 'refused', renditions, trouble });
    expect(await issues()).toEqual([true]);
  });

  it('pushes no profile that came when it had begun before the next session, and one that is gone until then', async () => {
    await using w = await world({ plugins });
    const a = await givenTarget(w, { name: 'A' });
    const early = { ...hd, name: 'early' };
    const late = { ...hd, name: 'late' };
    const entry = (profile: string) => ({ multistream: { targets: [{ profile, id: a }] } });
    const stream = await w.given.stream({ profiles: [early], ...entry('early') });
    const { playbackId } = stream;
    const publish = await w.given.broadcast(stream);
    await w.advance('2s');
    const path = `/api/stream/${stream.id}`;
    // The session keeps it, whatever becomes of the stream's.
    await w.request('PATCH', path, { body: { profiles: [late] } });
    await w.advance('2s');
    expect(wantedIds(w, playbackId)).toEqual([`${a}/early`]);
    await w.request('PATCH', path, { body: entry('late') });
    await w.advance('2s');
    expect(wantedIds(w, playbackId)).toEqual([]);
    await w.advance('2s');
    expect((await shown(w, stream.id)).issues).toEqual([
      `Multistream target ${a} wants the profile "late", which was added after this broadcast had begun: nothing is sent to it before the next broadcast.`,
    ]);
    publish.end({ clean: true });
    await w.advance('7m');
    await w.given.broadcast(stream);
    await w.advance('2s');
    expect(wantedIds(w, playbackId)).toEqual([`${a}/late`]);
    expect((await shown(w, stream.id)).issues).toEqual([]);
  });

  it('is never pushed to itself, where it would take the key from its own encoder', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const stream = await w.given.stream({ multistream: targets(target) });
    const own = `rtmp://another-name.example.com/live/${stream.streamKey}?a=1`;
    await w.request('PATCH', `${targetPath}/${target}`, { body: { url: own } });
    await w.given.broadcast(stream);
    await w.advance('4s');
    expect(orders(w, stream.playbackId)).toEqual([]);
    const { issues, isHealthy } = await shown(w, stream.id);
    expect(issues).toEqual([
      `Multistream target ${target} leads back to this stream: nothing is sent to it. Change its URL.`,
    ]);
    expect(isHealthy).toBe(true);
    await w.request('PATCH', `${targetPath}/${target}`, { body: { url } });
    await w.advance('2s');
    expect(orders(w, stream.playbackId)).toHaveLength(1);
  });

  it('is never pushed to a target that has come to be of another account', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const { id } = await live(w, [target]);
    const row = await w.store.resources.get('multistream-target', target);
    const { account: _, revision, ...rest } = row as NonNullable<typeof row>;
    const foreign = { ...rest, kind: 'multistream-target', account: 'other', indexes: {}, revision };
    await w.store.write({ at: w.now(), rows: [foreign], events: [] });
    await w.advance('2s');
    expect(orders(w, id)).toEqual([]);
  });

  it('with none costs the pusher nothing', async () => {
    await using w = await world({ plugins });
    await live(w, []);
    await w.advance('5s');
    expect(w.pusher.wants).toEqual([]);
    expect(await rows(w)).toEqual([]);
  });

  it('has fifty of them', async () => {
    await using w = await world({ plugins });
    const ids: string[] = [];
    for (let n = 0; n < 50; n += 1) ids.push(await givenTarget(w, { name: `T${n}` }));
    const { id, publish, stream } = await live(w, ids);
    expect(wantedIds(w, id)).toEqual(ids.map(pushId));
    for (const one of ids) w.pusher.fails(id, 'connect', { id: pushId(one), message: 'It refused.' });
    await w.advance('2s');
    expect(await told(w)).toHaveLength(50);
    const { issues } = await shown(w, stream.id);
    expect(issues).toHaveLength(11);
    expect(issues[10]).toBe('40 more multistream targets have errors.');
    for (const one of ids) w.pusher.connects(id, pushId(one));
    await w.advance('2s');
    expect((await told(w)).slice(50).sort()).toEqual(ids.map((_, n) => `connected T${n}`).sort());
    publish.end({ clean: true });
    await w.advance('7m');
    expect((await told(w)).slice(100)).toHaveLength(50);
    expect(await rows(w)).toEqual([]);
  });
});

describe('a change while it is live', () => {
  it('adds and takes away within 2 s, and leaves the others alone', async () => {
    await using w = await world({ plugins });
    const [a, b, c] = [
      await givenTarget(w, { name: 'A' }),
      await givenTarget(w, { name: 'B' }),
      await givenTarget(w, { name: 'C' }),
    ];
    const { stream, id } = await live(w, [a, b]);
    w.pusher.connects(id, pushId(a));
    w.pusher.connects(id, pushId(b));
    await w.settle();
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { multistream: targets(b, c) } });
    await w.advance('2s');
    expect(wantedIds(w, id)).toEqual([b, c].map(pushId));
    w.pusher.connects(id, pushId(c));
    await w.settle();
    expect(await told(w)).toEqual(['connected A', 'connected B', 'disconnected A', 'connected C']);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { multistream: targets() } });
    await w.advance('2s');
    expect(wantedIds(w, id)).toEqual([]);
    expect((await told(w)).slice(4).sort()).toEqual(['disconnected B', 'disconnected C']);
    const { length } = w.pusher.wants;
    await w.advance('5s');
    expect(w.pusher.wants).toHaveLength(length);
  });

  it.each([
    ['is disabled', { disabled: true }],
    ['is deleted', undefined],
  ])('of a target that %s tells disconnected alone', async (_, body) => {
    await using w = await world({ plugins });
    const [target, never] = [await givenTarget(w), await givenTarget(w, { name: 'Never' })];
    const { id } = await live(w, [target, never]);
    w.pusher.connects(id, pushId(target));
    await w.settle();
    for (const one of [target, never])
      await w.request(body ? 'PATCH' : 'DELETE', `${targetPath}/${one}`, { ...(body && { body }) });
    await w.advance('2s');
    expect(wantedIds(w, id)).toEqual([]);
    expect(await told(w)).toEqual(['connected T', 'disconnected T']);
    if (!body) return;
    await w.request('PATCH', `${targetPath}/${target}`, { body: { disabled: false } });
    await w.advance('2s');
    w.pusher.connects(id);
    await w.settle();
    expect(await told(w)).toEqual(['connected T', 'disconnected T', 'connected T']);
  });

  it('of a URL connects anew, and so does leaving out the sound', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const { stream, id } = await live(w, [target]);
    w.pusher.connects(id);
    await w.request('PATCH', `${targetPath}/${target}`, { body: { url: 'srt://other.example.com:9000' } });
    await w.advance('2s');
    expect(orders(w, id)).toMatchObject([{ url: 'srt://other.example.com:9000' }]);
    w.pusher.connects(id);
    const multistream = { targets: [{ profile: 'source', id: target, videoOnly: true }] };
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { multistream } });
    await w.advance('2s');
    expect(orders(w, id)).toMatchObject([{ videoOnly: true }]);
    w.pusher.connects(id);
    await w.settle();
    expect(await told(w)).toEqual([
      ...['connected T', 'disconnected T', 'connected T', 'disconnected T', 'connected T'],
    ]);
  });

  it('of a name is in the next event, and touches nothing else', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const { id } = await live(w, [target]);
    w.pusher.connects(id);
    await w.settle();
    await w.request('PATCH', `${targetPath}/${target}`, { body: { name: 'Renamed' } });
    await w.advance('2s');
    w.pusher.loses(id, 'closed', { message: 'It left.' });
    await w.settle();
    expect(await told(w)).toEqual(['connected T', 'error Renamed: It left.', 'disconnected Renamed']);
  });
});

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

describe('a plugin that is off', () => {
  const others = plugins.filter(({ id }) => id !== 'multistream');

  it('wants nothing and hears nothing', async () => {
    await using w = await world({ plugins: others });
    await w.given.broadcast(await w.given.stream());
    await w.advance('5s');
    expect(w.pusher.wants).toEqual([]);
    // Nobody has asked for facts.
    expect(() => w.pusher.tell(() => {})).not.toThrow();
  });

  it('ends what it missed when it is on again', async () => {
    await using w = await world({ plugins, durable: true });
    const { id } = await live(w, [await givenTarget(w)]);
    w.pusher.connects(id);
    await w.settle();
    await w.crash({ downFor: '1s', plugins: others });
    await w.advance('10m');
    expect(await rows(w)).toHaveLength(1);
    await w.crash({ downFor: '1s' });
    await w.advance('1s');
    expect(await rows(w)).toEqual([]);
    expect((await told(w)).at(-1)).toBe('disconnected T');
  });
});

it('no row, event, answer or line of the log holds any of a URL', async () => {
  await using w = await world({ plugins });
  const target = await givenTarget(w);
  const { id, stream, publish } = await live(w, [target]);
  w.pusher.fails(id, 'connect');
  w.pusher.connects(id);
  w.pusher.slows(id);
  w.pusher.loses(id, 'closed');
  await w.advance('2s');
  const all: unknown[] = [await rows(w), await shown(w, stream.id), await w.events()];
  for (const row of await rows(w)) all.push(await w.store.load(`push/${row.id}`));
  publish.end({ clean: true });
  await w.advance('10m');
  all.push(await w.events(), w.lines);
  const text = JSON.stringify(all);
  expect(text).toContain('multistream.disconnected');
  for (const secret of ['secret-key', 'live.example.com']) expect(text).not.toContain(secret);
});

it('what is pushed is counted', async () => {
  await using w = await world({ plugins });
  w.pusher.counts({
    ...{ connected: 2, connecting: 1, sentBytes: 1234, droppedFrames: 5 },
    troubles: { connect: 3, slow: 1 },
  });
  const text = await (await w.app.handle(new Request('http://localhost/metrics'))).text();
  for (const line of [
    'millrace_multistream_pushes{state="connected"} 2',
    'millrace_multistream_pushes{state="connecting"} 1',
    'millrace_multistream_sent_bytes_total 1234',
    'millrace_multistream_dropped_frames_total 5',
    'millrace_multistream_troubles_total{reason="connect"} 3',
    'millrace_multistream_troubles_total{reason="slow"} 1',
  ])
    expect(text).toContain(`${line}\n`);
});
