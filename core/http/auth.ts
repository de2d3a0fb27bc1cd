import { createHash, timingSafeEqual } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import { token } from '../plugin/token.ts';
import { type Access, allows, type Demand, demandOf } from './access.ts';
import { checkOrigin } from './cors.ts';
import type { RequestLimits } from './request-limits.ts';

/** Who makes a request: an API key of an account. */
export interface Principal {
  readonly accountId: string;
  /** A key of the admin account. */
  readonly isAdmin: boolean;
  /** Id of the API key; undefined for the bootstrap key, which is no resource. */
  readonly keyId: string | undefined;
  /** Name of the API key, shown as `createdByTokenName`. */
  readonly keyName: string;
  readonly access: Access;
  /** Of the key, epoch ms. Undefined: it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Knows API keys. */
export interface Authenticator {
  /** Undefined for a key that is unknown, revoked or expired; asked for every request. */
  principal(key: string): Promise<Principal | undefined>;
  /** Whether a key still exists, by its id: for what was signed with its leave. The bootstrap key (undefined) always does. */
  exists(keyId: string | undefined): Promise<boolean>;
  /**
   * Calls back once when the key is revoked or expires, also when that has happened already: for answers that go on for
   * long. Returns the unsubscribe.
   */
  onRevoked(principal: Pick<Principal, 'keyId' | 'expiresAt'>, revoked: () => void): () => void;
}

export const authenticator = token<Authenticator>('accounts.authenticator');

/**
 * The principal of a request's `Authorization: Bearer <key>` header, scheme in any case (RFC 6750 §2.1), when
 * its key may make this request. Throws 401 `auth.missing` or `auth.invalid`, 403 `auth.origin_not_allowed` or
 * `auth.not_allowed`, and what `limits` throws.
 */
export async function authenticate(request: Request, keys: Authenticator): Promise<Principal> {
  return authenticateBy(request, { keys });
}

/** The same for requests that name their key in another way. */
export async function authenticateBy(
  request: Request,
  options: AuthenticationOptions & { keys: Authenticator; limits?: readonly RequestLimits[] },
): Promise<Principal> {
  const { keys, credentials, demand: demanded = demandOf, isForAnyKey = false, limits = [] } = options;
  const given = credentials ? credentials(request) : bearerKey(request);
  if (given === undefined) {
    for (const limit of limits) await limit.unknown(request);
    const hint = credentials ? '' : ' Send the header "Authorization: Bearer <key>".';
    throw new Fault('auth.missing', { status: 401, message: `An API key is required.${hint}` });
  }
  const principal = await keys.principal('key' in given ? given.key : given.secret);
  if (!principal || ('id' in given && !isSame(given.id, principal.keyId))) {
    for (const limit of limits) await limit.unknown(request);
    throw new Fault('auth.invalid', {
      status: 401,
      message: 'This API key is unknown, was revoked, or has expired.',
    });
  }
  checkOrigin(request, principal.access.cors?.allowedOrigins);
  for (const limit of limits) {
    const passes = limit.keyed(request, principal);
    if (passes) await passes;
  }
  if (principal.access.rules && !isForAnyKey) {
    const demand = demanded(request);
    if (!allows(principal.access, demand)) {
      const resource = demand.path ?? new URL(request.url).pathname;
      throw notAllowed(`its access rules have no ${demand.method} ${resource}`);
    }
  }
  return principal;
}

/** How the routes of a plugin are told which API key a request has, where that is not `Authorization: Bearer`. */
export interface AuthenticationOptions {
  /** What a request says of its key; undefined where it says nothing. */
  readonly credentials?: (request: Request) => Credentials | undefined;
  /**
   * What the access rules of keys are asked for a request: `{ method: 'post', path: 'stream' }`. Default: method and path of the
   * request; no rule allows paths that are not below `/api`.
   */
  readonly demand?: (request: Request) => Demand;
  /** Access rules are not asked: for what every key may know, such as what it may do itself. */
  readonly isForAnyKey?: boolean;
}

/** The key itself, or the id of an API key together with it. The bootstrap key has no id. */
export type Credentials = { readonly key: string } | { readonly id: string; readonly secret: string };

function bearerKey({ headers }: Request): Credentials | undefined {
  const key = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  return key === undefined ? undefined : { key };
}

/** Of `Authorization: Basic` (RFC 7617): the user is the id of an API key, the password the key itself. */
export function basicCredentials({ headers }: Request): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  const [, id, secret] = /^([^:]+):(.+)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** In a time that does not depend on where they differ. A secret is looked up by its hash, so its time says nothing either. */
function isSame(id: string, keyId: string | undefined): boolean {
  if (keyId === undefined) return false;
  const [one, other] = [id, keyId].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one, other);
}

/** @param missing what the key would need, as the end of a sentence */
export function notAllowed(missing: string): Fault {
  return new Fault('auth.not_allowed', {
    status: 403,
    message: `This API key may not do that: ${missing}.`,
  });
}
