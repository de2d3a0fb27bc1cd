import { describe, expect, it } from 'vitest';
import { type World, world } from '../../kit/world.ts';
import { givenTarget, pushPlugins as plugins, secretUrl, targetPath, targets } from './kit.ts';
import { live, orders, rows, shown, told } from './live-kit.ts';

const url = secretUrl;
const hd = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };
const wantedIds = (w: World, playbackId: string) => orders(w, playbackId).map(({ id }) => id);
const pushId = (target: string) => `${target}/source`;
const ownerIn = async (w: World) =>
  (await w.store.resources.list('multistream-target', { limit: 1 }))[0].account;

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
