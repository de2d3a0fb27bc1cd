import { dns } from 'bun';
import type { Cidr } from '../../../core/base/cidr.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import { failure } from './failure.ts';
import { refusalOf } from './guard.ts';
import { type OutboundLimits, outboundLimits } from './limits.ts';
import type { Place } from './target.ts';

/** All addresses of a name, as text; throws when there are none. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** The only place where names become addresses: what it returns was checked, and is what is connected to. */
export interface Resolver {
  /** Every address was checked. Fails when any of them is refused: a mixed answer is an attack or a mistake. */
  resolve(to: Pick<Place, 'host' | 'isAddress' | 'origin'>): Promise<readonly string[] | OutboundFailure>;
}

export function resolver(options: {
  allow: readonly Cidr[];
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
    async resolve(to) {
      const { host, origin } = to;
      const refused = hostProblem(to, { allow });
      if (refused) return refused;
      if (to.isAddress) return [host];
      if (isLocalhost(host)) return loopbacks({ allow });
      const asked = ask(host);
      if (!asked) return failure('busy', `more than ${limits.lookups} lookups of names are under way`);
      const addresses = await inTime(asked, { clock, limit: limits.lookupTimeout });
      if (addresses === 'late') {
        return failure('dns', `${origin}: its name was not resolved within ${limits.lookupTimeout} ms`);
      }
      if (addresses === 'failed' || addresses.length === 0) {
        return failure('dns', `${origin}: its name could not be resolved`);
      }
      // The address itself is not named: that would reveal the names of an inner network.
      for (const address of addresses) {
        const what = refusalOf(address, { allow });
        if (what !== undefined) return failure('refused', `${origin} stands for ${what}, ${notAllowed}`);
      }
      return [...new Set(addresses)];
    },
  };
}

const notAllowed = 'which outbound.allow does not open';

/** What can be said against a host without asking DNS. */
export function hostProblem(
  { host, isAddress, origin }: Pick<Place, 'host' | 'isAddress' | 'origin'>,
  { allow }: { allow: readonly Cidr[] },
): OutboundFailure | undefined {
  const what = isAddress
    ? refusalOf(host, { allow })
    : isLocalhost(host) && loopbacks({ allow }).length === 0
      ? 'a loopback address'
      : undefined;
  return what === undefined ? undefined : failure('refused', `${origin} is ${what}, ${notAllowed}`);
}

/** RFC 6761 §6.3: never asked of DNS, which could say anything. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function loopbacks({ allow }: { allow: readonly Cidr[] }): string[] {
  return ['127.0.0.1', '::1'].filter((address) => refusalOf(address, { allow }) === undefined);
}

/**
 * Not the system's `getaddrinfo`: it keeps a thread until the name server has answered, of which Bun has one for each core,
 * and files are read by the same ones. Two names with a silent server would hold up all others and the disk for 10 s.
 */
async function askSystem(name: string): Promise<readonly string[]> {
  return (await dns.lookup(name, { backend: 'c-ares' })).map(({ address }) => address);
}

async function inTime<T>(
  work: Promise<T>,
  options: { clock: Clock; limit: number },
): Promise<T | 'late' | 'failed'> {
  let cancel = () => {};
  const late = new Promise<'late'>((resolve) => {
    cancel = options.clock.at(options.clock.now() + options.limit, () => resolve('late'));
  });
  try {
    return await Promise.race([work.catch(() => 'failed' as const), late]);
  } finally {
    cancel();
  }
}
