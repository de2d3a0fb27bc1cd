import { addressBits, type Cidr, cidr } from '../../core/base/cidr.ts';

/** What is known of a viewer. */
export interface Facts {
  /** Of the page that plays. Undefined, or the opaque `null`: none. */
  readonly origin: string | undefined;
  readonly address: string | undefined;
  /** ISO 3166-1; undefined where it is unknown. */
  readonly country: string | undefined;
  /** Of this deployment: its own pages always may. */
  readonly ownOrigins: readonly string[];
}

/**
 * Where something may be played: of a policy, `allowedOrigins`, of a token, `origins`. A list that is absent or empty restricts
 * nothing. `https://*.example.com` stands for every host below example.com, however deep, but not for example.com.
 */
export interface Restrictions {
  readonly allowedOrigins?: readonly string[];
  readonly origins?: readonly string[];
  readonly cidrs?: readonly string[];
  readonly countries?: readonly string[];
  /** With origins: also whoever names none. */
  readonly allowNoOrigin?: boolean;
}

export interface Unfit {
  readonly rule: 'origin' | 'cidr' | 'country';
  /** A sentence for the owner. */
  readonly reason: string;
}

/** The first restriction that a viewer does not meet. The country is looked at only where it counts. */
export function misfit(restrictions: Restrictions, facts: Facts): Unfit | undefined {
  return (
    wrongOrigin(restrictions, facts) ?? wrongAddress(restrictions, facts) ?? wrongCountry(restrictions, facts)
  );
}

/** `https://www.example.com`, `http://localhost:3000`, `https://*.example.com`, `capacitor://localhost`: as browsers send it. */
export function isOriginPattern(text: string): boolean {
  return serialized(text.replace(/:\/\/\*\.(?=[^.:])/, '://any.')) !== undefined;
}

function wrongOrigin(
  { allowedOrigins = [], origins = [], allowNoOrigin }: Restrictions,
  facts: Facts,
): Unfit | undefined {
  // Facts are worked out when they are looked at.
  if (allowedOrigins.length === 0 && origins.length === 0) return undefined;
  const { origin, ownOrigins } = facts;
  const lists = [allowedOrigins, origins].filter((list) => list.length > 0);
  if (origin === undefined || origin === 'null')
    return allowNoOrigin ? undefined : { rule: 'origin', reason: 'The player names no origin.' };
  const from = serialized(origin);
  if (from === undefined) return { rule: 'origin', reason: 'What the player names is no origin.' };
  if (ownOrigins.includes(from)) return undefined;
  if (lists.every((list) => list.some((pattern) => matches(pattern, from)))) return undefined;
  return { rule: 'origin', reason: `Pages of ${from} may not play this.` };
}

/** Characters of an origin: a host name has 253 at most. */
const maxOrigin = 300;
/** `scheme://host[:port]` and nothing else. */
const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*,;'"]+$/;

/** An origin as browsers write it (RFC 6454 §6.2); undefined for anything else. */
function serialized(text: string): string | undefined {
  if (text.length > maxOrigin || !originShape.test(text)) return undefined;
  try {
    const { origin, protocol, host } = new URL(text);
    // Apps have schemes of their own, whose origin is opaque to the URL standard.
    const written = origin === 'null' ? `${protocol}//${host}` : origin;
    return written === text ? text : undefined;
  } catch {
    return undefined;
  }
}

/** `origin` is serialized, so that there is one way to write it. */
function matches(pattern: string, origin: string): boolean {
  const star = pattern.indexOf('://*.');
  if (star === -1) return pattern === origin;
  const scheme = pattern.slice(0, star + 3);
  // With the dot, and with the port if there is one.
  const rest = pattern.slice(star + 4);
  return origin.startsWith(scheme) && origin.endsWith(rest) && origin.length > scheme.length + rest.length;
}

function wrongAddress({ cidrs = [] }: Restrictions, facts: Facts): Unfit | undefined {
  if (cidrs.length === 0) return undefined;
  const { address } = facts;
  const bits = address === undefined ? undefined : plainBits(address);
  if (bits === undefined) return { rule: 'cidr', reason: 'The address of the viewer is unknown.' };
  if (blocksOf(cidrs).some((block) => bits.startsWith(block))) return undefined;
  return { rule: 'cidr', reason: `The address ${address} is in no block that may play this.` };
}

/** Before the bits of an IPv4 address: as if it were written as IPv6 (RFC 4291 §2.5.5.2). */
const mapped = `${'0'.repeat(80)}${'1'.repeat(16)}`;

/** The 128 bits of an address, those of IPv4 as they are in IPv6, so that both ways to write it are the same. */
function plainBits(address: string): string | undefined {
  const bits = addressBits(address.replace(/%.*$/, ''));
  return bits?.length === 32 ? mapped + bits : bits;
}

/** Parsed once for each list: a policy with a hundred blocks is looked at for each part that a viewer fetches. */
const parsed = new WeakMap<readonly string[], readonly string[]>();

function blocksOf(cidrs: readonly string[]): readonly string[] {
  const known = parsed.get(cidrs);
  if (known) return known;
  // What is no block holds no address.
  const blocks = cidrs.flatMap((text) => cidr(text) ?? []).map(prefixOf);
  parsed.set(cidrs, blocks);
  return blocks;
}

function prefixOf({ family, prefix }: Cidr): string {
  return family === 4 ? mapped + prefix : prefix;
}

function wrongCountry({ countries = [] }: Restrictions, facts: Facts): Unfit | undefined {
  if (countries.length === 0) return undefined;
  const { country } = facts;
  if (country === undefined) return { rule: 'country', reason: 'The country of the viewer is unknown.' };
  if (countries.includes(country)) return undefined;
  return { rule: 'country', reason: `Viewers in ${country} may not play this.` };
}
