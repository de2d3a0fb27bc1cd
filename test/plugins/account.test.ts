import { Type } from '@sinclair/typebox';
import { expect, it } from 'vitest';
import { authenticator } from '../../core/http/auth.ts';
import { type AnyPlugin, definePlugin } from '../../core/plugin/plugin.ts';
import { field } from '../../core/plugin/resource.ts';
import { type Accounts, account, accounts } from '../../plugins/accounts/contract.ts';
import { allPlugins, anotherAccount } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const shipped = await allPlugins();

/** Adds a field to accounts, as plugins do that have settings for each of them. */
function colourPlugin() {
  let known: Accounts | undefined;
  const plugin = definePlugin({
    id: 'colours',
    summary: 'a colour for each account',
    needs: [authenticator, accounts],
    extends: [
      field<string | null | undefined>(account, 'colour', {
        schema: Type.Union([Type.Literal('red'), Type.Literal('blue'), Type.Null()]),
        initial: undefined,
      }),
    ],
    start(kit) {
      known = kit.use(accounts);
    },
  });
  return { plugins: [...shipped, plugin as AnyPlugin], fields: async (id: string) => known?.fields(id) };
}

it('is listed, shown and changed by the admin, with the fields of plugins', async () => {
  const { plugins, fields } = colourPlugin();
  await using w = await world({ plugins });
  const other = await anotherAccount(w);
  const path = `/api/account/${other.id}`;
  const shown = async () => (await w.request('GET', path)).body;
  const before = await shown();
  expect(before).toEqual({ id: other.id, name: 'Another', createdAt: w.now() });
  expect(await fields(other.id)).toEqual({});

  expect((await w.request('PATCH', path, { body: { colour: 'red', name: 'Acme' } })).status).toBe(204);
  expect(await shown()).toEqual({ ...before, colour: 'red', name: 'Acme' });
  expect(await fields(other.id)).toEqual({ colour: 'red' });
  const list = await w.request('GET', '/api/account?order=name-false');
  expect(list.body.map(({ name }: { name: string }) => name)).toEqual(['Acme', 'admin']);

  // A key of the account reads it, and changes nothing.
  expect((await w.request('GET', path, { key: other.key })).body).toEqual(await shown());
  const refused = await w.request('PATCH', path, { key: other.key, body: { colour: 'blue' } });
  expect([refused.status, refused.body.code]).toEqual([403, 'auth.not_allowed']);
  expect((await w.request('GET', '/api/account', { key: other.key })).status).toBe(403);

  expect((await w.request('PATCH', path, { body: { colour: null } })).status).toBe(204);
  expect(await shown()).toEqual({ ...before, name: 'Acme' });
  expect((await w.request('PATCH', path, { body: { colour: 'green' } })).status).toBe(422);
  const actions = (await w.request('GET', '/api/audit')).body.filter(
    ({ action }: { action: string }) => action === 'PATCH /api/account/{id}',
  );
  expect(actions).toHaveLength(2);
  expect(actions[0].target).toBe(other.id);
});

it('is unknown to keys of another, and its fields are unknown without their plugin', async () => {
  await using w = await world({ plugins: shipped });
  const other = await anotherAccount(w);
  const admin = (await w.request('GET', '/api/api-token/current')).body.userId;
  for (const id of [admin, 'nobody']) {
    const answer = await w.request('GET', `/api/account/${id}`, { key: other.key });
    expect([answer.status, answer.body.code]).toEqual([404, 'account.not_found']);
  }
  expect((await w.request('PATCH', '/api/account/nobody', { body: { name: 'x' } })).status).toBe(404);
  const answer = await w.request('PATCH', `/api/account/${other.id}`, { body: { colour: 'red' } });
  expect([answer.status, answer.body.errors[0]]).toEqual([422, expect.stringContaining('colour')]);
});

it('stays that of the admin when it is changed', async () => {
  await using w = await world({ plugins: colourPlugin().plugins, durable: true });
  const { userId } = (await w.request('GET', '/api/api-token/current')).body;
  const changes = ['Ours', 'Mine'].map((name) =>
    w.request('PATCH', `/api/account/${userId}`, { body: { name, colour: 'blue' } }),
  );
  expect((await Promise.all(changes)).map(({ status }) => status)).toEqual([204, 204]);
  await w.crash({ downFor: '1s' });
  expect((await w.request('GET', '/api/api-token/current')).body).toMatchObject({
    userId,
    isAdmin: true,
  });
  expect((await w.request('GET', '/api/account')).body).toHaveLength(1);
});

it('is made with the fields that the request names', async () => {
  await using w = await world({ plugins: colourPlugin().plugins });
  const made = await w.request('POST', '/api/account', { body: { name: 'Acme', colour: 'red' } });
  expect([made.status, made.body]).toEqual([
    201,
    { id: made.body.id, name: 'Acme', createdAt: w.now(), colour: 'red' },
  ]);
});
