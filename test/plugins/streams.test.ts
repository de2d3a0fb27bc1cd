import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import assets from '../../plugins/assets/index.ts';
import events from '../../plugins/events/index.ts';
import recordings from '../../plugins/recordings/index.ts';
import streams from '../../plugins/streams/index.ts';
import tasks from '../../plugins/tasks/index.ts';
import { sharedWorld } from '../kit/shared-world.ts';
import { world } from '../kit/world.ts';

const plugins = [accounts, streams, tasks, assets, recordings, events] as unknown as Plugin[];
const types = (list: { event: string }[]) => list.map(({ event }) => event);

/** For requests that are refused. */
const unchanged = sharedWorld({ plugins });

describe('a stream', () => {
  it('is created with the fields of the contract', async () => {
    await using w = await world({ plugins });
    const { status, body } = await w.request('POST', '/api/stream', {
      body: { name: 'First', record: true },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      kind: 'stream',
      name: 'First',
      record: true,
      isActive: false,
      suspended: false,
    });
    expect(body.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.streamKey).toMatch(/^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
    expect(body.playbackId).toMatch(/^[0-9a-z]{16}$/);
    expect(body.createdAt).toBe(w.now() / 1000);
    expect(body.createdByTokenName).toBe('bootstrap');
    expect((await w.request('GET', `/api/stream/${body.id}`)).body).toEqual(body);
  });

  it.each([
    [{}, 'name: is required'],
    [{ name: '' }, 'name: expected 1 to 500 characters, without NUL and halves of surrogate pairs'],
    [{ name: 'a\u0000b' }, 'name: expected 1 to 500 characters, without NUL and halves of surrogate pairs'],
    [{ name: 'a\ud83c' }, 'name: expected 1 to 500 characters, without NUL and halves of surrogate pairs'],
    [
      { name: '\udfac\ud83c' },
      'name: expected 1 to 500 characters, without NUL and halves of surrogate pairs',
    ],
    [{ name: 'x', record: 'yes' }, 'record: expected boolean'],
    [{ name: 'x', nmae: 'y' }, 'nmae: unknown field; did you mean name?'],
    [{ name: 'x', holdSeconds: 361 }, 'holdSeconds: expected integer to be less or equal to 360'],
  ])('is refused with the field named: %j', async (body, problem) => {
    const w = await unchanged();
    const answer = await w.request('POST', '/api/stream', { body });
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('body.invalid');
    expect(answer.body.errors).toContain(problem);
  });

  it('has a name of any characters, whole ones', async () => {
    await using w = await world({ plugins });
    const name = 'Café \ud83c\udfac\tفيلم\n\u0001 end';
    const { id } = await w.given.stream({ name });
    expect((await w.request('GET', `/api/stream/${id}`)).body.name).toBe(name);
  });

  it('can be sent back as it was read', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: stream })).status).toBe(204);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toEqual(stream);
  });

  it('keeps what a PATCH does not name', async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream({ record: true });
    await w.request('PATCH', `/api/stream/${id}`, { body: { name: 'Renamed' } });
    await w.request('PATCH', `/api/stream/${id}`, { body: {} });
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({
      name: 'Renamed',
      record: true,
    });
  });

  it('is gone after DELETE, with its broadcast', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    expect((await w.request('DELETE', `/api/stream/${stream.id}`)).status).toBe(204);
    expect(publish.closedBecause).toBe('The stream was deleted.');
    expect((await w.request('GET', `/api/stream/${stream.id}`)).status).toBe(404);
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'unauthorized' });
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
  });

  it('is unknown to a caller without a key', async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream();
    expect((await w.request('GET', `/api/stream/${id}`, { key: null })).status).toBe(401);
    expect((await w.request('GET', `/api/stream/${id}`, { key: 'wrong' })).status).toBe(401);
  });

  it.each([
    ['record', [false], [true, 'false', null]],
    ['profiles', [[]], [[{ name: 'low' }], 1]],
    ['multistream', [{}, { targets: [] }], [{ targets: [{ profile: 'source', id: 'x' }] }, { other: 1 }]],
  ])('takes %s that asks for nothing while its plugin is off', async (name, nothing, something) => {
    const without = ['recordings', 'renditions', 'multistream'];
    await using w = await world({ plugins: plugins.filter(({ id }) => !without.includes(id)) });
    const { id } = await w.given.stream();
    for (const value of nothing) {
      const made = await w.request('POST', '/api/stream', { body: { name: 'x', [name]: value } });
      expect([made.status, made.body]).toEqual([
        201,
        expect.not.objectContaining({ [name]: expect.anything() }),
      ]);
      const changed = await w.request('PATCH', `/api/stream/${id}`, { body: { [name]: value } });
      expect(changed.status).toBe(204);
    }
    for (const value of something) {
      const refused = await w.request('POST', '/api/stream', { body: { name: 'x', [name]: value } });
      expect([refused.status, refused.body.errors.join()]).toEqual([422, expect.stringContaining(name)]);
    }
  });

  it('does not know record while recordings is off', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'recordings') });
    const answer = await w.request('POST', '/api/stream', { body: { name: 'x', record: true } });
    expect(answer.body.errors).toEqual(['record: unknown field']);
    expect(await w.given.stream()).not.toHaveProperty('record');
  });
});

