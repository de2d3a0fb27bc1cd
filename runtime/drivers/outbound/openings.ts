import { type Cidr, cidr } from '../../../core/base/cidr.ts';

/** What is open of addresses that are not public. */
export interface Opening {
  readonly blocks: readonly Cidr[];
  /** Of addresses in these blocks; absent: none. */
  readonly closedPorts?: ReadonlySet<number>;
}

/** What is open for an owner; undefined: for what the operator configured. */
export type Openings = (owner: string | undefined) => Opening;

/** The same for everybody, or by owner. */
export type Allowed = readonly Cidr[] | Openings;

export function openingFor(allow: Allowed, owner: string | undefined): Opening {
  return typeof allow === 'function' ? allow(owner) : { blocks: allow };
}

const loopback = ['127.0.0.0/8', '::1/128'].flatMap((text) => cidr(text) ?? []);
const closed: Opening = { blocks: [] };

/**
 * What holds without `outbound.allow`: loopback for the admin account and the operator, so that a first try on one machine works, but
 * not the ports of this deployment; for everybody else nothing.
 *
 * @param options.admin id of the admin account; undefined while there is none
 */
export function defaultOpenings(options: {
  readonly admin: () => string | undefined;
  readonly ownPorts: ReadonlySet<number>;
}): Openings {
  const own: Opening = { blocks: loopback, closedPorts: options.ownPorts };
  return (owner) => (owner === undefined || owner === options.admin() ? own : closed);
}

/** Ports in texts such as `redis://redis:6379`, `kafka:9092` or `http://10.0.0.7:8080`, wherever these are. */
export function portsOf(places: readonly (string | undefined)[]): ReadonlySet<number> {
  const ports = places.flatMap((place) => {
    const [, port] = /:(\d{1,5})(?:[/?#]|$)/.exec(place?.replace(/^[^@]*@/, '') ?? '') ?? [];
    if (port !== undefined) return Number(port);
    if (place === undefined) return [];
    if (place.startsWith('redis')) return 6379;
    return place.startsWith('https:') ? 443 : place.startsWith('http:') ? 80 : [];
  });
  return new Set(ports);
}
