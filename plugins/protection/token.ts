import { hash } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import { ByteLru } from '../../core/base/byte-lru.ts';
import { cidr } from '../../core/base/cidr.ts';
import { type Audience, audiences } from './audience.ts';
import type { TokenDialect, TranslatedClaims } from './contract.ts';
import { isOriginPattern } from './fits.ts';
import type { AccountKeys, FoundKey } from './signing-keys.ts';
import { algorithms } from './verification-key.ts';

/** What a token says, checked. */
export interface Claims {
  /** Id of the signing key; of a key in a JWKS document that of the document's row. */
  readonly keyId: string;
  /** `sub`: playback id. */
  readonly subject: string;
  readonly audience: readonly Audience[] | 'all';
  /** Epoch seconds, whole ones. */
  readonly expiresAt: number;
  readonly notBefore?: number;
  readonly issuedAt?: number;
  readonly origins?: readonly string[];
  /** With `origins`: also players that name none. */
  readonly allowNoOrigin?: boolean;
  readonly cidrs?: readonly string[];
  readonly countries?: readonly string[];
  readonly maxHeight?: number;
  readonly viewer?: string;
}

/** Why a token is none; `rule` is for programs: `token.malformed`, `.key`, `.signature`, `.claims`, `.expired`, `.not_yet`. */
export interface TokenProblem {
  readonly rule: string;
  /** A sentence for the owner. */
  readonly reason: string;
}

/** Never rejects but with a Fault of the store, while nothing is known of the keys of the account. */
export type VerifyToken = (
  text: string,
  options: { readonly account: string; readonly now: number },
) => Promise<VerifiedToken | { readonly problem: TokenProblem }>;

export interface VerifiedToken {
  readonly claims: Claims;
  /** When this process saw it first, as far as it remembers, epoch ms. */
  readonly firstSeen: number;
}

/** Characters of a token: what a URL holds besides everything else in it. */
export const maxTokenLength = 4096;
/** For clocks that differ, s. */
const leeway = 60;
/** Characters of the claims that are texts. */
const maxSubject = 128;
const maxViewer = 128;
const maxOrigin = 255;
/** Entries of a claim that is a list. */
const maxEntries = 100;
/** Pixels; no encoder makes more. */
const maxMaxHeight = 16_384;
/** Epoch seconds that count as a time: until the year 9999. Beyond are mistakes, such as milliseconds. */
const maxSeconds = 253_402_300_799;
/** Verified tokens in memory; what one takes beside its text. */
const cacheBytes = 8 * 1_048_576;
const entryBytes = 600;

/**
 * Verifies tokens (JWT, RFC 7519) signed with ES256 or RS256. A token that was verified costs no second signature while its key is
 * the same; its times are looked at each time.
 */
export function tokenVerifier(
  _kit: unknown,
  { keys, dialects = [] }: { keys: Pick<AccountKeys, 'find'>; dialects?: readonly TokenDialect[] },
): VerifyToken {
  const verified = new ByteLru<Verified>({ bytes: cacheBytes });
  return async (text, { account, now }) => {
    const header = headerOf(text, { isKidInClaims: dialects.length > 0 });
    if ('problem' in header) return header;
    const { alg, kid } = header;
    const key = await keys.find(account, kid);
    if (!key) return refused('token.key', `The account has no signing key ${shown(kid)} (kid).`);
    if (key.algorithm !== alg)
      return refused('token.key', `The token says ${alg}, but its key is for ${key.algorithm}.`);
    const place = hash('sha256', `${account} ${text}`, 'base64url');
    const before = verified.get(place, now);
    // What a dialect reads out of a token may change, but not when it was first seen: a revocation ends it.
    const same = before?.key === key.key ? before : undefined;
    if (same?.isLasting) return inTime(same.claims, now) ?? same;
    const read = await claimsIn(text, { key, account, dialects });
    if ('problem' in read) return read;
    const { claims, isLasting } = read;
    const late = inTime(claims, now);
    const until = (claims.expiresAt + leeway) * 1000;
    const firstSeen = same?.firstSeen ?? now;
    if (!late || late.problem.rule === 'token.not_yet')
      verified
        .reserve(entryBytes + 2 * text.length)
        ?.keep(place, { key: key.key, claims, firstSeen, isLasting }, { until });
    return late ?? { claims, firstSeen };
  };
}

