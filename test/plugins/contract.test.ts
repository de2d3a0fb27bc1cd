import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { says } from '../../core/http/http.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { bootstrapKeyFile } from '../../plugins/accounts/bootstrap-key.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

// Lines of the contract that concern no single feature, and those that nothing else happens to test.

const plugins = await allPlugins();
const uuid4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A request whose headers and body are sent as they are. */
function send(w: World, path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${bootstrapKey}`);
  return Promise.resolve(w.app.handle(new Request(`http://localhost:8080${path}`, { ...init, headers })));
}

describe('ids', () => {
  it('are uuid v4, and keys base36, never the same twice', async () => {
    await using w = await world({ plugins });
    const streams = await Promise.all(Array.from({ length: 50 }, () => w.given.stream()));
    for (const { id, streamKey, playbackId } of streams) {
      expect(id).toMatch(uuid4);
      expect(streamKey).toMatch(/^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
      expect(playbackId).toMatch(/^[0-9a-z]{16}$/);
    }
    for (const name of ['id', 'streamKey', 'playbackId']) {
      expect(new Set(streams.map((stream) => stream[name])).size).toBe(50);
    }
    // Every letter comes up: nothing is left out of the alphabet by how bytes become letters.
    const letters = new Set(streams.map(({ streamKey, playbackId }) => streamKey + playbackId).join(''));
    expect(letters.size).toBe(37);
    const target = { url: 'rtmp://push.example.com/live/a' };
    for (const [path, body] of [
      ['/api/api-token', {}],
      ['/api/account', { name: 'One' }],
      ['/api/multistream/target', target],
    ] as const) {
      expect((await w.request('POST', path, { body })).body.id).toMatch(uuid4);
    }
  });
});

describe('times', () => {
  it('are in seconds as createdAt of streams and sessions, in milliseconds everywhere else', async () => {
    const start = Date.UTC(2026, 0, 1) + 777;
    await using w = await world({ plugins, start });
    const stream = await w.given.stream();
    const { grant } = await w.given.broadcast(stream);
    const seconds = Math.floor(start / 1000);
    expect(stream.createdAt).toBe(seconds);
    const { body: session } = await w.request('GET', `/api/session/${grant.sessionId}`);
    expect(session).toMatchObject({ createdAt: seconds, lastSeen: start });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.lastSeen).toBe(start);
    const [event] = await w.events();
    expect(event).toMatchObject({ createdAt: start, timestamp: start });
    const token = await w.request('POST', '/api/api-token', { body: {} });
    expect(token.body.createdAt).toBe(start);
    const account = await w.request('POST', '/api/account', { body: { name: 'One' } });
    expect(account.body.createdAt).toBe(start);
    const url = 'rtmp://push.example.com/live/a';
    expect((await w.request('POST', '/api/multistream/target', { body: { url } })).body.createdAt).toBe(
      start,
    );
  });
});

describe('a body', () => {
  it.each([undefined, 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data', 'nonsense'])(
    'is read as JSON when its type is %s',
    async (type) => {
      await using w = await world({ plugins });
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const body = new TextEncoder().encode('{"name":"Typed"}');
      const answer = await send(w, '/api/stream', { method: 'POST', headers, body });
      expect([answer.status, (await answer.json()).name]).toEqual([201, 'Typed']);
      const bad = await send(w, '/api/stream', { method: 'POST', headers, body: body.slice(0, 5) });
      expect([bad.status, (await bad.json()).code]).toEqual([400, 'body.malformed']);
    },
  );

  it('may hold all that is read of a stream, a session and a key: what is read-only is ignored', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ userTags: { a: 1 }, holdSeconds: 5 });
    const { grant } = await w.given.broadcast(stream);
    const { body: live } = await w.request('GET', `/api/stream/${stream.id}`);
    const { body: session } = await w.request('GET', `/api/session/${grant.sessionId}`);
    for (const read of [live, session]) {
      const copy = await w.request('POST', '/api/stream', { body: { ...read, name: 'A copy' } });
      expect(copy.body).toMatchObject({ name: 'A copy', isActive: false, userTags: { a: 1 } });
      expect(copy.body.id).not.toBe(read.id);
      expect(copy.body.playbackId).not.toBe(read.playbackId);
      expect(copy.body).not.toHaveProperty('parentId');
    }
    expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: live })).status).toBe(204);
  });

  it.each([
    ['POST', '/api/stream', { name: 'x' }],
    ['POST', '/api/api-token', {}],
    ['POST', '/api/account', { name: 'x' }],
    ['POST', '/api/multistream/target', { url: 'rtmp://push.example.com/live/a' }],
  ])('of %s %s has no field that no table knows', async (method, path, body) => {
    await using w = await world({ plugins });
    const answer = await w.request(method, path, { body: { ...body, colour: 'red' } });
    expect(answer).toMatchObject({ status: 422, body: { errors: ['colour: unknown field'] } });
  });
});

