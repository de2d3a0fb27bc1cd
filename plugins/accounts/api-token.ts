import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type Access, accessMethods, excessOf, resourcePattern } from '../../core/http/access.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { type Attempt, shownOnce } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { idSchema, json, momentSchema, nothing } from '../../core/http/operation.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { apiKeys } from './api-keys.ts';
import type { AccountsKit } from './config.ts';
import { documentOf, newKey, newRow, presentToken, type TokenDocument } from './token-document.ts';

/** `/api/api-token/current`: what the key of a request may do. */
export function currentTokenRoute(kit: AccountsKit): AnyElysia {
  const { keyed } = keyedRoutes(kit, { isForAnyKey: true });
  return new Elysia().get(
    '/api/api-token/current',
    keyed(({ principal }) => Response.json(presentCurrent(principal))),
    says('The API key of the request, and what it may do. Access rules do not limit this call.', {
      name: 'getCurrentApiToken',
      answers: { 200: json(currentSchema, 'The API key.') },
    }),
  );
}

/** How many API keys each account may have. */
export function keyPlaces({ clock, config: { maxKeys }, resources }: AccountsKit): Quota {
  return quota({
    clock,
    most: maxKeys,
    count: (account) => resources.count('api-token', { account }),
    full: () => tooMany(maxKeys),
  });
}

