import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import multistream from '../../plugins/multistream/index.ts';
import renditions from '../../plugins/renditions/index.ts';
import streams from '../../plugins/streams/index.ts';
import { sharedWorld } from '../kit/shared-world.ts';
import { type World, world } from '../kit/world.ts';

const plugins = [accounts, streams, renditions, multistream, events] as unknown as Plugin[];
const url = 'rtmp://live.example.com/app/secret-key';
const base = '/api/multistream/target';
const profile = { name: '720p', width: 1280, height: 720, bitrate: 2_000_000, fps: 30 };

async function givenTarget(w: World, body: Record<string, unknown> = {}) {
  const answer = await w.request('POST', base, { body: { name: 'T', url, ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
}

/** A target of an account that is not the caller's. */
async function foreignTarget(w: World): Promise<string> {
  const id = 'ffffffff-0000-4000-8000-000000000000';
  const target = { id, account: 'other', name: 'theirs', url, disabled: false, createdAt: w.now() };
  const body = JSON.stringify(target);
  const row = { kind: 'multistream-target', id, account: 'other', createdAt: w.now(), name: 'theirs' };
  await w.store.write({ at: w.now(), rows: [{ ...row, body, indexes: {}, revision: 0 }], events: [] });
  return id;
}

const targetsOf = async (w: World, id: string) =>
  (await w.request('GET', `/api/stream/${id}`)).body.multistream.targets;

/** For requests that are refused. */
const unchanged = sharedWorld({ plugins });

describe('a multistream target', () => {
  it('is created, listed and read without its URL', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    expect(target).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'T', createdAt: w.now() });
    await w.advance('1s');
    const second = await givenTarget(w, { disabled: true, name: undefined });
    expect(second).toMatchObject({ disabled: true, name: 'live.example.com' });
    expect((await w.request('GET', `${base}/${target.id}`)).body).toEqual(target);
    expect((await w.request('GET', base)).body).toEqual([second, target]);
    expect((await w.request('GET', `${base}?limit=1`)).body).toEqual([second]);
    expect((await w.request('GET', `${base}?limit=0`)).status).toBe(422);
  });

  it.each([
    ...[
      'rtmps://a.example/x',
      'RTMP://a.example/live/k',
      'rtmp://[::1]:1935/live/k',
      'rtmp://10.0.0.1/live/k',
    ],
    ...['srt://a.example:9000?streamid=1', 'Srt://a.example:9000?mode=caller&streamid=#!::r=x'],
  ])('may be at %s', async (allowed) => {
    await using w = await world({ plugins });
    await givenTarget(w, { url: allowed });
  });

  const hopeless = [
    ['srt://a.example', 'name a port'],
    ['srt://a.example:9000?mode=listener&streamid=secret', 'the parameter mode'],
    ['srt://a.example:9000?maxbw=1', 'parameter 1 of the URL'],
    ['srt://a.example:9000?secret=1', 'parameter 1 of the URL'],
    ['srt://a.example:9000?passphrase=secret', 'the parameter passphrase'],
    ['srt://a.example:9000/secret', 'without a path'],
    ['rtmp://a.example', 'no key'],
    ['rtmp://a.example/secret/', 'no key'],
    ['rtmp://user:secret@a.example/app/key', 'a user and a password'],
    ['rtmp://a.example:99999/app/secret', 'the port'],
    ['rtmp://a.example:25/app/secret', 'the port'],
    ['rtmp://1.2.3.4.5/app/secret', 'the host'],
    ['rtmp://a~b.example/app/secret', 'the host'],
  ] as const;

  it.each(hopeless)('is refused when nothing could ever be pushed to it: %s', async (wrong, says) => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const { id: stream } = await w.given.stream();
    const targets = [{ profile: 'source', spec: { url: wrong } }];
    const answers = [
      await w.request('POST', base, { body: { url: wrong } }),
      await w.request('PATCH', `${base}/${id}`, { body: { url: wrong } }),
      await w.request('POST', '/api/stream', { body: { name: 'x', multistream: { targets } } }),
      await w.request('PATCH', `/api/stream/${stream}`, { body: { multistream: { targets } } }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.code]).toEqual([400, 'multistream.invalid']);
      expect(body.errors.join()).toMatch(new RegExp(`^(multistream\\.targets\\.0\\.spec\\.)?url: .*${says}`));
      expect(body.errors.join()).not.toMatch(/example|secret|9999|\*\*\*/);
    }
    expect((await w.request('GET', base)).body).toHaveLength(1);
  });

  it('whose URL was accepted before such ones were refused can be changed, and mended', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const row = (await w.store.resources.get('multistream-target', id))!;
    const body = JSON.stringify({ ...JSON.parse(row.body), url: 'srt://a.example' });
    await w.store.write({
      at: w.now(),
      rows: [{ ...row, kind: 'multistream-target', indexes: {}, body }],
      events: [],
    });
    for (const change of [{ disabled: true }, { url }]) {
      expect((await w.request('PATCH', `${base}/${id}`, { body: change })).status).toBe(204);
    }
  });

  it.each([
    [{ url: 'http://a.example/x' }, 'url'],
    [{ url: 'rtmp://a b/x' }, 'url'],
    [{ url: 'rtmp://' }, 'url'],
    [{ url: 'rtmp:///app' }, 'url'],
    [{ url: 'rtmp://[x/app' }, 'url'],
    [{ url: `rtmp://a.example/${'x'.repeat(2000)}` }, 'url'],
    [{ url: undefined }, 'url'],
    [{ name: '' }, 'name'],
    [{ disabled: 'no' }, 'disabled'],
    [{ key: 'x' }, 'key'],
  ])('is refused with the field named, and never repeats a URL: %j', async (wrong, name) => {
    const w = await unchanged();
    const answer = await w.request('POST', base, { body: { url, ...wrong } });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors.join()).toContain(`${name}: `);
    expect(answer.body.errors.join()).not.toMatch(/a\.example|secret/);
    expect((await w.request('GET', base)).body).toEqual([]);
  });

  it('is changed by what a PATCH names, and can be sent back as it was read', async () => {
    await using w = await world({ plugins });
    const target = await givenTarget(w);
    const path = `${base}/${target.id}`;
    for (const body of [{}, target, { disabled: true }, { name: 'N', url: 'srt://b.example:9000' }]) {
      expect((await w.request('PATCH', path, { body })).status).toBe(204);
    }
    expect((await w.request('GET', path)).body).toEqual({ ...target, name: 'N', disabled: true });
    await w.request('PATCH', path, { body: { disabled: false } });
    expect((await w.request('GET', path)).body).toEqual({ ...target, name: 'N' });
    expect((await w.request('PATCH', path, { body: { url: 'ftp://x' } })).status).toBe(422);
    expect((await w.request('PATCH', path, { body: { url: 'rtmp:///x' } })).status).toBe(422);
  });

  it('keeps every change when several come at one time', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const bodies = [{ name: 'N' }, { disabled: true }];
    const answers = await Promise.all(bodies.map((body) => w.request('PATCH', `${base}/${id}`, { body })));
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect((await w.request('GET', `${base}/${id}`)).body).toMatchObject({ name: 'N', disabled: true });
  });

  it('is gone after DELETE', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    expect((await w.request('DELETE', `${base}/${id}`)).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? {} : undefined;
      const answer = await w.request(method, `${base}/${id}`, { body });
      expect([answer.status, answer.body.code]).toEqual([404, 'target.not_found']);
    }
  });

  it('of another account is hidden', async () => {
    await using w = await world({ plugins });
    const id = await foreignTarget(w);
    expect((await w.request('GET', base)).body).toEqual([]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { name: 'mine' } : undefined;
      expect((await w.request(method, `${base}/${id}`, { body })).status).toBe(404);
    }
  });

  it.each([
    ['POST', ''],
    ['GET', ''],
    ['GET', '/x'],
    ['PATCH', '/x'],
    ['DELETE', '/x'],
  ])('needs a key: %s %s', async (method, path) => {
    await using w = await world({ plugins });
    for (const key of [null, 'wrong']) {
      expect((await w.request(method, `${base}${path}`, { key })).status).toBe(401);
    }
  });
});