describe('an error', () => {
  it('is a list of messages and a code, whatever the status; a 5xx shows nothing of the inside', async () => {
    const broken = definePlugin({
      id: 'broken',
      summary: 'fails',
      routes: () =>
        new Elysia().get(
          '/api/broken',
          () => {
            throw new Error('the inside');
          },
          says('Fails.', { name: 'fail', isOpen: true, answers: {} }),
        ),
    });
    await using w = await world({ plugins: [...plugins, broken] });
    const { id } = await w.given.stream();
    const answers = [
      [400, await send(w, '/api/stream', { method: 'POST', body: '{' })],
      [401, await send(w, '/api/stream', { headers: { authorization: 'Bearer wrong' } })],
      [404, await send(w, '/api/stream/none', {})],
      [404, await send(w, '/nothing', {})],
      [413, await send(w, '/api/stream', { method: 'POST', body: 'x'.repeat(1_048_577) })],
      [422, await send(w, `/api/stream/${id}`, { method: 'PATCH', body: '{"name":1}' })],
      [500, await send(w, '/api/broken', {})],
    ] as const;
    for (const [status, answer] of answers) {
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/json');
      const text = await answer.text();
      const body = JSON.parse(text);
      expect(Object.keys(body)).toEqual(['errors', 'code']);
      expect(body.errors.length).toBeGreaterThan(0);
      expect(body.code).toMatch(/^[a-z_]+(\.[a-z_]+)?$/);
      expect(text).not.toMatch(/the inside|\.ts\b|\\n +at /);
    }
    expect(w.lines.join('\n')).toContain('the inside');
  });
});

describe('credentials', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])(
    'are taken with the scheme written %s',
    async (scheme) => {
      await using w = await world({ plugins });
      const headers = { authorization: `${scheme} ${bootstrapKey}` };
      expect((await send(w, '/api/stream', { headers })).status).toBe(200);
    },
  );

  it.each(['', 'Basic eDp5', 'Bearer', `Bearer${bootstrapKey}`, `Token ${bootstrapKey}`])(
    'are missing as %j: 401 with the way to do it',
    async (authorization) => {
      await using w = await world({ plugins });
      const answer = await send(w, '/api/stream', { headers: { authorization } });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(await answer.json()).toMatchObject({ code: 'auth.missing' });
    },
  );

  it('are not taken from the query, where logs and browsers would keep them', async () => {
    await using w = await world({ plugins });
    for (const name of ['key', 'apiKey', 'token', 'access_token']) {
      const answer = await w.request('GET', `/api/stream?${name}=${bootstrapKey}`, { key: null });
      expect(answer.status).toBe(401);
    }
  });
});

describe('the bootstrap key', () => {
  it('is made once, for its owner to read alone', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-key-'));
    const { key } = await bootstrapKeyFile(join(dataDir, 'data'));
    const { key: again } = await bootstrapKeyFile(join(dataDir, 'data'));
    const path = join(dataDir, 'data', 'bootstrap-key');
    expect(key).toMatch(/^[\w-]{32}$/);
    expect([again, (await readFile(path, 'utf8')).trim()]).toEqual([key, key]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await rm(dataDir, { recursive: true });
  });

  it('belongs to the admin account, and an account sees nothing of another', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const other = await anotherAccount(w);
    expect((await w.request('POST', '/api/account', { body: { name: 'x' }, key: other.key })).status).toBe(
      403,
    );
    expect((await w.request('GET', '/api/stream', { key: other.key })).body).toEqual([]);
    expect((await w.request('GET', `/api/stream/${stream.id}`, { key: other.key })).status).toBe(404);
    const theirs = await w.request('POST', '/api/stream', { body: { name: 'Theirs' }, key: other.key });
    expect(theirs.body).toMatchObject({ userId: other.id, createdByTokenName: 'theirs' });
    expect((await w.request('GET', `/api/stream/${theirs.body.id}`)).status).toBe(404);
  });
});

