import { webcrypto } from 'node:crypto';

/** What tokens may be signed with. Nothing symmetric: a public key would be a secret then. */
export const algorithms = ['ES256', 'RS256'] as const;
export type Algorithm = (typeof algorithms)[number];

/** The public half of a key, for one algorithm only. */
export interface VerificationKey {
  readonly algorithm: Algorithm;
  readonly key: webcrypto.CryptoKey;
}

/** The members of a public key that count (RFC 7518 §6.2.1, §6.3.1). */
export type PublicJwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string };

/** Bytes of the modulus of an RSA key: 2048 to 4096 bits. Longer ones cost milliseconds for each token. */
const rsaBytes = { least: 256, most: 512 };
/** Of its exponent; 65537 has three. A long one is another way to make a check slow. */
const maxExponentBytes = 4;
const coordinateBytes = 32;

/** The public half in what a JWKS document has; undefined for a key that cannot sign tokens. Private members are dropped. */
export function publicJwk(value: unknown): PublicJwk | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kty, alg, use, key_ops: uses, crv, x, y, n, e } = value as Record<string, unknown>;
  if (use !== undefined && use !== 'sig') return undefined;
  if (uses !== undefined && !(Array.isArray(uses) && uses.includes('verify'))) return undefined;
  if (kty === 'EC' && crv === 'P-256' && (alg === undefined || alg === 'ES256')) {
    if (bytesIn(x) !== coordinateBytes || bytesIn(y) !== coordinateBytes) return undefined;
    return { kty, crv, x: x as string, y: y as string };
  }
  if (kty === 'RSA' && (alg === undefined || alg === 'RS256')) {
    const [modulus, exponent] = [bytesIn(n), bytesIn(e)];
    if (modulus < rsaBytes.least || modulus > rsaBytes.most) return undefined;
    if (exponent < 1 || exponent > maxExponentBytes) return undefined;
    return { kty, n: n as string, e: e as string };
  }
  return undefined;
}

/** Throws for a key that is none, such as a point beside the curve. */
export async function verificationKey(jwk: PublicJwk): Promise<VerificationKey> {
  const { subtle } = webcrypto;
  if (jwk.kty === 'EC') {
    const how = { name: 'ECDSA', namedCurve: 'P-256' };
    return { algorithm: 'ES256', key: await subtle.importKey('jwk', jwk, how, false, ['verify']) };
  }
  const how = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  return { algorithm: 'RS256', key: await subtle.importKey('jwk', jwk, how, false, ['verify']) };
}

/** Bytes that base64url text stands for; 0 for anything else. Leading zeros count. */
function bytesIn(value: unknown): number {
  const isText = typeof value === 'string' && value.length <= 1024 && /^[A-Za-z0-9_-]+$/.test(value);
  return isText ? Buffer.from(value, 'base64url').length : 0;
}