interface Verified extends VerifiedToken {
  readonly key: FoundKey['key'];
  /** Its claims are what they were. */
  readonly isLasting: boolean;
}

interface Problem {
  readonly problem: TokenProblem;
}

function refused(rule: string, reason: string): Problem {
  return { problem: { rule, reason } };
}

/** Only letters of base64url: what a decoder may take beside them, such as padding, would be another text for one token. */
const compact = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const maxKid = 200;

/** `isKidInClaims`: where the header names no key, the claims may: their signature is checked with it. */
function headerOf(
  text: string,
  { isKidInClaims }: { isKidInClaims: boolean },
): { readonly alg: string; readonly kid: string } | Problem {
  if (text.length > maxTokenLength)
    return refused('token.malformed', `The token has more than ${maxTokenLength} characters.`);
  if (!compact.test(text))
    return refused('token.malformed', 'The token is no JWT: expected three parts of base64url.');
  const header = jsonOf(Buffer.from(text.slice(0, text.indexOf('.')), 'base64url'));
  if (!header) return refused('token.malformed', 'The header of the token is no JSON object.');
  const { alg, crit, b64 } = header;
  const kid =
    header.kid === undefined && isKidInClaims
      ? jsonOf(Buffer.from(text.split('.')[1] ?? '', 'base64url'))?.kid
      : header.kid;
  if (!algorithms.some((one) => one === alg))
    return refused('token.malformed', `alg: expected ${algorithms.join(' or ')} in the header.`);
  if (crit !== undefined || b64 !== undefined)
    return refused(
      'token.malformed',
      'crit, b64: the header of the token needs an extension that is unknown.',
    );
  if (typeof kid !== 'string' || kid === '' || kid.length > maxKid)
    return refused('token.malformed', 'kid: expected the id of a signing key in the header.');
  return { alg: alg as string, kid };
}

/** The claims of a token whose signature is good. */
async function claimsIn(
  text: string,
  { key, account, dialects }: { key: FoundKey; account: string; dialects: readonly TokenDialect[] },
): Promise<{ claims: Claims; isLasting: boolean } | Problem> {
  let payload: Uint8Array;
  try {
    ({ payload } = await compactVerify(text, key.key, { algorithms: [key.algorithm] }));
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    if (error instanceof errors.JWSSignatureVerificationFailed)
      return refused('token.signature', 'The signature of the token is wrong.');
    return refused('token.malformed', 'The token is no signed JWT.');
  }
  const given = jsonOf(payload);
  if (!given) return refused('token.malformed', 'The claims of the token are no JSON object.');
  const read = await translated(given, { account, dialects });
  if (typeof read === 'string') return refused('token.claims', read);
  const problem = claimProblem(read?.claims ?? given);
  if (problem !== undefined) return refused('token.claims', problem);
  return { claims: claimsOf(read?.claims ?? given, key), isLasting: read === undefined };
}

/** What a dialect makes of claims. Undefined: they are ours. */
async function translated(
  given: Record<string, unknown>,
  { account, dialects }: { account: string; dialects: readonly TokenDialect[] },
): Promise<TranslatedClaims | string | undefined> {
  for (const dialect of dialects) {
    const read = await dialect.translate(given, { account });
    if (read !== undefined) return read;
  }
  return undefined;
}

