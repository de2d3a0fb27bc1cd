import { dns } from 'bun';
import { addressBits, type Cidr, cidr, matchLength } from '../../../core/base/cidr.ts';
import { within } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { failure, type OutboundFailure } from '../../../core/ports/outbound.ts';
import { type OutboundLimits, outboundLimits } from './limits.ts';
import { type Allowed, type Opening, openingFor } from './openings.ts';
import type { Place } from './target.ts';

/** All addresses of a name, as text; throws when there are none. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** The only place where names become addresses: what it returns was checked, and is what is connected to. */
export interface Resolver {
  /**
   * Every address was checked. Fails when any of them is refused: a mixed answer is an attack or a mistake. `owner`: on whose behalf.
   */
  resolve(to: Destination, owner?: string): Promise<readonly string[] | OutboundFailure>;
}

type Destination = Pick<Place, 'host' | 'isAddress' | 'origin' | 'port'>;

export function resolver(options: {
  allow: Allowed;
  clock: Clock;
  limits?: Pick<OutboundLimits, 'lookups' | 'lookupTimeout'>;
  lookup?: Lookup;
}): Resolver {
  const { allow, clock, limits = outboundLimits, lookup = askSystem } = options;
  /** By name; an entry stays until the system has answered, however long ago its callers gave up. */
  const running = new Map<string, Promise<readonly string[]>>();

  const ask = (name: string): Promise<readonly string[]> | undefined => {
    const same = running.get(name);
    if (same || running.size >= limits.lookups) return same;
    const asked = (async () => lookup(name))().finally(() => running.delete(name));
    running.set(name, asked);
    return asked;
  };

  return {
    async resolve(to, owner) {
      const { host, origin, port } = to;
      const opening = openingFor(allow, owner);
      const refused = hostProblem(to, opening);
      if (refused) return refused;
      if (to.isAddress) return [host];
      if (isLocalhost(host)) return loopbacks(opening, port);
      const asked = ask(host);
      if (!asked) return failure('busy', `more than ${limits.lookups} lookups of names are under way`);
      const ms = limits.lookupTimeout;
      const late = () => new Error('the name server is silent');
      const answer = asked.catch((): readonly string[] => []);
      const addresses = await within(answer, { ms, clock, late }).catch(() => undefined);
      if (!addresses) return failure('dns', `${origin}: its name was not resolved within ${ms} ms`);
      if (addresses.length === 0) return failure('dns', `${origin}: its name could not be resolved`);
      // The address itself is not named: that would reveal the names of an inner network.
      for (const address of addresses) {
        const what = refusalIn(opening, { address, port });
        if (what !== undefined) return failure('refused', `${origin} stands for ${what}, ${notAllowed}`);
      }
      return [...new Set(addresses)];
    },
  };
}

const notAllowed = 'which outbound.allow does not open';

/** What can be said against a host without asking DNS. */
export function hostProblem(
  { host, isAddress, origin, port }: Destination,
  opening: Opening,
): OutboundFailure | undefined {
  const what = isAddress
    ? refusalIn(opening, { address: host, port })
    : isLocalhost(host) && loopbacks(opening, port).length === 0
      ? refusalIn(opening, { address: '127.0.0.1', port })
      : undefined;
  return what === undefined ? undefined : failure('refused', `${origin} is ${what}, ${notAllowed}`);
}

/** RFC 6761 §6.3: never asked of DNS, which could say anything. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function loopbacks(opening: Opening, port: number): string[] {
  return ['127.0.0.1', '::1'].filter((address) => refusalIn(opening, { address, port }) === undefined);
}

/** As `refusalOf`, with the ports that stay closed where an address is open only by what the deployment allows. */
function refusalIn(
  { blocks, closedPorts }: Opening,
  { address, port }: { address: string; port: number },
): string | undefined {
  const isOwn = closedPorts?.has(port) && matchLength(address, blocks) >= 0;
  return isOwn ? "a port of this deployment's own nodes or engines" : refusalOf(address, { allow: blocks });
}

/**
 * Not the system's `getaddrinfo`: it keeps a thread until the name server has answered, of which Bun has one for each core,
 * and files are read by the same ones. Two names with a silent server would hold up all others and the disk for 10 s.
 */
async function askSystem(name: string): Promise<readonly string[]> {
  return (await dns.lookup(name, { backend: 'c-ares' })).map(({ address }) => address);
}

/**
 * What an address is that must not be connected to: `"a loopback address"`; undefined when it may be. Text that is
 * no plain address (a zone id, a short form) may never be. `allow` opens blocks that are closed otherwise.
 */
export function refusalOf(address: string, options: { allow: readonly Cidr[] }): string | undefined {
  if (matchLength(address, everything) < 0) return 'not an address';
  if (matchLength(address, options.allow) >= 0) return undefined;
  const closed = closedBlocks.find(({ blocks }) => matchLength(address, blocks) >= 0);
  if (closed) return closed.what;
  // ISATAP (RFC 5214 §6.1) hides an IPv4 address in the lower half of any IPv6 prefix.
  if (isatap.test(addressBits(address) ?? '')) return 'an address translated to IPv4 (ISATAP)';
  // In IPv6 only this block is handed out to the public (IANA): what is not known to be public is closed.
  return matchLength(address, publicBlocks) >= 0 ? undefined : 'a reserved address';
}

/**
 * IANA's registries of special-purpose addresses (RFC 6890), the multicast blocks, and what clouds use for metadata.
 * The first that matches names the address.
 */
const closedBlocks = [
  // AWS and most others; AWS over IPv6; Alibaba; Azure's is an address that looks public.
  closedAs(
    'a metadata address of a cloud',
    '169.254.169.254/32',
    'fd00:ec2::254/128',
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fd20:ce::254/128',
  ),
  closedAs('an unspecified address', '0.0.0.0/8', '::/128'),
  closedAs('a loopback address', '127.0.0.0/8', '::1/128'),
  closedAs('a private address', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'),
  closedAs('an address behind a carrier NAT', '100.64.0.0/10'),
  closedAs('a link-local address', '169.254.0.0/16', 'fe80::/10'),
  closedAs('a multicast address', '224.0.0.0/4', 'ff00::/8'),
  closedAs('the broadcast address', '255.255.255.255/32'),
  closedAs(
    'a documentation address',
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ),
  closedAs('a benchmarking address', '198.18.0.0/15', '2001:2::/48'),
  closedAs('an address mapped to IPv4', '::ffff:0:0/96', '::ffff:0:0:0/96'),
  closedAs(
    'an address translated to IPv4',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '2002::/16',
    '2001::/32',
    '192.88.99.0/24',
    '::/96',
  ),
  closedAs(
    'a reserved address',
    '192.0.0.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.175.48.0/24',
    '240.0.0.0/4',
    '2001::/23',
    '2620:4f:8000::/48',
    '100::/64',
    '5f00::/16',
  ),
];
const publicBlocks = ['0.0.0.0/0', '2000::/3'].map(block);
const everything = ['0.0.0.0/0', '::/0'].map(block);
/** `0:5efe` or `200:5efe` at the start of an IPv6 address's lower half. */
const isatap = /^.{64}000000[01]0{9}0101111011111110/;

function closedAs(what: string, ...texts: string[]): { what: string; blocks: Cidr[] } {
  return { what, blocks: texts.map(block) };
}

function block(text: string): Cidr {
  const parsed = cidr(text);
  if (!parsed) throw new Error(`not a block: ${text}`);
  return parsed;
}