describe('a broadcast', () => {
  it('is live once its playlist works, and tells so without the key', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.media.publish(stream.streamKey);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.isActive).toBe(false);
    publish.playable();
    await w.settle();
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.isActive).toBe(true);
    const [started] = await w.events();
    expect(started).toMatchObject({ event: 'stream.started', stream: { id: stream.id, isActive: true } });
    expect(JSON.stringify(started)).not.toContain(stream.streamKey);
  });

  it('makes a read-only session with the parent as it was', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ record: true });
    const { grant } = await w.given.broadcast(stream);
    await w.request('PATCH', `/api/stream/${stream.id}/record`, { body: { record: false } });
    const { body: session } = await w.request('GET', `/api/stream/${grant.sessionId}`);
    expect(session).toMatchObject({ parentId: stream.id, record: true, isActive: true, kind: 'stream' });
    expect(session).not.toHaveProperty('streamKey');
    for (const [method, path] of [
      ['PATCH', ''],
      ['PATCH', '/record'],
      ['DELETE', ''],
      ['DELETE', '/terminate'],
      ['POST', '/rotate-key'],
    ]) {
      const body = method === 'PATCH' ? { record: true } : undefined;
      const answer = await w.request(method, `/api/stream/${session.id}${path}`, { body });
      expect([answer.status, answer.body.code]).toEqual([400, 'stream.session_read_only']);
    }
  });

  it('ends at once when the encoder says so', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: true });
    await w.settle();
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
    expect(w.media.retired).toEqual([stream.playbackId]);
  });

  it('is held for 30 s when the connection breaks, and no event tells of a return within', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: false });
    await w.advance('29s');
    const held = (await w.request('GET', `/api/stream/${stream.id}`)).body;
    expect(held).toMatchObject({ isActive: true, isHealthy: false });
    const second = await w.given.broadcast(stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    expect([first.grant.isReturn, second.grant.isReturn]).toEqual([false, true]);
    await w.advance('10m');
    expect(types(await w.events())).toEqual(['stream.started']);
  });

  it('counts hold from the last media, not from the loss', async () => {
    await using w = await world({ plugins });
    const publish = await w.given.broadcast(await w.given.stream());
    const lastMediaAt = w.now();
    await w.advance('10s');
    publish.end({ clean: false, lastMediaAt });
    await w.advance('19999ms');
    expect(types(await w.events())).toEqual(['stream.started']);
    await w.advance('1ms');
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
  });

  it('continues the session within the reconnect window, with a higher media sequence', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: true, duration: 10, bytes: 100, segments: 5 });
    await w.advance('358999ms');
    const second = await w.given.broadcast(stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    expect(second.grant.mediaSequence).toBe(4 * 358 + 3);
    expect(second.grant.discontinuitySequence).toBe(1);
    expect(second.grant.isReturn).toBe(false);
    second.end({ clean: true, duration: 2.5, bytes: 30, segments: 1 });
    await w.settle();
    expect(types(await w.events())).toEqual([
      'stream.started',
      'stream.idle',
      'stream.started',
      'stream.idle',
    ]);
    const { body } = await w.request('GET', `/api/stream/${first.grant.sessionId}`);
    expect(body).toMatchObject({ sourceSegmentsDuration: 12.5, sourceBytes: 130, sourceSegments: 6 });
  });

  it('begins a new session after the window', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: true });
    await w.advance('361s');
    const second = await w.given.broadcast(stream);
    expect(second.grant.sessionId).not.toBe(first.grant.sessionId);
  });

  it('is taken over by the same key: one session, the old connection closed', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    const second = await w.given.broadcast(stream);
    expect(first.closedBecause).toBe('Another broadcast with the same key took over.');
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    expect(second.grant.isReturn).toBe(true);
    // What the loser still reports counts no more.
    first.end({ clean: true });
    await w.settle();
    expect(types(await w.events())).toEqual(['stream.started']);
    expect(w.media.retired).toEqual([]);
  });

  it.each([
    ['DELETE', '/terminate', undefined],
    ['PATCH', '', { suspended: true }],
    ['POST', '/rotate-key', undefined],
  ])('closes both windows at %s %s', async (method, path, body) => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    const answer = await w.request(method, `/api/stream/${stream.id}${path}`, { body });
    expect(answer.status).toBeLessThan(300);
    expect(first.closedBecause).toBeDefined();
    expect(types(await w.events())).toEqual(['stream.started', 'stream.idle']);
    const key = answer.body?.streamKey ?? stream.streamKey;
    if (body?.suspended) {
      expect((await w.media.publish(key)).answer).toMatchObject({ granted: false, reason: 'rejected' });
      await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: false } });
    }
    if (path === '/rotate-key') {
      expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'unauthorized' });
    }
    const second = await w.given.broadcast({ streamKey: key });
    expect(second.grant.sessionId).not.toBe(first.grant.sessionId);
  });

  it('may be terminated when nothing is on', async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream();
    expect((await w.request('DELETE', `/api/stream/${id}/terminate`)).status).toBe(204);
  });

  it('leaves no trace when it never had media', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.media.publish(stream.streamKey);
    publish.end({ clean: false, lastMediaAt: 0 });
    await w.settle();
    expect(await w.events()).toEqual([]);
    expect((await w.request('GET', `/api/stream/${publish.grant.sessionId}`)).status).toBe(404);
  });

  it('is not accepted with a key nobody has', async () => {
    await using w = await world({ plugins });
    expect((await w.media.publish('aaaa-bbbb-cccc-dddd')).answer).toMatchObject({ reason: 'unauthorized' });
  });
});