/** `/api/api-token`: the API keys of an account. */
export function tokenRoutes(kit: AccountsKit, { places }: { places: Quota }): AnyElysia {
  const keys = kit.use(apiKeys);
  const { keyed, once } = keyedRoutes(kit);
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
      once(
        async (call) => {
          const body = await creation.read(call.request);
          checkOrigins(body.access);
          return createToken(body, { call, kit, places });
        },
        { isSecret: true },
      ),
      says('Creates an API key. 201 with the secret `key`, which is never shown again.', {
        name: 'createApiToken',
        body: creation,
        answers: { 201: json(newTokenSchema, 'The API key with its secret.') },
        faults: ['account.unknown', 'api_token.too_many', 'idempotency.shown_once'],
      }),
    )
    .get(
      '/api/api-token',
      keyed(({ request, principal: { accountId: account } }) =>
        list(request, { account, present: (row) => presentToken(documentOf(row)) }),
      ),
      says('Lists API keys without their secrets; parameters as for streams.', {
        name: 'listApiTokens',
        query: listParameters(fields),
        answers: { 200: listAnswer(tokenSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/api-token/:id',
      keyed(async ({ params, principal }) =>
        Response.json(presentToken(await tokensOf(principal, kit).get(params.id))),
      ),
      says('One API key, without its secret.', {
        name: 'getApiToken',
        answers: { 200: json(tokenSchema, 'The API key.') },
        faults: ['api_token.not_found'],
      }),
    )
    .delete(
      '/api/api-token/:id',
      keyed(async ({ params, principal }) => {
        // Also forgotten when the outcome of the write is unknown.
        await tokensOf(principal, kit)
          .remove(params.id)
          .finally(() => keys.forget());
        places.gone(principal.accountId);
        keys.revoked(params.id);
        return new Response(null, { status: 204 });
      }),
      says('Deletes an API key: it stops working at once, and event streams opened with it end. 204.', {
        name: 'deleteApiToken',
        answers: { 204: nothing },
        faults: ['api_token.not_found'],
      }),
    );
}

async function createToken(
  body: { name?: string; access?: Access; accountId?: string },
  { call, kit, places }: { call: Call & Attempt; kit: AccountsKit; places: Quota },
): Promise<Response> {
  const { principal: maker, id, isRepeat } = call;
  const document: TokenDocument = {
    id,
    account: await accountFor(maker, { accountId: body.accountId, kit }),
    name: body.name ?? 'API key',
    access: accessFor(maker, body.access),
    createdAt: kit.clock.now(),
  };
  if (isRepeat && (await kit.resources.get('api-token', id))) throw shownOnce(id);
  await places.admit(document.account);
  const key = newKey();
  const written = await kit.resources.write({ rows: [newRow(document, key)], events: [] });
  // An earlier attempt has created it; its secret was in that answer.
  if (written === 'conflict') throw shownOnce(id);
  return Response.json({ ...presentToken(document), key }, { status: 201 });
}

function tokensOf({ accountId: account }: Principal, { resources }: Kit) {
  return plainResources(plainToken, { account, resources });
}

/** Keys do not change: one that another request changes is being deleted by it. */
const plainToken: PlainResource<TokenDocument> = { kind: 'api-token', notFound, busy: notFound };

async function accountFor(
  maker: Principal,
  options: { accountId: string | undefined; kit: Kit },
): Promise<string> {
  const { accountId, kit } = options;
  if (accountId === undefined) return maker.accountId;
  if (!maker.isAdmin) throw notAllowed('accountId is only for keys of the admin account');
  if (await kit.resources.get('account', accountId)) return accountId;
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

/** Of one API key: each request may have to be compared with all of them. */
const maxRules = 20;
const maxOrigins = 50;
/** Of one rule. */
const maxResources = 20;
/** Characters of a resource or an origin. */
const maxLength = 200;

const rule = object({
  resources: Type.Array(
    Type.String({
      maxLength,
      pattern: resourcePattern,
      expected: `a path below /api like stream, stream/:id or stream/*, at most ${maxLength} characters`,
      examples: ['stream/*'],
    }),
    { maxItems: maxResources },
  ),
  methods: Type.Optional(
    Type.Array(oneOf(accessMethods, { expected: `one of ${accessMethods.join(', ')}` }), {
      maxItems: accessMethods.length,
    }),
  ),
});

const origin = Type.String({
  maxLength,
  pattern: '^(?:\\*|[a-z][a-z0-9+.-]*://[^\\s/?#@]+)$',
  expected: `an origin like https://example.com, or *, at most ${maxLength} characters`,
  examples: ['https://studio.example'],
});

const access = object({
  rules: Type.Optional(Type.Array(rule, { maxItems: maxRules })),
  cors: Type.Optional(object({ allowedOrigins: Type.Array(origin, { maxItems: maxOrigins }) })),
});

/** Fields of a new key that a client may set. */
const tokenFields = {
  name: Type.Optional(nameSchema('Studio')),
  access: Type.Optional(access),
  accountId: optional.string({
    maxLength: maxIdLength,
    description: 'Account of the new key; only for keys of the admin account.',
    examples: idSchema.examples,
  }),
};

const shown = {
  id: idSchema,
  name: Type.String({ examples: ['Studio'] }),
  userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
  access,
  createdAt: momentSchema,
};

/** An API key as the API shows it. */
const tokenSchema = Type.Object(shown, { $id: 'ApiToken', additionalProperties: false });
/** The same with its secret, in the answer that creates it. */
const newTokenSchema = object(
  { ...shown, key: Type.String({ description: 'The secret.', examples: ['mr_4WbDdZ2Yk0xq'] }) },
  { $id: 'NewApiToken' },
);

/** The key of a request as the API shows it. */
const currentSchema = object(
  {
    id: optional.string({ description: 'Absent for the bootstrap key.', examples: idSchema.examples }),
    name: shown.name,
    userId: shown.userId,
    isAdmin: Type.Boolean({ description: 'It is a key of the admin account.', examples: [false] }),
    access,
  },
  { $id: 'CurrentApiToken' },
);

function presentCurrent({ keyId: id, keyName: name, accountId, isAdmin, access: own }: Principal) {
  return { ...(id !== undefined && { id }), name, userId: accountId, isAdmin, access: own };
}

/** Refuses origins that no browser sends: with a default port, capitals or non-ASCII letters. */
function checkOrigins(given: Access | undefined): void {
  const problems = (given?.cors?.allowedOrigins ?? []).flatMap((text, index) => {
    if (!/^https?:/.test(text)) return [];
    const sent = URL.canParse(text) ? new URL(text).origin : undefined;
    if (sent === text) return [];
    const expected = sent === undefined ? 'expected an origin' : `expected ${sent}, as browsers send it`;
    return [`access.cors.allowedOrigins.${index}: ${expected}`];
  });
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}
