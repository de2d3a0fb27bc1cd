import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { nameSchema } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { idSchema, json, momentSchema, nothing } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { FieldSet } from '../../core/plugin/resource.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { type AccountDocument, documentOf, rowOf } from './account-document.ts';
import { changedAccounts } from './account-fields.ts';
import { account } from './contract.ts';

/**
 * Id of the account of the bootstrap key; created at the first start. When nodes start at the same time, the singleton row lets
 * only one of them create it.
 */
export async function adminAccount(kit: Kit): Promise<string> {
  const stored = await kit.resources.find('account', 'role', 'admin');
  if (stored) return stored.id;
  const admin: AccountDocument = { id: uuid(), name: 'admin', createdAt: kit.clock.now() };
  const { id, createdAt } = admin;
  const place = { kind: 'singleton', id: 'admin-account', account: id, createdAt, name: '', revision: 0 };
  const rows = [rowOf(admin, { isAdmin: true }), { ...place, body: JSON.stringify({ id }), indexes: {} }];
  if ((await kit.resources.write({ rows, events: [] })) === 'ok') return id;
  const made = await kit.resources.find('account', 'role', 'admin');
  if (!made) throw new Error('the admin account was neither written nor there');
  return made.id;
}

/** Fields by which accounts are filtered. */
const filterFields = {
  id: { type: 'string' },
  name: { type: 'string' },
  createdAt: { type: 'number' },
} as const;

/** `/api/account`: made and changed by keys of the admin account. */
export function accountRoutes(kit: Kit): AnyElysia {
  const fields = kit.resources.fields(account);
  const { keyed, once } = keyedRoutes(kit);
  const { creation, change, shown } = accountShape(fields);
  const present = (document: AccountDocument) => presentAccount(document, fields);
  const list = resourceList({
    kind: 'account',
    fields: filterFields,
    caller: kit.caller,
    resources: kit.resources,
  });
  return new Elysia()
    .get(
      '/api/account',
      keyed(({ request, principal }) => {
        onlyAdmin(principal, 'list accounts');
        return list(request, { present: (row) => present(documentOf(row)) });
      }),
      says('Lists accounts; only for keys of the admin account. Parameters as for streams.', {
        name: 'listAccounts',
        query: listParameters(filterFields),
        answers: { 200: listAnswer(shown) },
        faults: ['query.invalid'],
      }),
    )
    .post(
      '/api/account',
      once(
        async ({ request, principal, id }) => {
          onlyAdmin(principal, 'create accounts');
          const body = await creation.read(request);
          return Response.json(present(await createAccount(body, { kit, id, principal })), { status: 201 });
        },
        { isAudited: true },
      ),
      says('Creates an account; only for keys of the admin account. 201 with the account.', {
        name: 'createAccount',
        body: creation,
        answers: { 201: json(shown, 'The account.') },
        faults: fields.faults,
      }),
    )
    .get(
      '/api/account/:id',
      keyed(async ({ params: { id = '' }, principal }) => {
        const isVisible = principal.isAdmin || principal.accountId === id;
        const row = isVisible ? await kit.resources.get('account', id) : undefined;
        if (!row) throw notFound(id);
        return Response.json(present(documentOf(row)));
      }),
      says('One account: that of the API key, or any for keys of the admin account.', {
        name: 'getAccount',
        answers: { 200: json(shown, 'The account.') },
        faults: ['account.not_found'],
      }),
    )
    .patch(
      '/api/account/:id',
      keyed(
        async ({ request, params: { id = '' }, principal }) => {
          // Other accounts are as unknown as those that never were.
          if (!principal.isAdmin && principal.accountId !== id) throw notFound(id);
          onlyAdmin(principal, 'change accounts');
          await changeAccount(id, { body: (await change.read(request)) as AccountBody, kit, principal });
          return new Response(null, { status: 204 });
        },
        { isAudited: true },
      ),
      says(
        'Changes the fields that the body names; only for keys of the admin account. A field that is null has the default of the deployment again. 204.',
        {
          name: 'changeAccount',
          body: change,
          answers: { 204: nothing },
          faults: ['account.not_found', 'account.busy', ...fields.faults],
        },
      ),
    );
}

