import { isIP } from 'node:net';
import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import { failure } from './failure.ts';
import type { OutboundLimits } from './limits.ts';

/** What is connected to, whatever is spoken there. */
export interface Place {
  readonly isSecure: boolean;
  /** Name or address in the form that certificates and DNS use: no brackets, no dot at the end. */
  readonly host: string;
  /** Whether `host` is an address. */
  readonly isAddress: boolean;
  readonly port: number;
  /** What messages call it, and all that they tell of it: `https://example.com:8443`, or `the server` where even that is a secret. */
  readonly origin: string;
}

/** Where a request goes, read from its URL. */
export interface Target extends Place {
  readonly ok: true;
  /** What the Host header says. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly url: string;
}

/**
 * Ports of services that could take an HTTP request for orders of their own, mail above all (the list that browsers
 * refuse, https://fetch.spec.whatwg.org/#port-blocking, without what is long out of use), and 0.
 */
const refusedPorts = new Set([
  0, 7, 9, 19, 20, 21, 22, 23, 25, 53, 69, 79, 110, 111, 113, 119, 123, 135, 137, 139, 143, 161, 179, 389,
  427, 465, 512, 513, 514, 515, 563, 587, 601, 636, 993, 995, 2049, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
  6668, 6669, 6697,
]);

/**
 * Reads a URL as WHATWG says, so that `http://0x7f.1`, `http://1２7.0.0.1` and the like are what a browser takes
 * them for. Refused are other schemes, user and password, names that DNS cannot have, and some ports.
 */
export function target(
  text: string,
  options: { limits: OutboundLimits; base?: Target },
): Target | OutboundFailure {
  const { limits, base } = options;
  if (text.length > limits.urlLength) {
    return failure('bad-url', `the URL is longer than ${limits.urlLength} characters`);
  }
  const url = URL.parse(text, base?.url);
  if (!url) return failure('bad-url', 'expected a URL such as https://example.com/path');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return failure('bad-url', `expected an http or https URL, not ${url.protocol.slice(0, 40)}`);
  }
  if (url.username !== '' || url.password !== '') {
    return failure('bad-url', 'a URL with a user or password is not accepted');
  }
  const isSecure = url.protocol === 'https:';
  const named = hostOf(url.hostname);
  if (!named) return failure('bad-url', `${url.host} is not a name that DNS can have`);
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (isRefusedPort(port)) return failure('bad-url', `port ${port} is not one that HTTP is spoken on`);
  return {
    ok: true,
    isSecure,
    ...named,
    port,
    origin: url.origin,
    authority: url.host,
    path: `${url.pathname}${url.search}`,
    url: `${url.origin}${url.pathname}${url.search}`,
  };
}

/** The host of a URL as it is connected to; undefined for what is neither an address nor a name that DNS can have. */
export function hostOf(hostname: string): Pick<Place, 'host' | 'isAddress'> | undefined {
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
