import { randomBytes } from 'node:crypto';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type Access, excessOf } from '../../core/http/access.ts';
import { authenticate, notAllowed, type Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { idempotent, shownOnce } from '../../core/http/idempotency.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json, nothing } from '../../core/http/operation.ts';
import { quota } from '../../core/http/quota.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { apiKeys } from './api-keys.ts';
import type { AccountsKit } from './config.ts';
import { documentOf, newRow, presentToken, type TokenDocument } from './token-document.ts';
import { checkOrigins, newTokenSchema, tokenFields, tokenSchema } from './token-schema.ts';

/** `/api/api-token`: the API keys of an account. */
export function tokenRoutes(kit: AccountsKit): AnyElysia {
  const keys = kit.use(apiKeys);
  const once = idempotent(kit);
  const { maxKeys } = kit.config;
  const places = quota({
    clock: kit.clock,
    most: maxKeys,
    count: (account) => kit.resources.count('api-token', { account }),
    full: () => tooMany(maxKeys),
  });
  const creation = bodyReader(tokenFields, { readOnly: ['id', 'userId', 'createdAt'] });

  const fields = {
    id: { type: 'string' },
    name: { type: 'string' },
    createdAt: { type: 'number' },
    userId: { type: 'string', path: ['account'] },
  } as const;
  const list = resourceList({ kind: 'api-token', fields, caller: kit.caller, resources: kit.resources });

  return new Elysia()
    .post(
      '/api/api-token',
      async ({ request }) => {
        const maker = await authenticate(request, keys);
        return once(request, {
          principal: maker,
          isSecret: true,
          async run({ id, isRepeat }) {
            const body = await creation.read(request);
            checkOrigins(body.access);
            const document: TokenDocument = {
              id,
              account: await accountFor(maker, { accountId: body.accountId, kit }),
              name: body.name ?? 'API key',
              access: accessFor(maker, body.access),
              createdAt: kit.clock.now(),
            };
            if (isRepeat && (await kit.resources.get('api-token', id, { isPlain: true })))
              throw shownOnce(id);
            await places.admit(document.account);
            const key = `mr_${randomBytes(32).toString('base64url')}`;
            const written = await kit.resources.write({ rows: [newRow(document, key)], events: [] });
            // An earlier attempt has created it; its secret was in that answer.
            if (written === 'conflict') throw shownOnce(id);
            return Response.json({ ...presentToken(document), key }, { status: 201 });
          },
        });
      },
      says('Creates an API key. 201 with the secret `key`, which is never shown again.', {
        name: 'createApiToken',
        body: creation,
        answers: { 201: json(newTokenSchema, 'The API key with its secret.') },
        faults: ['account.unknown', 'api_token.too_many', 'idempotency.shown_once'],
      }),
    )
    .get(
      '/api/api-token',
      async ({ request }) => {
        const { accountId } = await authenticate(request, keys);
        return list(request, { account: accountId, present: (row) => presentToken(documentOf(row)) });
      },
      says('Lists API keys without their secrets; parameters as for streams.', {
        name: 'listApiTokens',
        query: listParameters(fields),
        answers: { 200: listAnswer(tokenSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/api-token/:id',
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        return Response.json(presentToken(documentOf(await owned(principal, { id: params.id, kit }))));
      },
      says('One API key, without its secret.', {
        name: 'getApiToken',
        answers: { 200: json(tokenSchema, 'The API key.') },
        faults: ['api_token.not_found'],
      }),
    )
    .delete(
      '/api/api-token/:id',
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        const { id, account, createdAt, name, revision } = await owned(principal, { id: params.id, kit });
        const row = { kind: 'api-token', id, account, createdAt, name, body: null, indexes: {}, revision };
        // Keys do not change: after a conflict another request has deleted it.
        const written = await kit.resources.write({ rows: [row], events: [] }).finally(() => {
          // Also when the outcome of the write is unknown.
          keys.forget(id);
        });
        if (written === 'conflict') throw notFound(id);
        places.gone(account);
        keys.revoked(id);
        return new Response(null, { status: 204 });
      },
      says('Deletes an API key: it stops working at once, and event streams opened with it end. 204.', {
        name: 'deleteApiToken',
        answers: { 204: nothing },
        faults: ['api_token.not_found'],
      }),
    );
}

async function owned(principal: Principal, options: { id: string; kit: Kit }): Promise<StoredResource> {
  const row = await options.kit.resources.get('api-token', options.id, { isPlain: true });
  if (!row || row.account !== principal.accountId) throw notFound(options.id);
  return row;
}

async function accountFor(
  maker: Principal,
  options: { accountId: string | undefined; kit: Kit },
): Promise<string> {
  const { accountId, kit } = options;
  if (accountId === undefined) return maker.accountId;
  if (!maker.isAdmin) throw notAllowed('accountId is only for keys of the admin account');
  if (await kit.resources.get('account', accountId, { isPlain: true })) return accountId;
  throw new Fault('account.unknown', {
    status: 400,
    message: `accountId: there is no account ${idOrNone(accountId)}.`,
  });
}

function accessFor(maker: Principal, asked: Access | undefined): Access {
  if (asked === undefined) return maker.access;
  const excess = excessOf(asked, maker.access);
  if (excess !== undefined) throw notAllowed(`it cannot grant access that it does not have: ${excess}`);
  return asked;
}

function tooMany(most: number): Fault {
  return new Fault('api_token.too_many', {
    status: 403,
    message: `This account has ${most} API keys, the most it may have. Delete some first.`,
  });
}

function notFound(id: string): Fault {
  return new Fault('api_token.not_found', { status: 404, message: `There is no API key ${idOrNone(id)}.` });
}