/** What requests and answers look like, with the fields of other plugins. */
function accountShape(fields: FieldSet) {
  const extended = optionally(fields.schemas);
  const own = { id: idSchema, name: accountName, createdAt: momentSchema };
  const shown: TObject = object({ ...own, ...optionally(fields.shown) }, { $id: 'Account' });
  const readOnly = ['id', 'createdAt'];
  return {
    creation: bodyReader({ name: accountName, ...extended }, { readOnly }),
    change: bodyReader({ name: Type.Optional(accountName), ...extended } as Record<string, TSchema>, {
      readOnly,
    }),
    shown,
  };
}

const accountName = nameSchema('Acme Films');

function optionally(schemas: Readonly<Record<string, TSchema>>): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, Type.Optional(schema)]));
}

function presentAccount({ id, name, createdAt, fields: values = {} }: AccountDocument, fields: FieldSet) {
  return { id, name, createdAt, ...fields.present(values) };
}

/** What a client may set, checked against the schema. */
interface AccountBody extends Record<string, unknown> {
  readonly name?: string;
}

/** Returns the stored one if an earlier attempt of the same request has created it. */
async function createAccount(
  body: AccountBody & { readonly name: string },
  { kit, id, principal }: { kit: Kit; id: string; principal: Principal },
): Promise<AccountDocument> {
  // What its fields make belongs to the account itself.
  const own = { ...principal, accountId: id };
  const fields = await kit.resources.fields(account).named(body, { principal: own, stored: {} });
  const document: AccountDocument = { id, name: body.name, createdAt: kit.clock.now(), fields };
  const rows = [rowOf(document, { isAdmin: false })];
  if ((await kit.resources.write({ rows, events: [] })) === 'ok') return document;
  const made = await kit.resources.get('account', id);
  if (!made) throw new Error(`the account ${id} was neither written nor there`);
  return documentOf(made);
}

/** How often a change is tried. Each time another request changed the account first. */
const attempts = 5;

/** Faults: `account.not_found` (404), `account.busy` (409), those of the fields. */
async function changeAccount(
  id: string,
  { body, kit, principal }: { body: AccountBody; kit: Kit; principal: Principal },
): Promise<void> {
  const known = kit.use(changedAccounts);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const stored = await kit.resources.get('account', id);
    if (!stored) throw notFound(id);
    const row = await changedRow(stored, { body, kit, principal });
    // Also forgotten when the outcome of the write is unknown.
    const written = kit.resources.write({ rows: [row], events: [] }).finally(() => known.forget(id));
    if ((await written) === 'ok') return;
  }
  const message = `Account ${idOrNone(id)} is being changed by other requests. Try again.`;
  throw new Fault('account.busy', { status: 409, message });
}

async function changedRow(
  stored: StoredResource,
  { body, kit, principal }: { body: AccountBody; kit: Kit; principal: Principal },
) {
  const before = documentOf(stored);
  const own = { ...principal, accountId: stored.id };
  const named = await kit.resources
    .fields(account)
    .named(body, { principal: own, stored: before.fields ?? {} });
  const fields = { ...before.fields };
  for (const [plugin, values] of Object.entries(named)) fields[plugin] = { ...fields[plugin], ...values };
  const document = { ...before, ...(body.name !== undefined && { name: body.name }), fields };
  // Only the admin account changes accounts.
  return rowOf(document, { isAdmin: stored.id === principal.accountId, revision: stored.revision });
}

function onlyAdmin({ isAdmin }: Principal, what: string): void {
  if (!isAdmin) throw notAllowed(`only keys of the admin account can ${what}`);
}

function notFound(id: string): Fault {
  return new Fault('account.not_found', { status: 404, message: `There is no account ${idOrNone(id)}.` });
}
