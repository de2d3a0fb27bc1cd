import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { uuid } from '../../core/base/ids.ts';
import { nameSchema } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { notAllowed } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { idSchema, json, momentSchema } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { ResourceCommit } from '../../core/ports/store.ts';

/**
 * Id of the account of the bootstrap key; created at the first start. When nodes start at the same time, the singleton row lets
 * only one of them create it.
 */
export async function adminAccount(kit: Kit): Promise<string> {
  const stored = await kit.resources.find('account', 'role', 'admin');
  if (stored) return stored.id;
  const account: Account = { id: uuid(), name: 'admin', createdAt: kit.clock.now() };
  const { id, createdAt } = account;
  const place = { kind: 'singleton', id: 'admin-account', account: id, createdAt, name: '', revision: 0 };
  const rows = [rowOf(account, { role: 'admin' }), { ...place, body: JSON.stringify({ id }), indexes: {} }];
  if ((await kit.resources.write({ rows, events: [] })) === 'ok') return id;
  const made = await kit.resources.find('account', 'role', 'admin');
  if (!made) throw new Error('the admin account was neither written nor there');
  return made.id;
}

export function accountRoutes(kit: Kit): AnyElysia {
  const { once } = keyedRoutes(kit);
  const creation = bodyReader({ name: nameSchema('Acme Films') }, { readOnly: ['id', 'createdAt'] });
  return new Elysia().post(
    '/api/account',
    once(
      async ({ request, principal, id }) => {
        if (!principal.isAdmin) throw notAllowed('only keys of the admin account can create accounts');
        const { name } = await creation.read(request);
        return Response.json(await createAccount(kit, { id, name }), { status: 201 });
      },
      { isAudited: true },
    ),
    says('Creates an account; only for keys of the admin account. 201 with the account.', {
      name: 'createAccount',
      body: creation,
      answers: { 201: json(accountSchema, 'The account.') },
    }),
  );
}

const accountSchema = object(
  { id: idSchema, name: Type.String({ examples: ['Acme Films'] }), createdAt: momentSchema },
  { $id: 'Account' },
);

interface Account {
  readonly id: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Returns the stored one if an earlier attempt of the same request has created it. */
async function createAccount(kit: Kit, options: { id: string; name: string }): Promise<Account> {
  const account: Account = { ...options, createdAt: kit.clock.now() };
  if ((await kit.resources.write({ rows: [rowOf(account, {})], events: [] })) === 'ok') return account;
  const made = await kit.resources.get('account', account.id);
  if (!made) throw new Error(`the account ${account.id} was neither written nor there`);
  return JSON.parse(made.body) as Account;
}

function rowOf(account: Account, indexes: Readonly<Record<string, string>>): ResourceCommit['rows'][number] {
  const { id, name, createdAt } = account;
  const body = JSON.stringify(account);
  return { kind: 'account', id, account: id, createdAt, name, body, indexes, revision: 0 };
}