describe('a stream', () => {
  it.each([
    [1, 201],
    [500, 201],
    [0, 422],
    [501, 422],
  ])('with a name of %i characters is answered %i', async (length, status) => {
    await using w = await world({ plugins });
    const answer = await w.request('POST', '/api/stream', { body: { name: 'x'.repeat(length) } });
    expect(answer.status).toBe(status);
  });

  it('takes every field that the contract names, at POST and at PATCH', async () => {
    await using w = await world({ plugins });
    const profile = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };
    const target = await w.request('POST', '/api/multistream/target', {
      body: { url: 'rtmp://push.example.com/live/a' },
    });
    const fields = {
      record: true,
      suspended: true,
      profiles: [profile],
      multistream: { targets: [{ profile: '720p', id: target.body.id }] },
      userTags: { text: 'a', number: 1.5, flag: true },
      holdSeconds: 0,
    };
    const made = await w.request('POST', '/api/stream', { body: { name: 'All', ...fields } });
    expect(made).toMatchObject({ status: 201, body: fields });
    const { id } = await w.given.stream();
    const changed = await w.request('PATCH', `/api/stream/${id}`, { body: { name: 'All', ...fields } });
    expect([changed.status, changed.body]).toEqual([204, undefined]);
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject({ name: 'All', ...fields });
  });

  it('says what tags may be called, and what they may hold', async () => {
    await using w = await world({ plugins });
    const errorsOf = async (userTags: unknown) =>
      (await w.request('POST', '/api/stream', { body: { name: 'x', userTags } })).body.errors;
    const names = 'expected a name of 1 to 100 characters, no control characters';
    expect(await errorsOf({ '': 1 })).toEqual([`userTags.: ${names}`]);
    expect(await errorsOf({ ['k'.repeat(101)]: 1 })).toEqual([`userTags.${'k'.repeat(101)}: ${names}`]);
    const values = 'expected text of at most 500 characters, a number or a boolean';
    expect(await errorsOf({ a: null, b: 'v'.repeat(501) })).toEqual([
      `userTags.a: ${values}`,
      `userTags.b: ${values}`,
    ]);
  });

  it('that is deleted while it is changed is not found, as if it had been deleted before', async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream();
    const [, ...others] = await Promise.all([
      w.request('DELETE', `/api/stream/${id}`),
      w.request('PATCH', `/api/stream/${id}`, { body: { name: 'Late' } }),
      w.request('PATCH', `/api/stream/${id}/record`, { body: { record: true } }),
      w.request('POST', `/api/stream/${id}/rotate-key`),
    ]);
    for (const { status, body } of others) {
      expect([status, body]).toEqual([
        404,
        { errors: [`There is no stream ${id}.`], code: 'stream.not_found' },
      ]);
    }
  });

  it('is not changed by an empty PATCH, which is 204', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: {} })).status).toBe(204);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toEqual(stream);
  });

  it('with a new key is answered with it; the old one stops working and its broadcast ends', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    const rotated = await w.request('POST', `/api/stream/${stream.id}/rotate-key`);
    expect(rotated).toMatchObject({ status: 200, body: { id: stream.id, isActive: false } });
    expect(rotated.body.streamKey).not.toBe(stream.streamKey);
    expect(publish.closedBecause).toBe('The stream key was changed.');
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'unauthorized' });
    expect((await w.media.publish(rotated.body.streamKey)).answer.granted).toBe(true);
  });

  it('that is suspended loses its broadcast, and refuses new ones as rejected, until it is not', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: true } });
    expect(publish.closedBecause).toBe('The stream was suspended.');
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toMatchObject({
      isActive: false,
      suspended: true,
    });
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ reason: 'rejected' });
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: false } });
    expect((await w.media.publish(stream.streamKey)).answer.granted).toBe(true);
  });
});

describe('a session', () => {
  it('is its parent as it was when it began, readable in all four ways', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ record: true, userTags: { a: 1 } });
    const { grant } = await w.given.broadcast(stream);
    const body = { name: 'Renamed', record: false, userTags: {} };
    await w.request('PATCH', `/api/stream/${stream.id}`, { body });
    const { body: session } = await w.request('GET', `/api/stream/${grant.sessionId}`);
    expect(session).toMatchObject({
      id: grant.sessionId,
      kind: 'stream',
      parentId: stream.id,
      name: 'A stream',
      playbackId: stream.playbackId,
      record: true,
      userTags: { a: 1 },
      profiles: [],
    });
    expect(session).not.toHaveProperty('streamKey');
    expect((await w.request('GET', `/api/session/${session.id}`)).body).toEqual(session);
    expect((await w.request('GET', '/api/session')).body).toEqual([session]);
    const recorded = `/api/stream/${stream.id}/sessions?record=`;
    expect((await w.request('GET', `${recorded}1`)).body).toEqual([session]);
    expect((await w.request('GET', `${recorded}0`)).body).toEqual([]);
  });

  it('spans its reconnects: first id, first createdAt, summed duration', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    const began = Math.floor(w.now() / 1000);
    await w.advance('10s');
    first.end({ clean: true, duration: 10, bytes: 1000, segments: 5 });
    await w.settle();
    await w.advance('60s');
    const second = await w.given.broadcast(stream);
    await w.advance('7s');
    second.end({ clean: true, duration: 7, bytes: 700, segments: 4 });
    await w.settle();
    expect((await w.request('GET', '/api/session')).body).toMatchObject([
      {
        id: first.grant.sessionId,
        createdAt: began,
        sourceSegmentsDuration: 17,
        sourceBytes: 1700,
        sourceSegments: 9,
      },
    ]);
  });
});

describe('while a broadcast is held', () => {
  it('it is active, unhealthy, and an issue says what happened and what to do', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const publish = await w.given.broadcast(stream);
    publish.end({ clean: false });
    await w.settle();
    const { body } = await w.request('GET', `/api/stream/${stream.id}`);
    expect(body).toMatchObject({ isActive: true, isHealthy: false });
    expect(body.issues).toHaveLength(1);
    expect(body.issues[0]).toMatch(/connection .* lost/);
    expect(w.media.retired).toEqual([]);
    await w.given.broadcast(stream);
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body).toMatchObject({
      isActive: true,
      isHealthy: true,
      issues: [],
    });
  });
});