describe('a process that dies in a broadcast', () => {
  it('goes on with the same session when the encoder is back within hold', async () => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    await w.crash({ downFor: '5s' });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toMatchObject({
      isActive: true,
      isHealthy: false,
    });
    const second = await w.given.broadcast(stream);
    expect(second.grant.sessionId).toBe(first.grant.sessionId);
    // Its viewers come from a playlist that is gone with the process.
    expect(second.grant.isReturn).toBe(true);
    expect(types(await w.events())).toEqual(['stream.started']);
  });

  it('is idle, dated from the end of hold, when it was down for longer', async () => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    await w.given.broadcast(stream);
    await w.advance('1s');
    const died = w.now();
    await w.crash({ downFor: '10m' });
    await w.settle();
    const [, idle] = await w.events();
    expect(idle.event).toBe('stream.idle');
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.isActive).toBe(false);
    expect(idle.timestamp).toBeGreaterThan(died);
    const back = await w.given.broadcast(stream);
    expect(back.grant.discontinuitySequence).toBe(1);
    expect(back.grant.isReturn).toBe(false);
  });

  it('fires what fell due while it was down', async () => {
    await using w = await world({ plugins, durable: true });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: false });
    await w.settle();
    const due = w.now() + 30_000;
    await w.crash({ downFor: '2m' });
    const [, idle] = await w.events();
    expect(idle).toMatchObject({ event: 'stream.idle', timestamp: due });
  });
});
