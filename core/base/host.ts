import { isIP } from 'node:net';

/** Who is connected to. */
export interface Host {
  /** Name or address in the form that certificates and DNS use: no brackets, no dot at the end. */
  readonly host: string;
  /** Whether `host` is an address. */
  readonly isAddress: boolean;
}

/**
 * Ports of services that could take an HTTP request for orders of their own, mail above all (the list that browsers
 * refuse, https://fetch.spec.whatwg.org/#port-blocking, without what is long out of use or also carries media, such as
 * 10080 of SRT), file shares, and 0.
 */
const refusedPorts = new Set([
  0, 7, 9, 19, 20, 21, 22, 23, 25, 53, 69, 79, 110, 111, 113, 119, 123, 135, 137, 139, 143, 161, 179, 389,
  427, 445, 465, 512, 513, 514, 515, 548, 563, 587, 601, 636, 993, 995, 2049, 5060, 5061, 6000, 6566, 6665,
  6666, 6667, 6668, 6669, 6697,
]);

/** The host of a URL as it is connected to; undefined for what is neither an address nor a name that DNS can have. */
export function hostOf(hostname: string): Host | undefined {
  const host = hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();
  const isAddress = isIP(host) !== 0;
  return isAddress || isName(host) ? { host, isAddress } : undefined;
}

/** Whether something else is spoken on this port that must not be given orders. */
export function isRefusedPort(port: number): boolean {
  return refusedPorts.has(port);
}

/** RFC 1123 §2.1, with the underscore that people use; the last label must not make it look like an address. */
function isName(host: string): boolean {
  if (host.length > 253) return false;
  const labels = host.split('.');
  return (
    labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) &&
    !/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')
  );
}
