import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { type Access, accessMethods, resourcePattern } from '../../core/http/access.ts';
import { noted } from '../../core/http/audit.ts';
import type { Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { flagSchema, idSchema, json, momentSchema, nothing } from '../../core/http/operation.ts';
import { flagOf } from '../../core/http/query.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { apiKeys } from './api-keys.ts';
import type { AccountsKit } from './config.ts';
import { createToken, deleteToken, notFound } from './token-changes.ts';
import { documentOf, presentToken, type TokenDocument } from './token-document.ts';
import { Turns } from './turns.ts';

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
  const byMaker = new Turns();
  const creation = bodyReader(tokenFields, {
    readOnly: ['id', 'userId', 'createdAt', 'lastUsedAt', 'createdByKeyId'],
  });

  const fields = {
    id: { type: 'string' },
    name: { type: 'string' },
    createdAt: { type: 'number' },
    expiresAt: { type: 'number' },
    lastUsedAt: { type: 'number' },
    createdByKeyId: { type: 'string' },
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
          const created = await createToken(body, { call, kit, places, byMaker });
          return Response.json(created, { status: 201 });
        },
        { isSecret: true, isAudited: true },
      ),
      says('Creates an API key. 201 with the secret `key`, which is never shown again.', {
        name: 'createApiToken',
        body: creation,
        answers: { 201: json(newTokenSchema, 'The API key with its secret.') },
        faults: ['account.unknown', 'api_token.busy', 'api_token.too_many', 'idempotency.shown_once'],
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
      keyed(async (call) => {
        const { request, params, principal } = call;
        const isCascade = flagOf(new URL(request.url).searchParams, 'cascade') ?? false;
        const deleted = notesOf(call, kit);
        await deleteToken(params.id ?? '', { principal, kit, places, keys, isCascade, deleted });
        return new Response(null, { status: 204 });
      }),
      says('Deletes an API key: it stops working at once, and event streams opened with it end. 204.', {
        name: 'deleteApiToken',
        query: { cascade: flagSchema('Also all keys that it made, and those that they made.') },
        answers: { 204: nothing },
        faults: ['api_token.not_found', 'api_token.busy', 'query.invalid'],
      }),
    );
}

/** Notes keys that a deletion takes along. Where the admin account is does not concern others. */
function notesOf({ request, principal }: Call, kit: Kit): (row: StoredResource) => Promise<void> {
  const { accountId: actor, keyId } = principal;
  const { address } = kit.caller(request);
  const action = 'DELETE /api/api-token/{id}';
  return ({ account, id: target }) =>
    noted({ account, actor, keyId, action, target, ...(account === actor && { address }) }, kit);
}

function tokensOf({ accountId: account }: Principal, { resources }: Kit) {
  return plainResources(plainToken, { account, resources });
}

/** For reading; keys are made and deleted in token-changes.ts. */
const plainToken: PlainResource<TokenDocument> = { kind: 'api-token', notFound, busy: notFound };

function tooMany(most: number): Fault {
  return new Fault('api_token.too_many', {
    status: 403,
    message: `This account has ${most} API keys, the most it may have. Delete some first.`,
  });
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
  expiresAt: Type.Optional(
    Type.Integer({
      description:
        'Epoch milliseconds. From then on the key does not work. Default: that of the key which makes it, which is also the latest.',
      examples: momentSchema.examples,
    }),
  ),
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
  expiresAt: optional.number({
    description: 'Epoch milliseconds. Absent: it does not expire.',
    examples: momentSchema.examples,
  }),
  createdByKeyId: optional.string({
    description: 'The API key that made it. Absent for the bootstrap key.',
    examples: idSchema.examples,
  }),
  lastUsedAt: optional.number({
    description: 'Epoch milliseconds, to the hour. Absent: it was never used.',
    examples: momentSchema.examples,
  }),
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
    expiresAt: shown.expiresAt,
  },
  { $id: 'CurrentApiToken' },
);

function presentCurrent({
  keyId: id,
  keyName: name,
  accountId: userId,
  isAdmin,
  access: own,
  expiresAt,
}: Principal) {
  return { id, name, userId, isAdmin, access: own, expiresAt };
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
