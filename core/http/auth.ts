import { Fault } from '../base/fault.ts';
import { token } from '../plugin/token.ts';
import { type Access, allows, demandOf } from './access.ts';
import { checkOrigin } from './cors.ts';

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
}

/** Knows API keys. */
export interface Authenticator {
  /** Undefined for a key that is unknown or revoked; asked for every request. */
  principal(key: string): Promise<Principal | undefined>;
  /** Whether a key still exists, by its id: for what was signed with its leave. The bootstrap key (undefined) always does. */
  exists(keyId: string | undefined): Promise<boolean>;
  /**
   * Calls back once when the key is revoked, also when that has happened already: for answers that go on for
   * long. Returns the unsubscribe.
   */
  onRevoked(principal: Pick<Principal, 'keyId'>, revoked: () => void): () => void;
}

export const authenticator = token<Authenticator>('accounts.authenticator');

/**
 * The principal of a request's `Authorization: Bearer <key>` header, scheme in any case (RFC 6750 §2.1), when
 * its key may make this request. Throws 401 `auth.missing` or `auth.invalid`, 403 `auth.origin_not_allowed` or
 * `auth.not_allowed`.
 */
export async function authenticate(request: Request, keys: Authenticator): Promise<Principal> {
  const header = request.headers.get('authorization');
  const key = header === null ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (key === undefined) {
    throw new Fault('auth.missing', {
      status: 401,
      message: 'An API key is required. Send the header "Authorization: Bearer <key>".',
    });
  }
  const principal = await keys.principal(key);
  if (!principal) {
    throw new Fault('auth.invalid', { status: 401, message: 'This API key is unknown or was revoked.' });
  }
  checkOrigin(request, principal.access.cors?.allowedOrigins);
  if (principal.access.rules) {
    const demand = demandOf(request);
    if (!allows(principal.access, demand)) {
      const resource = demand.path ?? new URL(request.url).pathname;
      throw notAllowed(`its access rules have no ${demand.method} ${resource}`);
    }
  }
  return principal;
}

/** @param missing what the key would need, as the end of a sentence */
export function notAllowed(missing: string): Fault {
  return new Fault('auth.not_allowed', {
    status: 403,
    message: `This API key may not do that: ${missing}.`,
  });
}
