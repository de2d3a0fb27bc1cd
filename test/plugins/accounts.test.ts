import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/base/ids.ts';
import type { Principal } from '../../core/http/auth.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { StoredKeys } from '../../plugins/accounts/api-keys.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { sharedWorld } from '../kit/shared-world.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

const newKey = async (w: World, body: Record<string, unknown> = {}, key?: string) => {
  const answer = await w.request('POST', '/api/api-token', { body, ...(key !== undefined && { key }) });
  expect([answer.status, answer.body.errors]).toEqual([201, undefined]);
  return answer.body;
};

/** For requests that are refused. */
const unchanged = sharedWorld({ plugins });

describe('an account', () => {
  it('is made by the admin', async () => {
    await using w = await world({ plugins });
    const { status, body } = await w.request('POST', '/api/account', { body: { name: 'Acme' } });
    expect([status, body]).toEqual([201, { id: body.id, name: 'Acme', createdAt: w.now() }]);
    expect(body.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is made by nobody else', async () => {
    await using w = await world({ plugins });
    const { key } = await anotherAccount(w);
    const answer = await w.request('POST', '/api/account', { key, body: { name: 'Acme' } });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.not_allowed']);
  });

  it.each([{}, { name: '' }, { name: 5 }, { name: 'x', more: 1 }])('is refused as %j', async (body) => {
    const w = await unchanged();
    expect((await w.request('POST', '/api/account', { body })).status).toBe(422);
  });

  it('has its own streams, which name it and the key', async () => {
    await using w = await world({ plugins });
    const mine = await w.given.stream();
    const other = await anotherAccount(w);
    const { body: theirs } = await w.request('POST', '/api/stream', { key: other.key, body: { name: 'x' } });
    expect(theirs).toMatchObject({ userId: other.id, createdByTokenName: 'theirs' });
    const list = await w.request('GET', '/api/stream', { key: other.key });
    expect(list.body.map(({ id }: { id: string }) => id)).toEqual([theirs.id]);
    expect((await w.request('GET', `/api/stream/${theirs.id}`)).status).toBe(404);
    expect((await w.request('GET', `/api/stream/${mine.id}`, { key: other.key })).status).toBe(404);
  });
});

describe('an API key', () => {
  it('is made with its secret shown once', async () => {
    await using w = await world({ plugins });
    const access = { rules: [{ resources: ['stream/*'], methods: ['get'] }] };
    const { key, ...token } = await newKey(w, { name: 'Reader', access });
    expect(key).toMatch(/^mr_[\w-]{43}$/);
    expect(token).toMatchObject({ name: 'Reader', access, createdAt: w.now() });
    expect((await w.request('GET', `/api/api-token/${token.id}`)).body).toEqual(token);
    expect((await w.request('GET', '/api/api-token')).body).toEqual([token]);
  });

  it('is known to itself, whatever it may do otherwise', async () => {
    await using w = await world({ plugins });
    const { id: userId, key: theirs } = await anotherAccount(w);
    const current = async (key?: string | null) => {
      const { status, body } = await w.request(
        'GET',
        '/api/api-token/current',
        key === undefined ? {} : { key },
      );
      return [status, body];
    };
    const [, own] = await current();
    expect(own).toEqual({ name: 'bootstrap', userId: expect.any(String), isAdmin: true, access: {} });
    for (const access of [{ rules: [] }, { rules: [{ resources: ['stream'], methods: ['post'] }] }]) {
      const { key, id } = await newKey(w, { name: 'Narrow', access }, theirs);
      expect(await current(key)).toEqual([200, { id, name: 'Narrow', userId, isAdmin: false, access }]);
      expect((await w.request('GET', `/api/api-token/${id}`, { key })).status).toBe(403);
      await w.request('DELETE', `/api/api-token/${id}`, { key: theirs });
      expect(await current(key)).toEqual([401, expect.objectContaining({ code: 'auth.invalid' })]);
    }
    const { key, id } = await newKey(w);
    expect((await current(key))[1]).toMatchObject({ id, isAdmin: true });
    expect(await current(null)).toEqual([401, expect.objectContaining({ code: 'auth.missing' })]);
  });

  it('has a name, access to everything, and what was read can be sent back', async () => {
    await using w = await world({ plugins });
    const { key: _, ...token } = await newKey(w);
    expect(token).toMatchObject({ name: 'API key', access: {} });
    const again = await newKey(w, token);
    expect(again).toMatchObject({ name: 'API key', access: {} });
    expect(again.id).not.toBe(token.id);
  });

  it('is never in the store, a list or the log', async () => {
    await using w = await world({ plugins });
    const { key, id } = await newKey(w);
    await w.request('GET', '/api/stream', { key });
    await w.request('GET', '/api/stream', { key: `${key}x` });
    await w.request('POST', '/api/stream', { key, body: { nmae: key } });
    await w.request('DELETE', `/api/api-token/${id}`, { key });
    const rows = await w.store.resources.list('api-token', { limit: 1000 });
    const lists = await w.request('GET', '/api/api-token');
    const everything = JSON.stringify([w.lines, rows, lists.body, await w.events()]);
    expect(everything).not.toContain(key);
    expect(everything).not.toContain(bootstrapKey);
  });

  it('stops working at once when it is deleted', async () => {
    await using w = await world({ plugins });
    const { key, id } = await newKey(w);
    expect((await w.request('GET', '/api/stream', { key })).status).toBe(200);
    expect((await w.request('DELETE', `/api/api-token/${id}`)).status).toBe(204);
    const answer = await w.request('GET', '/api/stream', { key });
    expect([answer.status, answer.body.code]).toEqual([401, 'auth.invalid']);
    expect((await w.request('GET', `/api/api-token/${id}`)).status).toBe(404);
    expect((await w.request('DELETE', `/api/api-token/${id}`)).status).toBe(404);
    expect((await w.request('GET', '/api/api-token')).body).toEqual([]);
  });

  it('is deleted once by two at one time, and may delete itself', async () => {
    await using w = await world({ plugins });
    const { key, id } = await newKey(w);
    const both = await Promise.all([1, 2].map(() => w.request('DELETE', `/api/api-token/${id}`, { key })));
    expect(both.map(({ status }) => status).sort()).not.toContain(500);
    expect(both.filter(({ status }) => status === 204)).toHaveLength(1);
  });

  it('takes its open event streams with it, and no others', async () => {
    await using w = await world({ plugins });
    const open = async (key: string) => {
      const request = new Request('http://localhost:8080/api/events', {
        headers: { authorization: `Bearer ${key}` },
      });
      const answer = await w.app.handle(request);
      expect(answer.status).toBe(200);
      let isOpen = true;
      const read = answer.text().then(() => {
        isOpen = false;
      });
      return { read, isOpen: () => isOpen };
    };
    const { key, id } = await newKey(w);
    const ended = await open(key);
    const [other, bootstrap] = [await open((await newKey(w)).key), await open(bootstrapKey)];
    await w.request('DELETE', `/api/api-token/${id}`);
    await ended.read;
    expect([other.isOpen(), bootstrap.isOpen()]).toEqual([true, true]);
    await w.stop();
    await Promise.all([other.read, bootstrap.read]);
  });

  it('that was deleted a moment ago ends what is opened now', async () => {
    const resources = { get: async () => undefined };
    const kit = { resources, deployment: { isAlone: true } } as unknown as Kit;
    const keys = new StoredKeys(kit, { bootstrap: { hash: Buffer.alloc(32), accountId: 'a' } });
    const ended = new Promise<void>((resolve) => {
      keys.onRevoked({ keyId: 'deleted' } as Principal, resolve);
    });
    await ended;
  });

  it('outlives the process, and so does its end', async () => {
    await using w = await world({ plugins, durable: true });
    const [kept, deleted] = [await newKey(w), await newKey(w)];
    await w.request('DELETE', `/api/api-token/${deleted.id}`);
    await w.crash({ downFor: '1s' });
    expect((await w.request('GET', '/api/stream', { key: kept.key })).status).toBe(200);
    expect((await w.request('GET', '/api/stream', { key: deleted.key })).status).toBe(401);
  });

  it('of another account is as unknown as one that never was', async () => {
    await using w = await world({ plugins });
    const { id } = await newKey(w);
    const { key } = await anotherAccount(w);
    const never = uuid();
    const list = await w.request('GET', '/api/api-token', { key });
    expect(list.body.map(({ name }: { name: string }) => name)).toEqual(['theirs']);
    for (const method of ['GET', 'DELETE']) {
      const [theirs, nobodys] = [
        await w.request(method, `/api/api-token/${id}`, { key }),
        await w.request(method, `/api/api-token/${never}`, { key }),
      ];
      expect([theirs.status, theirs.body.code]).toEqual([404, 'api_token.not_found']);
      expect(nobodys.body.errors[0]).toBe(theirs.body.errors[0].replace(id, never));
    }
    expect((await w.request('GET', `/api/api-token/${id}`)).status).toBe(200);
  });

  it('is made for another account by the admin alone', async () => {
    await using w = await world({ plugins });
    const { id, key } = await anotherAccount(w);
    const own = await w.request('POST', '/api/api-token', { key, body: { accountId: id } });
    expect([own.status, own.body.code]).toEqual([403, 'auth.not_allowed']);
    const unknown = await w.request('POST', '/api/api-token', { body: { accountId: 'nobody' } });
    expect([unknown.status, unknown.body.code]).toEqual([400, 'account.unknown']);
    expect((await newKey(w, {}, key)).userId).toBe(id);
  });

  it.each([
    [{ access: { rules: [{ resources: ['/stream'] }] } }, /^access\.rules\.0\.resources\.0: expected a path/],
    [{ access: { rules: [{ resources: ['stream/../x'] }] } }, /^access\.rules\.0\.resources\.0: expected/],
    [{ access: { rules: [{ resources: ['x'], methods: ['GET'] }] } }, /methods\.0: expected one of get/],
    [{ access: { rules: [{}] } }, /^access\.rules\.0\.resources: is required/],
    [{ access: { rules: null } }, /^access\.rules: expected array/],
    [{ access: { rule: [] } }, /^access\.rule: unknown field/],
    [{ access: { cors: { allowedOrigins: ['example.com'] } } }, /allowedOrigins\.0: expected an origin/],
    [{ access: { cors: { allowedOrigins: ['https://a/'] } } }, /allowedOrigins\.0: expected an origin/],
    [{ access: { cors: { allowedOrigins: ['https://A:443'] } } }, /0: expected https:\/\/a, as browsers/],
    [{ key: 'mine' }, /^key: unknown field/],
    [{ name: '' }, /^name: expected/],
  ])('is refused with the field named: %j', async (body, problem) => {
    const w = await unchanged();
    const answer = await w.request('POST', '/api/api-token', { body });
    expect([answer.status, answer.body.code]).toEqual([422, 'body.invalid']);
    expect(answer.body.errors[0]).toMatch(problem);
  });
});

describe('a key with rules', () => {
  const rules = [
    { resources: ['stream', 'stream/*'], methods: ['get'] },
    { resources: ['api-token'], methods: ['post'] },
  ];

  it('may do what they say, and is told what is missing', async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream();
    const { key } = await newKey(w, { access: { rules } });
    expect((await w.request('GET', `/api/stream/${id}`, { key })).status).toBe(200);
    const answer = await w.request('DELETE', `/api/stream/${id}`, { key });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.not_allowed']);
    expect(answer.body.errors).toEqual([
      `This API key may not do that: its access rules have no delete stream/${id}.`,
    ]);
    expect((await w.request('GET', `/api/stream/${id}`)).status).toBe(200);
  });

  it('gives on what it has and no more', async () => {
    await using w = await world({ plugins });
    const { key } = await newKey(w, { access: { rules } });
    const narrow = { rules: [{ resources: ['stream/:id'], methods: ['get'] }] };
    expect((await newKey(w, { access: narrow }, key)).access).toEqual(narrow);
    expect((await newKey(w, {}, key)).access).toEqual({ rules });
    for (const access of [{}, { rules: [{ resources: ['stream'] }] }, { rules: [{ resources: ['*'] }] }]) {
      const answer = await w.request('POST', '/api/api-token', { key, body: { access } });
      expect([answer.status, answer.body.code]).toEqual([403, 'auth.not_allowed']);
    }
    expect((await w.request('GET', '/api/api-token')).body).toHaveLength(3);
  });

  it('is of the admin account still', async () => {
    await using w = await world({ plugins });
    const access = { rules: [{ resources: ['account'] }] };
    const { key } = await newKey(w, { access });
    expect((await w.request('POST', '/api/account', { key, body: { name: 'x' } })).status).toBe(201);
  });
});