/** An object of JSON in UTF-8. Of a member that is there twice, the last counts (RFC 7519 §4). */
function jsonOf(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** What is expected of each claim that may be absent. Of those with another name nothing is. */
const optionalClaims: readonly [string, (value: unknown) => boolean, string][] = [
  ['nbf', isTime, 'a time in seconds since 1970'],
  ['iat', isTime, 'a time in seconds since 1970'],
  ['aud', isAudience, `"playback", or a list of ${audiences.join(', ')}`],
  ['origins', listOf(isOrigin), `1 to ${maxEntries} origins such as https://www.example.com`],
  ['allowNoOrigin', (value) => typeof value === 'boolean', 'true or false'],
  ['cidrs', listOf(isBlock), `1 to ${maxEntries} blocks such as 192.0.2.0/24`],
  ['countries', listOf(isCountry), `1 to ${maxEntries} countries such as DE`],
  ['maxHeight', isHeight, `a whole number from 1 to ${maxMaxHeight}`],
  ['viewer', isViewer, `a text of 1 to ${maxViewer} characters`],
];

function claimProblem(given: Record<string, unknown>): string | undefined {
  const { sub, exp } = given;
  if (typeof sub !== 'string' || sub === '' || sub.length > maxSubject)
    return 'sub: expected the playback id that the token is for.';
  if (!isTime(exp)) return 'exp: expected a time in seconds since 1970.';
  for (const [name, isRight, expected] of optionalClaims)
    if (given[name] !== undefined && !isRight(given[name])) return `${name}: expected ${expected}.`;
  return undefined;
}

function claimsOf(given: Record<string, unknown>, { id }: FoundKey): Claims {
  const { sub, exp, nbf, iat, aud, origins, allowNoOrigin } = given;
  const { cidrs, countries, maxHeight, viewer } = given;
  return {
    ...{ keyId: id, subject: sub as string, audience: audienceIn(aud), expiresAt: Math.floor(exp as number) },
    ...(nbf !== undefined && { notBefore: Math.ceil(nbf as number) }),
    ...(iat !== undefined && { issuedAt: Math.floor(iat as number) }),
    ...(origins !== undefined && { origins: origins as string[] }),
    ...(allowNoOrigin !== undefined && { allowNoOrigin: allowNoOrigin as boolean }),
    ...(cidrs !== undefined && { cidrs: cidrs as string[] }),
    ...(countries !== undefined && { countries: countries as string[] }),
    ...(maxHeight !== undefined && { maxHeight: maxHeight as number }),
    ...(viewer !== undefined && { viewer: viewer as string }),
  };
}

function audienceIn(aud: unknown): Claims['audience'] {
  if (aud === undefined || aud === 'playback') return 'all';
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return audiences.filter((one) => named.includes(one));
}

/** A token that was made later than now was made by a clock that is wrong, or to outlive the next revocation. */
function inTime({ expiresAt, notBefore, issuedAt }: Claims, now: number): Problem | undefined {
  const seconds = now / 1000;
  if (expiresAt + leeway <= seconds) return refused('token.expired', 'The token has expired (exp).');
  if (notBefore !== undefined && notBefore - leeway > seconds)
    return refused('token.not_yet', 'The token is not valid yet (nbf).');
  if (issuedAt !== undefined && issuedAt - leeway > seconds)
    return refused('token.not_yet', 'The token was made in the future (iat).');
  return undefined;
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= maxSeconds;
}

/** Of other systems there may be other names in the list; at least one is ours. */
function isAudience(value: unknown): boolean {
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  return (
    named.length <= maxEntries &&
    named.every((one) => typeof one === 'string') &&
    audiences.some((one) => named.includes(one))
  );
}

/** An empty list would let nobody in, or everybody: whoever wrote it meant something else. */
function listOf(isRight: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) =>
    Array.isArray(value) && value.length >= 1 && value.length <= maxEntries && value.every(isRight);
}

function isOrigin(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxOrigin && isOriginPattern(value);
}

function isBlock(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 64 && cidr(value) !== undefined;
}

function isCountry(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Z]{2}$/.test(value);
}

function isHeight(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxMaxHeight;
}

function isViewer(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= maxViewer;
}

/** A stranger may have written it. */
function shown(kid: string): string {
  return /^[\w.:-]{1,64}$/.test(kid) ? kid : 'of this id';
}
