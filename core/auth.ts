import { Fault } from './fault.ts';
import { token } from './token.ts';

/** Who makes a request: an API key of an account. */
export interface Principal {
  readonly accountId: string;
  readonly isAdmin: boolean;
  /** Name of the API key, shown as `createdByTokenName`. */
  readonly keyName: string;
}

/** Knows API keys. Resolves undefined for a key that is unknown or revoked. */
export interface Authenticator {
  principal(key: string): Promise<Principal | undefined>;
}

export const authenticator = token<Authenticator>('accounts.authenticator');

/**
 * The principal of a request's `Authorization: Bearer <key>` header, scheme in any case (RFC 6750 §2.1).
 * Throws 401 `auth.missing` or `auth.invalid`.
 */
export async function authenticate(request: Request, keys: Authenticator): Promise<Principal> {
  const header = request.headers.get('authorization');
  const key = header === null ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (key === undefined) {
    throw new Fault('auth.missing', {
      status: 401,
      message: 'An API key is needed: send the header "Authorization: Bearer <key>".',
    });
  }
  const principal = await keys.principal(key);
  if (!principal) {
    throw new Fault('auth.invalid', { status: 401, message: 'This API key is unknown or was revoked.' });
  }
  return principal;
}
