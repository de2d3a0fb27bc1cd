import { randomBytes } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { object } from '../../core/base/schema.ts';
import type { Access } from '../../core/http/access.ts';
import { noted } from '../../core/http/audit.ts';
import { authenticator, type Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes, unstored } from '../../core/http/keyed.ts';
import { json, momentSchema, storeFaults } from '../../core/http/operation.ts';
import type { Quota } from '../../core/http/quota.ts';
import { openLimit } from '../../core/http/request-limits.ts';
import { deletedRow } from '../../core/plugin/deleted-row.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { GuessLimit } from './guess-limit.ts';
import { hashOf, newKey, newRow, touchedRow } from './token-document.ts';
import { Turns } from './turns.ts';

/** How long a code works, ms. */
const lifetime = 5 * 60_000;
/** Codes of one account that work at a time: each is a row. */
const maxCodes = 100;
/** Expired codes removed when one is made, so that they do not pile up. */
const sweep = 200;
/** How often a code is tried that another request uses, or whose maker is written, at the same time. */
const attempts = 5;
const kind = 'sign-in-code';
/** How keys are called that codes make. */
const keyName = 'Dashboard';

export const signInFaults = {
  'sign_in.refused': {
    status: 403,
    meaning: 'The sign-in code is unknown, was used, or has expired, or its API key was deleted.',
  },
  'sign_in.too_many': {
    status: 429,
    meaning: 'Too many wrong sign-in codes came from this address. Try again later.',
  },
  'sign_in_code.too_many': {
    status: 403,
    meaning: 'The account has 100 sign-in codes that still work. Each lasts for 5 minutes.',
  },
};

/** A code as it is stored, by its hash: the code itself is nowhere. */
interface SignInCode {
  readonly account: string;
  /** Of the key that asked for it; undefined for the bootstrap key. */
  readonly keyId?: string | undefined;
  readonly access: Access;
  /** Of the key that asked for it: the new one expires with it. */
  readonly expiresAt?: number | undefined;
}

/** `/api/sign-in-code` and `/api/sign-in`: an API key for a page, by a code that works once. */
export function signInRoutes(kit: Kit, { places }: { places: Quota }): AnyElysia {
  const { once } = keyedRoutes(kit);
  const guesses = new GuessLimit(kit.clock);
  const admit = openLimit(kit);
  // They are counted before one is written: side by side all would fit.
  const byAccount = new Turns();
  const creation = bodyReader({});
  const signIn = bodyReader({
    code: Type.String({ maxLength: 200, examples: ['p4Jr0u2o9GZ1k7a3Qd5hXw'] }),
  });
  return new Elysia()
    .post(
      '/api/sign-in-code',
      once(
        async ({ request, principal }) => {
          if (request.body !== null) await creation.read(request);
          const made = await byAccount.run(principal.accountId, () => createCode(principal, kit));
          return Response.json(made, { status: 201 });
        },
        { isSecret: true, isAudited: true },
      ),
      says(
        'Creates a code that signs in once, within 5 minutes, with the access of the key of this request. 201.',
        {
          name: 'createSignInCode',
          body: creation,
          answers: { 201: json(codeSchema, 'The code, which is never shown again.') },
          faults: ['sign_in_code.too_many', 'idempotency.shown_once'],
        },
      ),
    )
    .post(
      '/api/sign-in',
      async ({ request }) => {
        await admit(request);
        const { address } = kit.caller(request);
        const { code } = await signIn.read(request);
        guesses.count(address);
        const made = await useCode(code, { kit, places });
        const action = 'POST /api/sign-in';
        if (!made) {
          const detail = { code: 'sign_in.refused' };
          await noted({ address, action, detail }, kit);
          throw refused();
        }
        guesses.right(address);
        const { key, keyId, account, id: target } = made;
        await noted({ account, actor: account, keyId, address, action, target }, kit);
        return unstored(Response.json({ key }));
      },
      says(
        'Takes a sign-in code and answers a new API key of its account, named "Dashboard". The code then works no more.',
        {
          name: 'signIn',
          isOpen: true,
          body: signIn,
          answers: { 200: json(keySchema, 'The API key.') },
          faults: [
            'sign_in.refused',
            'sign_in.too_many',
            'api_token.too_many',
            'rate.limited',
            ...storeFaults,
          ],
        },
      ),
    );
}

