import { createPublicKey, generateKeyPair } from 'node:crypto';
import { ByteLru } from '../../core/base/byte-lru.ts';
import { Fault } from '../../core/base/fault.ts';
import { Remembered } from '../../core/base/remembered.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { type KeySetAddress, keySets } from './key-sets.ts';
import { type Algorithm, type PublicJwk, type VerificationKey, verificationKey } from './verification-key.ts';

/** What is stored of a signing key: of a pair the public half, or where an account keeps public halves of its own. */
export type SigningKey = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
} & (
  | { readonly algorithm: Algorithm; readonly publicKey: string; readonly jwk: PublicJwk }
  | { readonly jwksUrl: string }
);

export const signingKeyKind = 'signing-key';
/** Signing keys of one account, addresses of JWKS documents among them. Each is looked at for tokens of the account. */
export const maxSigningKeys = 20;

/** How long what is known of the keys of an account counts without another look, ms; twice as long while it is read again. */
const fresh = 1000;
/** Accounts in memory, at most 20 keys of 1 KB each. */
const maxKnown = 2000;
/** Imported keys in memory, and what one takes. */
const [importedBytes, keyBytes] = [8 * 1_048_576, 2000];

/** A key that a token was signed with. */
export interface FoundKey extends VerificationKey {
  /** Id of the signing key: of the pair, or of the address of the document that has it. */
  readonly id: string;
}

/** The signing keys of all accounts. A deleted one is unknown within 2 s on every node. While the store does not answer, the last ones known count. */
export interface AccountKeys {
  /** Whether the account has a signing key of this id. No promise while it is remembered. */
  has(account: string, id: string): boolean | Promise<boolean>;
  /** The key that a token names. An account's own pairs come before those of its documents, earlier documents before later ones. */
  find(account: string, kid: string): Promise<FoundKey | undefined>;
  /** All of an account, oldest first. */
  list(account: string): Promise<readonly SigningKey[]>;
  /** The next look is into the store. */
  forget(account: string): void;
}

export type KeysKit = Pick<Kit, 'clock' | 'deployment' | 'log' | 'outbound' | 'resources' | 'signal'>;

const made = new WeakMap<object, AccountKeys>();

/** The same for all who ask in a process. */
export function accountKeys(kit: KeysKit): AccountKeys {
  const known = made.get(kit.deployment);
  if (known) return known;
  const keys = newAccountKeys(kit);
  made.set(kit.deployment, keys);
  return keys;
}

function newAccountKeys(kit: KeysKit): AccountKeys {
  const remembered = new Remembered<readonly SigningKey[]>({ clock: kit.clock, fresh, most: maxKnown });
  const sets = keySets(kit);
  const imported = new ByteLru<Promise<VerificationKey>>({ bytes: importedBytes });
  const all = (account: string) => remembered.get(account, () => stored(account, kit));
  const ownKey = (id: string, jwk: PublicJwk) => {
    const before = imported.get(id);
    if (before) return before;
    const key = verificationKey(jwk);
    imported.reserve(keyBytes)?.keep(id, key);
    return key;
  };
  return {
    has(account, id) {
      const isThere = (keys: readonly SigningKey[]) => keys.some((key) => key.id === id);
      const keys = all(account);
      return keys instanceof Promise ? keys.then(isThere) : isThere(keys);
    },
    async find(account, kid) {
      const keys = await all(account);
      const own = keys.find((key) => key.id === kid);
      if (own && 'jwk' in own) return { id: own.id, ...(await ownKey(own.id, own.jwk)) };
      const addresses = keys.filter((key): key is SigningKey & KeySetAddress => 'jwksUrl' in key);
      const found = await Promise.all(addresses.map((address) => sets.find(address, kid)));
      const index = found.findIndex(Boolean);
      const [address, key] = [addresses[index], found[index]];
      return address && key ? { id: address.id, ...key } : undefined;
    },
    list: async (account) => all(account),
    forget: (account) => remembered.forget(account),
  };
}

async function stored(account: string, { resources }: KeysKit): Promise<readonly SigningKey[]> {
  const order = [{ by: 'createdAt', descending: false }] as const;
  // Somewhat more than it may have: several nodes may make some at the same moment.
  const rows = await resources.list(signingKeyKind, { account, order, limit: 2 * maxSigningKeys });
  return rows.map(({ body }) => JSON.parse(body) as SigningKey);
}

/** For the routes. Faults `signing_key.not_found` (404), `signing_key.busy` (409). */
export function signingKeysOf(account: string, { resources }: Pick<Kit, 'resources'>) {
  return plainResources(plainKey, { account, resources });
}

const plainKey: PlainResource<SigningKey> = {
  kind: signingKeyKind,
  notFound: (id) =>
    new Fault('signing_key.not_found', { status: 404, message: `There is no signing key ${idOrNone(id)}.` }),
  busy: (id) =>
    new Fault('signing_key.busy', {
      status: 409,
      message: `Other requests delete the signing key ${idOrNone(id)}. Try again.`,
    }),
};

/** A pair of keys; the private half as PEM of PKCS 8, the public one as PEM and as JWK. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
  readonly jwk: PublicJwk;
}

const rsaBits = 2048;
const pem = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
} as const;

/**
 * Makes a pair in the pool of threads: an RSA key takes 0.1 to 0.5 s. `crypto.subtle` is no way to do that: under Bun it
 * makes RSA keys on the calling thread.
 */
export function newKeyPair(algorithm: Algorithm): Promise<KeyPair> {
  const { promise, resolve, reject } = Promise.withResolvers<KeyPair>();
  const done = (error: Error | null, publicKey: string, privateKey: string) => {
    if (error) return reject(error);
    const jwk = createPublicKey(publicKey).export({ format: 'jwk' }) as unknown as PublicJwk;
    resolve({ privateKey, publicKey, jwk });
  };
  if (algorithm === 'RS256') generateKeyPair('rsa', { modulusLength: rsaBits, ...pem }, done);
  else generateKeyPair('ec', { namedCurve: 'P-256', ...pem }, done);
  return promise;
}

/** RSA pairs that wait to be made. One is made at a time, so that the pool of threads has room for everything else. */
export const maxWaiting = 16;

export type MakePair = (algorithm: Algorithm) => Promise<KeyPair>;

/** One after the other. Fault `server.busy` (503) when too many wait. */
export function pairMaker(make: MakePair = newKeyPair): MakePair {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (algorithm) => {
    // A P-256 pair takes half a millisecond.
    if (algorithm !== 'RS256') return make(algorithm);
    if (waiting >= maxWaiting)
      throw new Fault('server.busy', { status: 503, message: 'Other keys are being made.', retryAfter: 2 });
    waiting += 1;
    const pair = last.then(() => make(algorithm));
    last = pair
      .catch(() => {})
      .finally(() => {
        waiting -= 1;
      });
    return pair;
  };
}
