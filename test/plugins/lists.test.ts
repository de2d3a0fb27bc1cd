import { describe, expect, it } from 'vitest';
import { sharedWorld } from '../kit/shared-world.ts';
import { type World, world } from '../kit/world.ts';
import { nextOf, plugins, walk, walks } from './list-walk.ts';

/** Streams of these names, a second apart, and what GET gives for a query. */
async function given(names: readonly string[], w: World): Promise<void> {
  for (const name of names) {
    await w.given.stream({ name });
    await w.advance('1s');
  }
}

async function namesOf(path: string, w: World): Promise<string> {
  const { status, body } = await w.request('GET', path);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.map(({ name }: { name: string }) => name).join(' ');
}

const filtered = (filters: unknown) =>
  `/api/stream?order=name-false&filters=${encodeURIComponent(JSON.stringify(filters))}`;

/** For requests that are refused. */
const unchanged = sharedWorld({ plugins });

describe('a list', () => {
  it('is a bare array, newest first, twenty at a time, and says where the next page is', async () => {
    await using w = await world({ plugins });
    await given(
      Array.from({ length: 21 }, (_, index) => `n${index}`),
      w,
    );
    const first = await w.request('GET', '/api/stream');
    expect(first.body).toHaveLength(20);
    expect([first.body[0].name, first.body[19].name]).toEqual(['n20', 'n1']);
    const next = nextOf(first.headers) ?? '';
    const second = await w.request('GET', next);
    expect(second.body.map(({ name }: { name: string }) => name)).toEqual(['n0']);
    expect(second.headers.get('link')).toBeNull();
    expect(first.headers.get('x-total-count')).toBeNull();
  });

  it('has no next page when the last row is on this one', async () => {
    await using w = await world({ plugins });
    await given(['a', 'b'], w);
    expect(nextOf((await w.request('GET', '/api/stream?limit=2')).headers)).toBeUndefined();
    expect(nextOf((await w.request('GET', '/api/stream?limit=1')).headers)).toBeDefined();
  });

  it('keeps the query in the link, and goes through all of it', async () => {
    await using w = await world({ plugins });
    await given(['a x', 'b', 'c x', 'd x'], w);
    let path: string | undefined = `${filtered([{ id: 'name', value: ' X' }])}&limit=1&streamsonly=1`;
    const seen: string[] = [];
    while (path) {
      const { headers, body }: Awaited<ReturnType<World['request']>> = await w.request('GET', path);
      seen.push(...body.map(({ name }: { name: string }) => name));
      path = nextOf(headers);
    }
    expect(seen).toEqual(['a x', 'c x', 'd x']);
  });

  it('is counted when asked, whatever the page', async () => {
    await using w = await world({ plugins });
    await given(['a', 'b', 'ab'], w);
    const count = async (path: string) => (await w.request('GET', path)).headers.get('x-total-count');
    expect(await count('/api/stream?count=1&limit=1')).toBe('3');
    expect(await count('/api/stream?count=true&sessionsonly=1')).toBe('0');
    expect(await count(`${filtered([{ id: 'name', value: 'a' }])}&count=1&limit=1`)).toBe('2');
    expect(await count('/api/stream?count=0')).toBeNull();
  });

  it.each([
    ['order=createdAt-true', 'b C a'],
    ['order=createdAt-false', 'a C b'],
    ['order=name-false', 'C a b'],
    ['order=name-true', 'b a C'],
    ['order=createdAt-false,name-true', 'a C b'],
    ['name=asc', 'C a b'],
    ['name=desc', 'b a C'],
    ['name=c', 'C b a'],
    ['name=', 'b C a'],
    ['limit=1', 'b'],
  ])('is ordered by %s', async (query, names) => {
    await using w = await world({ plugins });
    await given(['a', 'C', 'b'], w);
    expect(await namesOf(`/api/stream?${query}`, w)).toBe(names);
  });

  it('ranks the same name, then those that begin with it, then those that contain it, then the others', async () => {
    await using w = await world({ plugins });
    await given(['Cam', 'other', 'webcam', 'camera', 'cam', 'another', 'CAM-2', 'my-cam'], w);
    const ranked = 'cam Cam CAM-2 camera my-cam webcam another other';
    expect(await namesOf('/api/stream?name=cam', w)).toBe(ranked);
    const seen: string[] = [];
    for (let path: string | undefined = '/api/stream?name=cam&limit=1'; path; ) {
      const { headers, body }: Awaited<ReturnType<World['request']>> = await w.request('GET', path);
      seen.push(body[0].name);
      path = nextOf(headers);
    }
    expect(seen.join(' ')).toBe(ranked);
  });

  it.each([
    ['limit=0', 'limit: expected a whole number from 1 to 1000'],
    ['limit=1001', 'limit: expected a whole number from 1 to 1000'],
    ['order=name', 'order: expected field-true (descending) or field-false, with commas'],
    ['order=', 'order: expected field-true (descending) or field-false, with commas'],
    ['order=isActive-true', 'order: lists cannot be ordered by isActive; they can by createdAt, name, id'],
    ['order=name-true,name-false', 'order: name is named twice'],
    ['order=name-true&name=x', 'order: cannot be combined with name'],
    ['cursor=', 'cursor: expected one from the Link header of this list, in the same order'],
    ['cursor=bm90IG9uZQ', 'cursor: expected one from the Link header of this list, in the same order'],
    ['count=yes', 'count: expected 1 or 0'],
    ['streamsonly=2', 'streamsonly: expected 1 or 0'],
    ['streamsonly=1&sessionsonly=1', 'streamsonly, sessionsonly: expected one of them at most'],
    ['filters=%7B', 'filters: expected JSON, [{"id": "<field>", "value": <value>}, …]'],
    ['filters=%7B%7D', 'filters: expected [{"id": "<field>", "value": <value>}, …]'],
    ['filters=%5B1%5D', 'filters.0: expected {"id", "value"}'],
    ['filters=%5B%7B%22value%22:1%7D%5D', 'filters.0.id: expected the name of a field'],
  ])('refuses %s with 422', async (query, problem) => {
    const w = await unchanged();
    const { status, body } = await w.request('GET', `/api/stream?${query}`);
    expect([status, body]).toEqual([422, { code: 'query.invalid', errors: [problem] }]);
  });

  it('refuses a cursor that was changed, cut, or made for another order', async () => {
    await using w = await world({ plugins });
    await given(['a', 'b'], w);
    const next = nextOf((await w.request('GET', '/api/stream?limit=1')).headers) ?? '';
    const cursor = new URL(next, 'http://x').searchParams.get('cursor') ?? '';
    const status = async (query: string) => (await w.request('GET', `/api/stream?${query}`)).status;
    expect(await status(`cursor=${cursor}`)).toBe(200);
    expect(await status(`cursor=${cursor}&order=createdAt-false`)).toBe(422);
    expect(await status(`cursor=${cursor}&name=asc`)).toBe(422);
    expect(await status(`cursor=${cursor.slice(0, -2)}`)).toBe(422);
    const [mark, at, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const changed = Buffer.from(JSON.stringify([mark, at + 1, id])).toString('base64url');
    expect(await status(`cursor=${changed}`)).toBe(422);
  });

  it("shows nothing of another account's", async () => {
    await using w = await world({ plugins });
    const { id } = await w.given.stream({ name: 'mine' });
    const row = await w.store.resources.get('stream', id);
    if (!row) throw new Error('no row');
    const theirs = {
      ...row,
      ...{ kind: 'stream', id: 'theirs', account: 'other', indexes: { role: 'session' } },
    };
    const body = JSON.stringify({ ...JSON.parse(row.body), id: 'theirs', account: 'other', parentId: id });
    await w.store.write({ at: w.now(), rows: [{ ...theirs, body, revision: 0 }], events: [] });
    for (const query of ['', 'name=mine', 'order=name-true', 'order=id-true', 'streamsonly=0']) {
      expect(await namesOf(`/api/stream?${query}`, w)).toBe('mine');
    }
    expect(await namesOf('/api/session', w)).toBe('');
    expect((await w.request('GET', '/api/session/theirs')).body.code).toBe('session.not_found');
    expect((await w.request('GET', '/api/stream?count=1')).headers.get('x-total-count')).toBe('1');
  });
});

describe('filters', () => {
  it('are by what the stream object shows', async () => {
    await using w = await world({ plugins });
    const a = await w.given.stream({ name: 'Alpha', record: true });
    await w.advance('1500ms');
    const b = await w.given.stream({ name: 'beta', suspended: true });
    await w.advance('1s');
    const c = await w.given.stream({ name: 'Gamma' });
    const session = (await w.given.broadcast(c)).grant.sessionId;
    const by = (id: string, value: unknown) => namesOf(filtered([{ id, value }]), w);
    expect(await by('name', 'AL')).toBe('Alpha');
    expect(await by('name', 'ta')).toBe('beta');
    expect(await by('id', a.id.slice(3, 20))).toBe('Alpha');
    expect(await by('isActive', true)).toBe('Gamma Gamma');
    expect(await by('isActive', false)).toBe('Alpha beta');
    expect(await by('suspended', true)).toBe('beta');
    expect(await by('record', true)).toBe('Alpha');
    expect(await by('record', false)).toBe('Gamma Gamma beta');
    expect(await by('parentId', c.id)).toBe('Gamma');
    expect(await by('playbackId', c.playbackId.toUpperCase())).toBe('Gamma Gamma');
    expect(await by('userId', a.userId)).toBe('Alpha Gamma Gamma beta');
    expect(await by('createdAt', b.createdAt)).toBe('beta');
    expect(await by('createdAt', { gt: a.createdAt })).toBe('Gamma Gamma beta');
    expect(await by('createdAt', { gt: a.createdAt, lte: b.createdAt })).toBe('beta');
    expect(await by('createdAt', { lt: c.createdAt })).toBe('Alpha beta');
    expect(await by('createdAt', { gte: b.createdAt + 0.5 })).toBe('Gamma Gamma');
    expect(await by('createdAt', a.createdAt + 0.5)).toBe('');
    const both = [
      { id: 'isActive', value: true },
      { id: 'id', value: session },
    ];
    expect(await namesOf(filtered(both), w)).toBe('Gamma');
  });

  it.each([
    [{ id: 'colour', value: 'x' }, /^filters: lists cannot be filtered by colour; they can by id, name, /],
    [{ id: 'constructor', value: 'x' }, /cannot be filtered by constructor/],
    [{ id: 'userTags', value: 'x' }, /cannot be filtered by userTags/],
    [{ id: 'name', value: 1 }, /^filters: name: expected text that it contains$/],
    [{ id: 'isActive', value: 'true' }, /^filters: isActive: expected true or false$/],
    [{ id: 'record', value: 1 }, /^filters: record: expected true or false$/],
    [
      { id: 'createdAt', value: '1' },
      /^filters: createdAt: expected a number, or an object of gt, gte, lt, lte$/,
    ],
    [{ id: 'createdAt', value: { above: 1 } }, /^filters: createdAt: expected a number/],
    [{ id: 'createdAt', value: {} }, /^filters: createdAt: expected a number/],
    [{ id: 'createdAt', value: { gt: '1' } }, /^filters: createdAt: expected a number/],
    [{ id: 'name' }, /^filters: name: expected text/],
    [{ id: 'name', value: 'x', not: true }, /^filters\.0\.not: unknown field$/],
  ])('refuse %j', async (filter, problem) => {
    const w = await unchanged();
    const { status, body } = await w.request('GET', filtered([filter]));
    expect([status, body.code]).toEqual([422, 'query.invalid']);
    expect(body.errors).toEqual([expect.stringMatching(problem)]);
  });

  it('refuse more than twenty, and the field of a plugin that is off', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'recordings') });
    const one = { id: 'name', value: 'a' };
    expect((await w.request('GET', filtered(new Array(20).fill(one)))).status).toBe(200);
    const many = await w.request('GET', filtered(new Array(21).fill(one)));
    expect(many.body.errors).toEqual(['filters: expected at most 20']);
    expect((await w.request('GET', filtered([{ id: 'record', value: true }]))).status).toBe(422);
    const { id } = await w.given.stream();
    const sessions = await w.request('GET', `/api/stream/${id}/sessions?record=1`);
    expect([sessions.status, sessions.body.errors]).toEqual([422, ['record: unknown field']]);
  });
});