const codeSchema = object(
  {
    code: Type.String({ examples: ['p4Jr0u2o9GZ1k7a3Qd5hXw'] }),
    expiresAt: momentSchema,
  },
  { $id: 'SignInCode' },
);

const keySchema = object(
  { key: Type.String({ description: 'The secret of the new API key.', examples: ['mr_4WbDdZ2Yk0xq'] }) },
  { $id: 'SignedIn' },
);

/** In the store, not in memory: the node that takes the code may be another one. */
async function createCode(
  { accountId: account, keyId, access, expiresAt: keyExpiresAt }: Principal,
  { clock, resources }: Kit,
): Promise<{ code: string; expiresAt: number }> {
  const createdAt = clock.now();
  await forgetExpired({ clock, resources });
  if ((await resources.count(kind, { account })) >= maxCodes) throw tooMany();
  const code = randomBytes(32).toString('base64url');
  const document: SignInCode = { account, keyId, access, expiresAt: keyExpiresAt };
  const place = { kind, id: idOf(code), account, createdAt, name: '', revision: 0, indexes: {} };
  const written = await resources.write({
    rows: [{ ...place, body: JSON.stringify(document) }],
    events: [],
  });
  if (written !== 'ok') throw new Error('a new sign-in code was there already');
  return { code, expiresAt: createdAt + lifetime };
}

/** A key that a code made. */
interface SignedIn {
  readonly key: string;
  readonly id: string;
  readonly account: string;
  /** Of the key that asked for the code. */
  readonly keyId: string | undefined;
}

/** A new API key; undefined when the code does not work. Of several requests at once only one gets a key. */
async function useCode(
  code: string,
  { kit, places }: { kit: Kit; places: Quota },
): Promise<SignedIn | undefined> {
  // Again while the row of the maker is written for another reason: the code was not used then.
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const row = await kit.resources.get(kind, idOf(code));
    if (!row || isExpired(row, kit.clock.now())) return undefined;
    const key = await tryCode(row, { kit, places });
    if (key !== 'conflict') return key;
  }
  return undefined;
}

async function tryCode(
  row: StoredResource,
  { kit, places }: { kit: Kit; places: Quota },
): Promise<SignedIn | undefined | 'conflict'> {
  const { clock, resources } = kit;
  const { account, keyId, access, expiresAt } = JSON.parse(row.body) as SignInCode;
  if (!(await kit.use(authenticator).exists(keyId))) return undefined;
  const maker = keyId === undefined ? undefined : await resources.get('api-token', keyId);
  // A maker that is being deleted with its children makes none.
  const guard = maker && touchedRow(maker);
  await places.admit(account);
  const key = newKey();
  const document = {
    ...{ id: uuid(), account, name: keyName, access, createdAt: clock.now() },
    ...(keyId !== undefined && { createdByKeyId: keyId }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
  const written = await resources.write({
    rows: [deletedRow(kind, row), newRow(document, key), ...(guard ? [guard] : [])],
    events: [],
  });
  if (written === 'ok') return { key, keyId, account, id: document.id };
  places.gone(account);
  return 'conflict';
}

async function forgetExpired({ clock, resources }: Pick<Kit, 'clock' | 'resources'>): Promise<void> {
  const oldest = await resources.list(kind, {
    order: [{ by: 'createdAt', descending: false }],
    limit: sweep,
  });
  const expired = oldest.filter((row) => isExpired(row, clock.now()));
  // Where another request removes them at the same time, nothing is left to do.
  if (expired.length > 0)
    await resources.write({ rows: expired.map((row) => deletedRow(kind, row)), events: [] });
}

function isExpired({ createdAt }: StoredResource, now: number): boolean {
  return createdAt + lifetime <= now;
}

/** A code has 256 random bits, so a plain hash cannot be reversed. */
function idOf(code: string): string {
  return hashOf(code).toString('hex');
}

/** The same for every code that does not work, so that the answer says nothing about it. */
function refused(): Fault {
  return new Fault('sign_in.refused', {
    status: 403,
    message: 'This sign-in code does not work: codes work once, within 5 minutes. Ask for a new one.',
  });
}

function tooMany(): Fault {
  return new Fault('sign_in_code.too_many', {
    status: 403,
    message: `The account has ${maxCodes} sign-in codes that still work. Use one of them, or wait for 5 minutes.`,
  });
}
