import { ByteLru } from '../../core/base/byte-lru.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { publicJwk, type VerificationKey, verificationKey } from './verification-key.ts';

/** A JWKS document (RFC 7517 §5) of an account. */
export interface KeySetAddress {
  /** Of the row. */
  readonly id: string;
  readonly account: string;
  readonly jwksUrl: string;
}

/** How long a document counts before it is read again, beside the requests, ms. */
const fresh = 5 * 60_000;
/** Shortest time between two reads of a document, ms: strangers may name key ids that it never had. */
export const between = 30_000;
/** How long the keys of the last document count while it cannot be read, ms. */
export const longestStale = 3_600_000;
/** Of the answer. */
const timeout = 3000;
const maxBytes = 65_536;
/** Keys of a document; further ones are ignored. */
export const maxKeys = 50;
const maxKidLength = 200;
/** What all documents may take in memory, and some of what an object and a key take. */
const cacheBytes = 16 * 1_048_576;
const [setBytes, keyBytes] = [500, 1500];

interface KeySet {
  readonly keys: ReadonlyMap<string, KnownKey>;
  /** Epoch ms: when what is known was read, and when it was last tried. */
  readonly readAt: number;
  readonly triedAt: number;
  readonly reading?: Promise<KeySet>;
}

interface KnownKey {
  readonly verification: VerificationKey;
  /** What it was made of. */
  readonly text: string;
}

/** Finds keys in documents of accounts. Each is read when a token first names a key of it. */
export interface KeySets {
  find(address: KeySetAddress, kid: string): Promise<VerificationKey | undefined>;
}

export function keySets(kit: Pick<Kit, 'clock' | 'log' | 'outbound' | 'signal'>): KeySets {
  const { clock } = kit;
  const known = new ByteLru<KeySet>({ bytes: cacheBytes });
  const keep = (id: string, set: KeySet) => known.reserve(setBytes + keyBytes * set.keys.size)?.keep(id, set);
  const read = (address: KeySetAddress, before: KeySet): Promise<KeySet> => {
    const triedAt = clock.now();
    const reading = keysAt(address, { kit, before: before.keys }).then((keys) => {
      const after = keys ? { keys, readAt: triedAt, triedAt } : { ...before, triedAt };
      keep(address.id, after);
      return after;
    });
    keep(address.id, { ...before, triedAt, reading });
    return reading;
  };
  return {
    async find(address, kid) {
      const now = clock.now();
      const set = known.get(address.id, now) ?? nothingKnown;
      const isDue = now - set.triedAt >= between;
      const keyIn = ({ keys, readAt }: KeySet) => (now - readAt < longestStale ? keys.get(kid) : undefined);
      const key = keyIn(set);
      if (key) {
        if (isDue && now - set.readAt >= fresh) void read(address, withoutReading(set));
        return key.verification;
      }
      // A key that was made since.
      const reading = isDue ? read(address, withoutReading(set)) : set.reading;
      return reading && keyIn(await reading)?.verification;
    },
  };
}

const never = Number.NEGATIVE_INFINITY;
const nothingKnown: KeySet = { keys: new Map(), readAt: never, triedAt: never };

function withoutReading({ keys, readAt, triedAt }: KeySet): KeySet {
  return { keys, readAt, triedAt };
}

/** Undefined: the document could not be read. Never rejects. */
async function keysAt(
  { account, jwksUrl, id }: KeySetAddress,
  {
    kit,
    before,
  }: {
    kit: Pick<Kit, 'log' | 'outbound' | 'signal'>;
    before: KeySet['keys'];
  },
): Promise<KeySet['keys'] | undefined> {
  const answer = await kit.outbound.request(jwksUrl, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    ...{ owner: account, signal: kit.signal, timeout, idleTimeout: timeout, maxBytes },
  });
  const problem = !answer.ok
    ? answer.message
    : answer.status !== 200
      ? `it answered ${answer.status}`
      : answer.isCut
        ? `it has more than ${maxBytes} bytes`
        : undefined;
  const found = answer.ok && problem === undefined ? keysIn(answer.body) : undefined;
  if (found === undefined) {
    const reason = problem ?? 'it is no JWKS document';
    kit.log.debug('a JWKS document could not be read', { signingKeyId: id, account, reason });
    return undefined;
  }
  const keys = new Map<string, KnownKey>();
  for (const [kid, value] of found) {
    const jwk = publicJwk(value);
    if (!jwk) continue;
    const text = JSON.stringify(jwk);
    const same = before.get(kid);
    // The same object: tokens that were verified with it are known by it.
    const verification =
      same?.text === text ? same.verification : await verificationKey(jwk).catch(() => undefined);
    if (verification) keys.set(kid, { verification, text });
  }
  return keys;
}

/** Undefined for what is no JWKS document. Of several keys with one id the first counts. */
function keysIn(body: Uint8Array): ReadonlyMap<string, unknown> | undefined {
  let document: { keys?: unknown } | null;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as {
      keys?: unknown;
    } | null;
  } catch {
    return undefined;
  }
  const { keys } = document ?? {};
  if (!Array.isArray(keys)) return undefined;
  const found = new Map<string, unknown>();
  for (const key of keys.slice(0, maxKeys)) {
    const kid: unknown = key?.kid;
    const isUsable = typeof kid === 'string' && kid !== '' && kid.length <= maxKidLength;
    if (isUsable && !found.has(kid)) found.set(kid, key);
  }
  return found;
}
