import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { type Attempt, shownOnce } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { idSchema, json, momentSchema, nothing, storeFaults } from '../../core/http/operation.ts';
import { openly, preflight, saysPreflight } from '../../core/http/public-access.ts';
import { invalidQuery } from '../../core/http/query.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { openLimit } from '../../core/http/request-limits.ts';
import type { FaultTable, Kit } from '../../core/plugin/plugin.ts';
import {
  accountKeys,
  type KeyPair,
  maxSigningKeys,
  pairMaker,
  type SigningKey,
  signingKeyKind,
  signingKeysOf,
} from './signing-keys.ts';
import { type Algorithm, algorithms } from './verification-key.ts';

export const signingKeyFaults: FaultTable = {
  'signing_key.not_found': { status: 404, meaning: 'There is no signing key of this id in your account.' },
  'signing_key.busy': { status: 409, meaning: 'Other requests delete this signing key. Try again.' },
  'signing_key.too_many': {
    status: 409,
    meaning: `The account has ${maxSigningKeys} signing keys, the most it may have.`,
  },
};

/** Characters of a URL; browsers and servers take about as much. */
const maxUrlLength = 2000;
/** Seconds that caches keep the public halves. */
const jwksAge = 60;

const fields = {
  name: Type.Optional(nameSchema('Website')),
  algorithm: Type.Optional(
    oneOf(algorithms, { description: 'Of the pair that is made. Default `ES256`.', examples: ['ES256'] }),
  ),
  jwksUrl: optional.string({
    maxLength: maxUrlLength,
    pattern: '^[hH][tT][tT][pP][sS]?://[^\\x00-\\x1f\\x7f]*$',
    schemes: ['http', 'https'],
    expected: `an http:// or https:// URL of at most ${maxUrlLength} characters, without control characters`,
    description:
      'Instead of a new pair: the URL of a JWKS document with public keys of your own (P-256 and RSA). It is read when a token names a key of it, every 5 min, and at most every 30 s for a `kid` that it did not have.',
    examples: ['https://id.example.com/.well-known/jwks.json'],
  }),
};

const shown = {
  id: Type.String({ description: 'The `kid` of tokens.', examples: idSchema.examples }),
  name: Type.String({ examples: ['Website'] }),
  algorithm: Type.Optional(oneOf(algorithms, { examples: ['ES256'] })),
  publicKey: optional.string({
    description: 'PEM.',
    examples: ['-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI…\n-----END PUBLIC KEY-----\n'],
  }),
  jwksUrl: optional.string({
    description: 'Of keys of your own. Then there is no `algorithm` and no `publicKey`.',
    examples: ['https://id.example.com/.well-known/jwks.json'],
  }),
  createdAt: momentSchema,
};
const keySchema = object(shown, { $id: 'SigningKey' });
const newKeySchema = object(
  {
    ...shown,
    privateKey: optional.string({
      description: 'PEM of PKCS 8. It is not stored, and never shown again.',
      examples: ['-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49…\n-----END PRIVATE KEY-----\n'],
    }),
  },
  { $id: 'NewSigningKey' },
);

const filterFields = {
  id: { type: 'string' },
  name: { type: 'string' },
  algorithm: { type: 'string' },
  createdAt: { type: 'number' },
} as const;