describe('sessions', () => {
  it('are listed with streams, alone, by parent, and by whether they are recorded', async () => {
    await using w = await world({ plugins });
    const one = await w.given.stream({ name: 'one' });
    const other = await w.given.stream({ name: 'other', record: true });
    const ended = await w.given.broadcast(one);
    ended.end({ clean: true });
    await w.settle();
    await w.request('PATCH', `/api/stream/${one.id}`, { body: { record: true } });
    await w.advance('10m');
    const recorded = (await w.given.broadcast(one)).grant.sessionId;
    await w.given.broadcast(other);
    const ids = async (path: string) => {
      const { body } = await w.request('GET', path);
      return body.map(({ id }: { id: string }) => id);
    };
    expect(await ids('/api/stream')).toHaveLength(5);
    expect(await ids('/api/stream?streamsonly=1')).toHaveLength(2);
    expect(await ids('/api/stream?sessionsonly=1')).toHaveLength(3);
    expect(await ids('/api/session')).toEqual(await ids('/api/stream?sessionsonly=1'));
    expect(await ids('/api/stream?active=1')).toHaveLength(4);
    expect(await ids('/api/stream?active=1&sessionsonly=1&limit=1')).toHaveLength(1);
    expect(await ids('/api/stream?active=1&streamsonly=1&name=asc')).toEqual([one.id, other.id]);
    expect(await ids(`/api/stream/${one.id}/sessions`)).toEqual([recorded, ended.grant.sessionId]);
    expect(await ids(`/api/stream/${one.id}/sessions?record=1`)).toEqual([recorded]);
    expect(await ids(`/api/stream/${one.id}/sessions?record=false`)).toEqual([ended.grant.sessionId]);
    expect(await ids(`/api/stream/${one.id}/sessions?name=asc&limit=1`)).toEqual([ended.grant.sessionId]);
    expect(await ids(`/api/stream/${recorded}/sessions`)).toEqual([]);
    expect((await w.request('GET', `/api/stream/${one.id}/sessions?record=2`)).status).toBe(422);
    expect((await w.request('GET', '/api/stream/none/sessions')).status).toBe(404);
  });

  it('leave the list of what is on the air when they end', async () => {
    await using w = await world({ plugins });
    const publish = await w.given.broadcast(await w.given.stream());
    const active = async () => (await w.request('GET', '/api/stream?active=1')).body.length;
    expect(await active()).toBe(2);
    publish.end({ clean: false });
    await w.advance('29s');
    expect(await active()).toBe(2);
    await w.advance('1s');
    expect(await active()).toBe(0);
  });

  it('are read by their own path, where parents are unknown', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const { sessionId } = (await w.given.broadcast(stream)).grant;
    const answer = await w.request('GET', `/api/session/${sessionId}`);
    expect(answer.body).toEqual((await w.request('GET', `/api/stream/${sessionId}`)).body);
    expect(answer.body.parentId).toBe(stream.id);
    for (const id of [stream.id, 'none']) {
      const { status, body } = await w.request('GET', `/api/session/${id}`);
      expect([status, body.code]).toEqual([404, 'session.not_found']);
    }
    for (const path of ['/api/session', `/api/session/${sessionId}`]) {
      expect((await w.request('GET', path, { key: null })).status).toBe(401);
    }
  });
});

describe('a walk through 140 by sevens while others insert and delete', () => {
  it.each(walks)('sees each that was there throughout exactly once, %s', (_, query) => walk(query, 140));
});
