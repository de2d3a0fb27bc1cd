import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { authenticate, authenticator, notAllowed } from '../../core/auth.ts';
import { bodyReader } from '../../core/body.ts';
import { says } from '../../core/http.ts';
import { idempotent } from '../../core/idempotency.ts';
import { uuid } from '../../core/ids.ts';
import { nameSchema } from '../../core/name.ts';
import { idSchema, json, momentSchema } from '../../core/operation.ts';
import type { Kit } from '../../core/plugin.ts';

/** Id of the account that the bootstrap key belongs to; made at the first start. */
export async function adminAccount(kit: Kit): Promise<string> {
  const stored = await kit.resources.find('account', 'role', 'admin');
  return stored ? stored.id : (await createAccount(kit, { id: uuid(), name: 'admin', role: 'admin' })).id;
}

export function accountRoutes(kit: Kit): AnyElysia {
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  const creation = bodyReader({ name: nameSchema('Acme Films') }, { readOnly: ['id', 'createdAt'] });
  return new Elysia().post(
    '/api/account',
    async ({ request }) => {
      const principal = await authenticate(request, keys);
      if (!principal.isAdmin) throw notAllowed('accounts are made with a key of the admin account');
      return once(request, {
        principal,
        async run({ id }) {
          const { name } = await creation.read(request);
          return Response.json(await createAccount(kit, { id, name }), { status: 201 });
        },
      });
    },
    says('Creates an account; for keys of the admin account. 201 with the account.', {
      name: 'createAccount',
      body: creation,
      answers: { 201: json(accountSchema, 'The account.') },
    }),
  );
}

const accountSchema = Type.Object(
  { id: idSchema, name: Type.String({ examples: ['Acme Films'] }), createdAt: momentSchema },
  { $id: 'Account', additionalProperties: false },
);

interface Account {
  readonly id: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** An account that an earlier attempt of the same request has made is left as it is. */
async function createAccount(
  kit: Kit,
  options: { id: string; name: string; role?: string },
): Promise<Account> {
  const { id, name, role } = options;
  const account: Account = { id, name, createdAt: kit.clock.now() };
  const written = await kit.resources.write({
    rows: [
      {
        kind: 'account',
        id: account.id,
        account: account.id,
        createdAt: account.createdAt,
        name,
        body: JSON.stringify(account),
        indexes: role === undefined ? {} : { role },
        revision: 0,
      },
    ],
    events: [],
  });
  if (written === 'ok') return account;
  const made = await kit.resources.get('account', id);
  if (!made) throw new Error(`the account ${id} was neither written nor there`);
  return JSON.parse(made.body) as Account;
}