/** `/api/signing-key`: the keys that sign tokens of private playback. */
export function signingKeyRoutes(kit: Kit): AnyElysia {
  const { keyed, once } = keyedRoutes(kit);
  const keys = accountKeys(kit);
  const places = keyPlaces(kit);
  const makePair = pairMaker();
  const list = resourceList({
    ...{ kind: signingKeyKind, fields: filterFields, caller: kit.caller, resources: kit.resources },
  });
  return new Elysia()
    .use(jwksRoutes(kit))
    .post(
      '/api/signing-key',
      once((call) => createKey(call, { kit, places, makePair }), { isSecret: true, isAudited: true }),
      says(
        'Creates a signing key. 201 with the `privateKey`, which is never shown again. With `jwksUrl`, keys of your own are trusted.',
        {
          name: 'createSigningKey',
          body: creation,
          answers: { 201: json(newKeySchema, 'The signing key with its private half.') },
          faults: ['signing_key.too_many', 'idempotency.shown_once', 'server.busy'],
        },
      ),
    )
    .get(
      '/api/signing-key',
      keyed(({ request, principal: { accountId: account } }) =>
        list(request, { account, present: ({ body }) => present(JSON.parse(body) as SigningKey) }),
      ),
      says('Lists signing keys without their private halves; parameters as for streams.', {
        name: 'listSigningKeys',
        query: listParameters(filterFields),
        answers: { 200: listAnswer(keySchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/signing-key/:id',
      keyed(async ({ params, principal: { accountId } }) =>
        Response.json(present(await signingKeysOf(accountId, kit).get(params.id ?? ''))),
      ),
      says('One signing key, without its private half.', {
        name: 'getSigningKey',
        answers: { 200: json(keySchema, 'The signing key.') },
        faults: ['signing_key.not_found'],
      }),
    )
    .delete(
      '/api/signing-key/:id',
      keyed(async ({ params, principal: { accountId } }) => {
        await signingKeysOf(accountId, kit)
          .remove(params.id ?? '')
          // Also when the outcome of the write is unknown.
          .finally(() => keys.forget(accountId));
        places.gone(accountId);
        return new Response(null, { status: 204 });
      }),
      says('Deletes a signing key. Its tokens, and players that they let in, are refused within 5 s. 204.', {
        name: 'deleteSigningKey',
        answers: { 204: nothing },
        faults: ['signing_key.not_found', 'signing_key.busy'],
      }),
    );
}

const creation = bodyReader(fields, {
  readOnly: ['id', 'publicKey', 'createdAt'],
  example: { name: 'Website', algorithm: 'ES256' },
});

interface Creation {
  readonly kit: Kit;
  readonly places: Quota;
  makePair(algorithm: Algorithm): Promise<KeyPair>;
}

async function createKey(call: Call & Attempt, { kit, places, makePair }: Creation): Promise<Response> {
  const { request, principal, id, isRepeat } = call;
  const { accountId: account } = principal;
  const { name = 'Signing key', algorithm, jwksUrl } = await creation.read(request);
  const problem = urlProblem({ jwksUrl, algorithm, account }, kit);
  if (problem !== undefined) throw new Fault('body.invalid', { status: 422, message: problem });
  const own = signingKeysOf(account, kit);
  const before = isRepeat ? await own.find(id) : undefined;
  if (before) return created(before);
  await places.admit(account);
  const common = { id, account, name, createdAt: kit.clock.now() };
  const { privateKey, ...pair } =
    jwksUrl === undefined ? await pairOf(algorithm, makePair) : { privateKey: undefined, jwksUrl };
  const key: SigningKey = { ...common, ...pair };
  const isNew = (await own.create([key])) === 'ok';
  accountKeys(kit).forget(account);
  return created(isNew ? key : await own.get(id), isNew ? privateKey : undefined);
}

async function pairOf(algorithm: Algorithm = 'ES256', makePair: Creation['makePair']) {
  return { algorithm, ...(await makePair(algorithm)) };
}

/** Fault `idempotency.shown_once` (409): an earlier attempt made the pair, and its private half is gone. */
function created(key: SigningKey, privateKey?: string): Response {
  if (!('jwksUrl' in key) && privateKey === undefined) throw shownOnce(key.id);
  return Response.json({ ...present(key), ...(privateKey !== undefined && { privateKey }) }, { status: 201 });
}

function urlProblem(
  {
    jwksUrl,
    algorithm,
    account,
  }: { jwksUrl: string | undefined; algorithm: Algorithm | undefined; account: string },
  { outbound }: Pick<Kit, 'outbound'>,
): string | undefined {
  if (jwksUrl === undefined) return undefined;
  if (algorithm !== undefined) return 'algorithm: with jwksUrl each key of the document says its own';
  const problem = outbound.problem(jwksUrl, { owner: account });
  return problem && `jwksUrl: ${problem.message}`;
}

/** `/.well-known/jwks.json`: the public halves of an account, for everybody. */
function jwksRoutes(kit: Kit): AnyElysia {
  const keys = accountKeys(kit);
  const admit = openLimit(kit);
  return new Elysia()
    .get(
      '/.well-known/jwks.json',
      ({ request }) =>
        openly(async () => {
          await admit(request);
          const account = new URL(request.url).searchParams.get('account');
          if (account === null || account === '' || account.length > maxIdLength)
            throw invalidQuery('account: expected the id of an account');
          // Of what is no account nothing is remembered: strangers may name millions.
          const isThere = (await kit.resources.get('account', account)) !== undefined;
          const own = isThere ? await keys.list(account) : [];
          const headers = { 'cache-control': `public, max-age=${jwksAge}` };
          return Response.json({ keys: own.flatMap(jwkOf) }, { headers });
        }),
      says('The public halves of the signing keys of an account. No key is needed.', {
        name: 'getJwks',
        isOpen: true,
        query: {
          account: Type.String({
            isRequired: true,
            description: 'Id of the account.',
            examples: idSchema.examples,
          }),
        },
        answers: { 200: json(jwksSchema, 'A JWKS document (RFC 7517).') },
        faults: ['query.invalid', ...storeFaults],
      }),
    )
    .options('/.well-known/jwks.json', preflight, saysPreflight('preflightJwks'));
}

const jwkSchema = object({
  kty: Type.String({ examples: ['EC'] }),
  kid: Type.String({ examples: idSchema.examples }),
  alg: oneOf(algorithms),
  use: Type.Literal('sig'),
  crv: optional.string({ examples: ['P-256'] }),
  x: Type.Optional(Type.String()),
  y: Type.Optional(Type.String()),
  n: Type.Optional(Type.String()),
  e: Type.Optional(Type.String()),
});
const jwksSchema = object({ keys: Type.Array(jwkSchema) }, { $id: 'Jwks' });

function jwkOf(key: SigningKey): object[] {
  return 'jwk' in key ? [{ ...key.jwk, kid: key.id, alg: key.algorithm, use: 'sig' }] : [];
}

function present(key: SigningKey): Record<string, unknown> {
  const { id, name, createdAt } = key;
  if ('jwksUrl' in key) return { id, name, jwksUrl: key.jwksUrl, createdAt };
  return { id, name, algorithm: key.algorithm, publicKey: key.publicKey, createdAt };
}

function keyPlaces({ clock, resources }: Pick<Kit, 'clock' | 'resources'>): Quota {
  return quota({
    ...{ clock, most: maxSigningKeys },
    count: (account) => resources.count(signingKeyKind, { account }),
    full: () =>
      new Fault('signing_key.too_many', {
        status: 409,
        message: `This account has ${maxSigningKeys} signing keys, the most it may have. Delete some first.`,
      }),
  });
}