describe('the multistream field', () => {
  it('is an empty list when absent', async () => {
    await using w = await world({ plugins });
    expect(await w.given.stream()).toMatchObject({ multistream: { targets: [] }, issues: [] });
  });

  it('takes ids and specs, and shows ids alone', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const stream = await w.given.stream({
      profiles: [profile],
      multistream: {
        targets: [
          { profile: 'source', id },
          { profile: '720p', id, videoOnly: true },
          { profile: 'source', spec: { name: 'Made', url } },
          { profile: 'source', spec: { url: 'srt://other.example:9000' } },
        ],
      },
    });
    const { targets } = stream.multistream;
    expect(targets.slice(0, 2)).toEqual([
      { profile: 'source', id },
      { profile: '720p', id, videoOnly: true },
    ]);
    const { body: all } = await w.request('GET', base);
    const names = new Map(all.map((one: { id: string; name: string }) => [one.id, one.name]));
    expect(targets.map((one: { id: string }) => names.get(one.id))).toEqual([
      'T',
      'T',
      'Made',
      'other.example',
    ]);
    expect(targets[2]).toEqual({ profile: 'source', id: expect.any(String) });
    expect((await w.request('PATCH', `/api/stream/${stream.id}`, { body: stream })).status).toBe(204);
    expect(await targetsOf(w, stream.id)).toEqual(targets);
  });

  it('is replaced whole by a PATCH, and kept by one that does not name it', async () => {
    await using w = await world({ plugins });
    const [a, b] = [await givenTarget(w), await givenTarget(w)];
    const stream = await w.given.stream({ multistream: { targets: [{ profile: 'source', id: a.id }] } });
    const path = `/api/stream/${stream.id}`;
    await w.request('PATCH', path, { body: { name: 'Renamed' } });
    expect(await targetsOf(w, stream.id)).toEqual([{ profile: 'source', id: a.id }]);
    const next = { multistream: { targets: [{ profile: 'source', id: b.id }] } };
    expect((await w.request('PATCH', path, { body: next })).status).toBe(204);
    expect(await targetsOf(w, stream.id)).toEqual([{ profile: 'source', id: b.id }]);
    await w.request('PATCH', path, { body: { multistream: { targets: [] } } });
    expect(await targetsOf(w, stream.id)).toEqual([]);
  });

  it('is the same with {} and with no targets', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const multistream = { targets: [{ profile: 'source', id }] };
    for (const none of [{}, { targets: [] }]) {
      const made = await w.request('POST', '/api/stream', { body: { name: 'x', multistream: none } });
      expect([made.status, made.body.multistream]).toEqual([201, { targets: [] }]);
      const stream = await w.given.stream({ multistream });
      const { status } = await w.request('PATCH', `/api/stream/${stream.id}`, {
        body: { multistream: none },
      });
      expect([status, await targetsOf(w, stream.id)]).toEqual([204, []]);
    }
  });

  it('can be sent back as it was read though a target was deleted, and forgets that one then', async () => {
    await using w = await world({ plugins });
    const [kept, deleted] = [await givenTarget(w), await givenTarget(w)];
    const entry = ({ id }: { id: string }) => ({ profile: 'source', id });
    const stream = await w.given.stream({ multistream: { targets: [entry(deleted), entry(kept)] } });
    await w.request('DELETE', `${base}/${deleted.id}`);
    const read = (await w.request('GET', `/api/stream/${stream.id}`)).body;
    expect(read.multistream.targets).toEqual([entry(deleted), entry(kept)]);
    const patch = (body: object) => w.request('PATCH', `/api/stream/${stream.id}`, { body });
    // A change of something else leaves it alone.
    expect((await patch({ name: 'other' })).status).toBe(204);
    expect(await targetsOf(w, stream.id)).toHaveLength(2);
    const spec = { url: 'rtmp://b.example/app/key' };
    const more = [...read.multistream.targets, { profile: 'source', spec }];
    expect((await patch({ multistream: { targets: more } })).status).toBe(204);
    expect(await targetsOf(w, stream.id)).toEqual([
      entry(kept),
      { profile: 'source', id: expect.not.stringContaining(deleted.id) },
    ]);
    // From now on it is as unknown as any other.
    const again = await patch({ multistream: read.multistream });
    expect([again.status, again.body.code]).toEqual([400, 'multistream.invalid']);
    const other = await w.given.stream();
    const foreign = await w.request('PATCH', `/api/stream/${other.id}`, {
      body: { multistream: read.multistream },
    });
    expect(foreign.status).toBe(400);
  });

  it('names a profile that the same PATCH brings', async () => {
    await using w = await world({ plugins });
    const { id } = await givenTarget(w);
    const stream = await w.given.stream();
    const body = { multistream: { targets: [{ profile: '720p', id }] }, profiles: [profile] };
    const path = `/api/stream/${stream.id}`;
    expect((await w.request('PATCH', path, { body })).status).toBe(204);
    expect((await w.request('GET', path)).body.issues).toEqual([]);
    expect((await w.request('PATCH', path, { body: { profiles: [] } })).status).toBe(204);
    const { issues } = (await w.request('GET', path)).body;
    expect(issues).toEqual([
      `Multistream target ${id} wants the profile "720p", which this stream no longer has. Choose another profile.`,
    ]);
  });

  it('is refused with 400 and a message that names what is wrong, and makes nothing', async () => {
    await using w = await world({ plugins });
    const foreign = await foreignTarget(w);
    const { id } = await givenTarget(w);
    const stream = await w.given.stream();
    const source = { profile: 'source' };
    const spec = { ...source, spec: { url } };
    const wrong: [Record<string, unknown>[], string][] = [
      [[spec, { ...source }], 'targets.1: expected exactly one of id and spec'],
      [[spec, { ...spec, id }], 'targets.1: expected exactly one of id and spec'],
      [[spec, { ...source, id: 'nobody' }], 'there is no multistream target nobody'],
      [[spec, { ...source, id: foreign }], `there is no multistream target ${foreign}`],
      [[spec, { profile: '1080p', id }], 'no profile "1080p"'],
      [
        [spec, { ...source, id }, { ...source, id, videoOnly: true }],
        `${id} with the profile "source" is listed twice`,
      ],
    ];
    for (const [targets, message] of wrong) {
      for (const [method, path] of [
        ['POST', '/api/stream'],
        ['PATCH', `/api/stream/${stream.id}`],
      ]) {
        const body = { name: 'x', multistream: { targets } };
        const answer = await w.request(method, path, { body });
        expect([answer.status, answer.body.code]).toEqual([400, 'multistream.invalid']);
        expect(answer.body.errors.join()).toContain(message);
      }
    }
    expect((await w.request('GET', base)).body).toHaveLength(1);
    expect(await targetsOf(w, stream.id)).toEqual([]);
  });

  it('makes no target when another field of the request is wrong', async () => {
    await using w = await world({ plugins });
    const targets = [{ profile: 'source', spec: { url } }];
    const body = { name: 'x', multistream: { targets }, profiles: [profile, profile] };
    expect((await w.request('POST', '/api/stream', { body })).body.code).toBe('renditions.invalid');
    expect((await w.request('GET', base)).body).toEqual([]);
  });

  it.each([
    [[], 'multistream'],
    [{ targets: {} }, 'multistream.targets'],
    [{ targets: [{ id: 'x' }] }, 'multistream.targets.0.profile'],
    [{ targets: [{ profile: 'source', spec: {} }] }, 'multistream.targets.0.spec.url'],
    [{ targets: [{ profile: 'source', spec: { url: 'http://a' } }] }, 'multistream.targets.0.spec.url'],
    [{ targets: [{ profile: 'source', spec: { url: 'rtmp:///a' } }] }, 'multistream.targets.0.spec.url'],
    [{ targets: [{ profile: 'source', id: 'x', url }] }, 'multistream.targets.0.url'],
  ])('is refused with 422 when it has another shape: %j', async (value, name) => {
    const w = await unchanged();
    const answer = await w.request('POST', '/api/stream', { body: { name: 'x', multistream: value } });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors.join()).toContain(`${name}: `);
  });

  it('that can be pushed is no issue, and is kept by sessions', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream({ multistream: { targets: [{ profile: 'source', spec: { url } }] } });
    expect(stream.issues).toEqual([]);
    const { grant } = await w.given.broadcast(stream);
    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { multistream: { targets: [] } } });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).body.issues).toEqual([]);
    expect(await targetsOf(w, grant.sessionId)).toEqual(stream.multistream.targets);
  });

  it('knows the source alone while renditions is off', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'renditions') });
    const { id } = await givenTarget(w);
    const body = (name: string) => ({ name: 'x', multistream: { targets: [{ profile: name, id }] } });
    expect((await w.request('POST', '/api/stream', { body: body('source') })).status).toBe(201);
    expect((await w.request('POST', '/api/stream', { body: body('720p') })).status).toBe(400);
  });

  it('is unknown, with the routes, while the plugin is off', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'multistream') });
    const body = { name: 'x', multistream: { targets: [{ profile: 'source', spec: { url } }] } };
    const answer = await w.request('POST', '/api/stream', { body });
    expect([answer.status, answer.body.errors]).toEqual([422, ['multistream: unknown field']]);
    expect((await w.request('GET', base)).body.code).toBe('route.not_found');
  });

  it('leaves a URL in no answer, event or log', async () => {
    await using w = await world({ plugins });
    const told: unknown[] = [];
    const stream = await w.given.stream({ multistream: { targets: [{ profile: 'source', spec: { url } }] } });
    await w.given.broadcast(stream);
    told.push(stream, (await w.request('GET', '/api/stream')).body, (await w.request('GET', base)).body);
    told.push(await w.events(), w.lines);
    expect(JSON.stringify(told)).not.toContain('secret-key');
  });
});
