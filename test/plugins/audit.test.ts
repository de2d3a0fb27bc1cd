import { expect, it } from 'vitest';
import { type AuditKit, sweep } from '../../plugins/audit/entries.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

interface Entry {
  readonly id: string;
  readonly at: number;
  readonly actor: { keyId?: string; accountId?: string; ip?: string };
  readonly action: string;
  readonly target?: string;
  readonly detail: Record<string, unknown>;
}

const entries = async (w: World, query = '', key?: string): Promise<Entry[]> =>
  (await w.request('GET', `/api/audit${query}`, key === undefined ? {} : { key })).body;

it('says who made and deleted what, when and with which key', async () => {
  await using w = await world({ plugins });
  const { body: made } = await w.request('POST', '/api/api-token', { body: { name: 'Backend' } });
  const stream = await w.given.stream();
  await w.advance('1m');
  const { key } = made;
  await w.request('DELETE', `/api/stream/${stream.id}`, { key });
  expect((await w.request('DELETE', `/api/stream/${stream.id}`, { key })).status).toBe(404);
  await w.request('PATCH', `/api/stream/${stream.id}`, { key, body: {} });
  await w.advance('1s');
  await w.request('DELETE', `/api/api-token/${made.id}`);

  const all = await entries(w);
  expect(all.map(({ action, target, at }) => [action, target, at])).toEqual([
    ['DELETE /api/api-token/{id}', made.id, w.now()],
    ['DELETE /api/stream/{id}', stream.id, w.now() - 1000],
    ['POST /api/api-token', made.id, w.now() - 61_000],
  ]);
  expect(all[1]?.actor).toMatchObject({ keyId: made.id, accountId: made.userId });
  expect(all[0]?.actor).not.toHaveProperty('keyId');
  expect(JSON.stringify(all)).not.toContain(key);
});

it('notes a POST that is repeated with its Idempotency-Key once', async () => {
  await using w = await world({ plugins });
  const headers = { 'idempotency-key': 'one' };
  await w.request('POST', '/api/api-token', { body: {}, headers });
  expect((await w.request('POST', '/api/api-token', { body: {}, headers })).status).toBe(409);
  expect(await entries(w)).toHaveLength(1);
});

it('names every key that went with another, and who made accounts and stream keys', async () => {
  await using w = await world({ plugins });
  const { body: parent } = await w.request('POST', '/api/api-token', { body: {} });
  const made = await Promise.all(
    [1, 2].map(() => w.request('POST', '/api/api-token', { body: {}, key: parent.key })),
  );
  const stream = await w.given.stream();
  const { body: account } = await w.request('POST', '/api/account', { body: { name: 'Acme' } });
  await w.request('POST', `/api/stream/${stream.id}/rotate-key`);
  await w.request('DELETE', `/api/api-token/${parent.id}?cascade=1`);
  const all = await entries(w, '?limit=100');
  const targets = (action: string) => all.filter((one) => one.action === action).map(({ target }) => target);
  expect(targets('DELETE /api/api-token/{id}').toSorted()).toEqual(
    [parent, ...made.map(({ body }) => body)].map(({ id }) => id).toSorted(),
  );
  expect(targets('POST /api/account')).toEqual([account.id]);
  expect(targets('POST /api/stream/{id}/rotate-key')).toEqual([stream.id]);
});

it('keeps the entries of others when an account, or a stranger, makes too many', async () => {
  await using w = await world({ plugins });
  const other = await anotherAccount(w);
  const kept = await entries(w);
  await w.advance('1s');
  const key = other.key;
  for (let n = 0; n < 30; n += 1) {
    const { body } = await w.request('POST', '/api/api-token', { body: {}, key });
    await w.request('DELETE', `/api/api-token/${body.id}`, { key });
    await w.request('POST', '/api/sign-in', { key: '', body: { code: 'wrong' } });
    await w.advance('1m');
  }
  const { resources, write } = w.store;
  const kit = {
    config: { keep: '90d' },
    clock: { now: w.now },
    resources: {
      list: resources.list.bind(resources),
      count: resources.count.bind(resources),
      write: async (rows: Parameters<AuditKit['resources']['write']>[0]) =>
        (await write.call(w.store, { ...rows, at: w.now() })).outcome,
    },
  } as unknown as AuditKit;
  await sweep(kit, { most: 40, signal: new AbortController().signal });
  const left = await entries(w, '?limit=1000');
  expect(left).toHaveLength(40);
  expect(left.slice(-kept.length)).toEqual(kept);
});

it('notes sign-ins, also those that failed', async () => {
  await using w = await world({ plugins });
  const { body: maker } = await w.request('POST', '/api/api-token', { body: {} });
  await w.advance('1s');
  const { body } = await w.request('POST', '/api/sign-in-code', { key: maker.key });
  for (const status of [200, 403]) {
    await w.advance('1s');
    const answer = await w.request('POST', '/api/sign-in', { key: '', body: { code: body.code } });
    expect(answer.status).toBe(status);
  }
  const [failed, signedIn, code] = await entries(w);
  expect(failed).toMatchObject({ action: 'POST /api/sign-in', detail: { code: 'sign_in.refused' } });
  expect(failed?.actor).not.toHaveProperty('accountId');
  expect(signedIn).toMatchObject({ action: 'POST /api/sign-in', actor: { keyId: maker.id }, detail: {} });
  expect(code).toMatchObject({ action: 'POST /api/sign-in-code', actor: { keyId: maker.id } });
  expect(JSON.stringify(await entries(w))).not.toContain(body.code);
});

it('shows an account its own entries, the admin account all, and a key with rules none without `audit`', async () => {
  await using w = await world({ plugins });
  const other = await anotherAccount(w);
  const { body: stream } = await w.request('POST', '/api/stream', { key: other.key, body: { name: 'x' } });
  await w.request('DELETE', `/api/stream/${stream.id}`, { key: other.key });
  const theirs = await entries(w, '', other.key);
  expect(theirs.map(({ action }) => action)).toEqual(['DELETE /api/stream/{id}']);
  expect((await entries(w)).map(({ action }) => action)).toContain('DELETE /api/stream/{id}');
  for (const [resource, status] of [
    ['stream', 403],
    ['audit', 200],
  ] as const) {
    const access = { rules: [{ resources: [resource], methods: ['get'] }] };
    const { body } = await w.request('POST', '/api/api-token', { body: { access } });
    expect((await w.request('GET', '/api/audit', { key: body.key })).status).toBe(status);
  }
});

it('is filtered, and forgets after plugins.audit.keep', async () => {
  await using w = await world({ plugins, config: { audit: { keep: '2d' } } });
  const { body: one } = await w.request('POST', '/api/api-token', { body: {} });
  await w.advance('1d');
  const { body: two } = await w.request('POST', '/api/api-token', { body: {} });
  const query = (filter: object) => `?filters=${encodeURIComponent(JSON.stringify([filter]))}`;
  const targets = async (text = '') => (await entries(w, text)).map(({ target }) => target);
  expect(await targets(query({ id: 'target', value: one.id }))).toEqual([one.id]);
  expect(await targets(query({ id: 'at', value: { gte: w.now() } }))).toEqual([two.id]);
  await w.advance('25h');
  expect(await targets()).toEqual([two.id]);
  await w.advance('1d');
  expect(await targets()).toEqual([]);
});

it('goes without where the plugin is off', async () => {
  await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'audit') });
  const { body } = await w.request('POST', '/api/api-token', { body: {} });
  expect((await w.request('DELETE', `/api/api-token/${body.id}`)).status).toBe(204);
  expect((await w.request('GET', '/api/audit')).status).toBe(404);
});
