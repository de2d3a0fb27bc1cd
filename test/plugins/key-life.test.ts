import { describe, expect, it } from 'vitest';
import { type Authenticator, authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

/** When API keys expire, when they were used, and who made them. */
const plugins = await allPlugins();
const hour = 3_600_000;

const make = async (w: World, body: Record<string, unknown> = {}, key?: string) => {
  const answer = await w.request('POST', '/api/api-token', { body, ...(key !== undefined && { key }) });
  expect([answer.status, answer.body.errors]).toEqual([201, undefined]);
  return answer.body as { id: string; key: string; expiresAt?: number; createdByKeyId?: string };
};
const statusOf = async (w: World, key: string) =>
  (await w.request('GET', '/api/api-token/current', { key })).status;
const shown = async (w: World, id: string) => (await w.request('GET', `/api/api-token/${id}`)).body;
const remove = async (w: World, path: string, key?: string) =>
  (await w.request('DELETE', `/api/api-token/${path}`, key === undefined ? {} : { key })).status;

describe('a key that expires', () => {
  it('works until then, ends event streams, and is listed after that', async () => {
    await using w = await world({ plugins });
    const expiresAt = w.now() + 10 * 60_000;
    const { id, key } = await make(w, { expiresAt });
    const { body: current } = await w.request('GET', '/api/api-token/current', { key });
    expect(current).toMatchObject({ id, expiresAt });
    const open = await w.app.handle(
      new Request('http://localhost/api/events', { headers: { authorization: `Bearer ${key}` } }),
    );
    const ended = open.body?.pipeTo(new WritableStream()).then(() => 'ended');
    await w.advance('599999ms');
    expect(await statusOf(w, key)).toBe(200);
    await w.advance('1ms');
    expect(await statusOf(w, key)).toBe(401);
    expect(await ended).toBe('ended');
    expect(await shown(w, id)).toMatchObject({ expiresAt });
  });

  it('must expire in the future, as a whole number', async () => {
    await using w = await world({ plugins });
    for (const expiresAt of [w.now(), 0, -1, 1.5, '2030-01-01', null]) {
      const answer = await w.request('POST', '/api/api-token', { body: { expiresAt } });
      expect([expiresAt, answer.status]).toEqual([expiresAt, 422]);
      expect(answer.body.errors[0]).toMatch(/^expiresAt: expected/);
    }
  });

  it('makes none that lives longer, nor does a sign-in with its leave', async () => {
    await using w = await world({ plugins });
    const expiresAt = w.now() + hour;
    const { id, key } = await make(w, { expiresAt });
    expect(await make(w, {}, key)).toMatchObject({ expiresAt, createdByKeyId: id });
    expect(await make(w, { expiresAt: expiresAt - 1 }, key)).toMatchObject({ expiresAt: expiresAt - 1 });
    const later = await w.request('POST', '/api/api-token', { key, body: { expiresAt: expiresAt + 1 } });
    expect([later.status, later.body.code]).toEqual([403, 'auth.not_allowed']);
    const { body } = await w.request('POST', '/api/sign-in-code', { key });
    const signedIn = await w.request('POST', '/api/sign-in', { key: '', body: { code: body.code } });
    const { body: current } = await w.request('GET', '/api/api-token/current', { key: signedIn.body.key });
    expect(current).toMatchObject({ name: 'Dashboard', expiresAt });
    expect(await shown(w, current.id)).toMatchObject({ createdByKeyId: id });
  });

  it('no longer lets in what was signed with its leave', async () => {
    await using w = await world({ plugins });
    const { key } = await make(w, { expiresAt: w.now() + hour });
    const { body } = await w.request('POST', '/api/asset/request-upload', { key, body: { name: 'Film' } });
    await w.advance('1h');
    const answer = await w.app.handle(new Request(body.url, { method: 'PUT', body: 'a film' }));
    expect(answer.status).toBe(403);
  });
});

it('tells who has only the id of a key when it expires', async () => {
  let keys: Authenticator | undefined;
  const listener = definePlugin({
    id: 'listener',
    summary: 'listens',
    needs: [authenticator],
    start(kit) {
      keys = kit.use(authenticator);
    },
  });
  await using w = await world({ plugins: [...plugins, listener] });
  const { id } = await make(w, { expiresAt: w.now() + hour });
  const ended: string[] = [];
  const stops = ['early', 'late'].map((name) => keys?.onRevoked({ keyId: id }, () => ended.push(name)));
  await w.advance('59m');
  stops[0]?.();
  expect(ended).toEqual([]);
  await w.advance('1m');
  expect(ended).toEqual(['late']);
});

describe('the last use of a key', () => {
  it('is shown to the hour, and survives', async () => {
    await using w = await world({ plugins });
    const { id, key } = await make(w);
    expect(await shown(w, id)).not.toHaveProperty('lastUsedAt');
    const uses: unknown[] = [];
    for (let n = 0; n < 3; n += 1) {
      await w.advance('42m');
      await statusOf(w, key);
      await w.settle();
      uses.push((await shown(w, id)).lastUsedAt);
      expect(uses.at(-1)).toBe(Math.floor(w.now() / hour) * hour);
    }
    const { body } = await w.request(
      'GET',
      `/api/api-token?filters=${encodeURIComponent(JSON.stringify([{ id: 'lastUsedAt', value: { gte: uses[2] } }]))}`,
    );
    expect(body.map((one: { id: string }) => one.id)).toEqual([id]);
  });

  it('does not stand in the way of its deletion', async () => {
    await using w = await world({ plugins });
    const { id, key } = await make(w);
    const [, status] = await Promise.all([statusOf(w, key), remove(w, id)]);
    expect(status).toBe(204);
    await w.settle();
    expect([await statusOf(w, key), (await shown(w, id)).code]).toEqual([401, 'api_token.not_found']);
  });
});

describe('keys that a key made', () => {
  const family = async (w: World) => {
    const parent = await make(w);
    const child = await make(w, {}, parent.key);
    const grandchild = await make(w, {}, child.key);
    return { parent, child, grandchild };
  };

  it('say so, and stay when it is deleted alone', async () => {
    await using w = await world({ plugins });
    const { parent, child, grandchild } = await family(w);
    expect([parent.createdByKeyId, child.createdByKeyId, grandchild.createdByKeyId]).toEqual([
      undefined,
      parent.id,
      child.id,
    ]);
    expect(await remove(w, parent.id)).toBe(204);
    expect(await statusOf(w, grandchild.key)).toBe(200);
    expect(await remove(w, `${parent.id}?cascade=0`)).toBe(404);
  });

  it('are deleted with it by cascade=1, through all generations; a repeat goes on with what is left', async () => {
    await using w = await world({ plugins });
    const { parent, child, grandchild } = await family(w);
    const stranger = await make(w);
    expect(await remove(w, parent.id)).toBe(204);
    expect(await remove(w, `${parent.id}?cascade=1`)).toBe(204);
    expect(await Promise.all([child, grandchild, stranger].map(({ key }) => statusOf(w, key)))).toEqual([
      401, 401, 200,
    ]);
    expect(await remove(w, `${parent.id}?cascade=1`)).toBe(404);
    expect((await w.request('DELETE', `/api/api-token/${stranger.id}?cascade=yes`)).status).toBe(422);
  });

  it('do not slip away when one in between is deleted alone', async () => {
    await using w = await world({ plugins });
    const { parent, child, grandchild } = await family(w);
    const many = await Promise.all(Array.from({ length: 201 }, () => make(w, {}, child.key)));
    const last = await make(w, {}, grandchild.key);
    for (const { id } of [child, grandchild]) expect(await remove(w, id, parent.key)).toBe(204);
    const kept = [...many, last];
    for (const { key } of kept) expect(await statusOf(w, key)).toBe(200);
    expect(await shown(w, last.id)).toMatchObject({ createdByKeyId: grandchild.id });
    // Also when the one in between is the one that is known to be stolen, and is gone.
    expect(await remove(w, `${child.id}?cascade=1`)).toBe(204);
    for (const { key } of kept) expect(await statusOf(w, key)).toBe(401);
    expect((await w.request('GET', '/api/api-token')).body).toMatchObject([{ id: parent.id }]);
  });

  it('are found from above however many came and went in between', async () => {
    await using w = await world({ plugins });
    const { parent, child } = await family(w);
    let last = child;
    for (let n = 0; n < 25; n += 1) {
      const next = await make(w, {}, last.key);
      expect(await remove(w, last.id, next.key)).toBe(204);
      last = next;
    }
    expect(await statusOf(w, last.key)).toBe(200);
    expect(await remove(w, `${parent.id}?cascade=1`)).toBe(204);
    expect(await statusOf(w, last.key)).toBe(401);
    expect((await w.request('GET', '/api/api-token?limit=1000')).body).toEqual([]);
  });

  it('are hundreds', async () => {
    await using w = await world({ plugins });
    const parent = await make(w);
    const made = await Promise.all(Array.from({ length: 450 }, () => make(w, {}, parent.key)));
    expect(await remove(w, `${parent.id}?cascade=1`)).toBe(204);
    expect((await w.request('GET', '/api/api-token?limit=1000')).body).toEqual([]);
    expect(await statusOf(w, made[449]?.key ?? '')).toBe(401);
  });

  it('are none that are made while it is being deleted', async () => {
    await using w = await world({ plugins });
    const { parent, child } = await family(w);
    const making = Array.from({ length: 20 }, (_, n) =>
      w.request('POST', '/api/api-token', { key: n % 2 ? parent.key : child.key, body: {} }),
    );
    const [status, ...made] = await Promise.all([remove(w, `${parent.id}?cascade=1`), ...making]);
    expect(status).toBe(204);
    for (const { status, body } of made) {
      expect([201, 401, 409]).toContain(status);
      if (status === 201) expect(await statusOf(w, body.key)).toBe(401);
    }
    expect((await w.request('GET', '/api/api-token?limit=1000')).body).toEqual([]);
  });

  it('of another account are not deleted by a key of this one', async () => {
    await using w = await world({ plugins });
    const admins = await make(w);
    const other = await anotherAccount(w);
    const theirs = await make(w, { accountId: other.id }, admins.key);
    expect(await remove(w, `${admins.id}?cascade=1`, other.key)).toBe(404);
    expect(await statusOf(w, theirs.key)).toBe(200);
    expect(await remove(w, `${admins.id}?cascade=1`)).toBe(204);
    expect(await statusOf(w, theirs.key)).toBe(401);
  });
});
