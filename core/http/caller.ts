import { type Cidr, matchLength, plainAddress } from '../base/cidr.ts';
import { hostOf } from '../base/host.ts';
import type { HostPaths } from './hosts.ts';

/** The client of a request, as far as its answer depends on it. */
export interface Caller {
  /** What the URLs in the answer begin with, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * Its IP address without port, IPv4 not dressed as IPv6: that of the connection, and behind a trusted proxy the one
   * that `X-Forwarded-For` names. Undefined when the connection is gone.
   */
  readonly address: string | undefined;
}

/** Trusted proxies in a row. Of a longer `X-Forwarded-For` the last of them counts as the caller. */
export const maxProxies = 16;

function trustIn(trusted: readonly Cidr[]): (address: string | undefined) => boolean {
  return (address) => address !== undefined && trusted.length > 0 && matchLength(address, trusted) >= 0;
}

/**
 * Where requests are answered that come to a host name of a plugin; undefined for every other host.
 *
 * @param options `trusted`: as for `callers`
 */
export function hostPath(options: {
  trusted: readonly Cidr[];
  hosts: HostPaths;
}): (request: Request) => string | undefined {
  const { hosts } = options;
  const isTrusted = trustIn(options.trusted);
  return (request) => {
    const isForwarded = isTrusted(connectedFrom(request));
    const host = namedHost(request.headers, forwardedIn(request, { isForwarded }))?.host;
    return host === undefined ? undefined : hosts.get(host);
  };
}

/**
 * The caller of a request. URLs begin with the address that the request came to, which the client can reach; with `publicUrl` where
 * the request has no plain host, and always when it `isFixed`. Other routes have no place at a host name of a plugin, so there
 * they begin with `publicUrl` too.
 *
 * @param options `trusted`: blocks of proxies whose `X-Forwarded-*` is believed. Clients can forge `X-Forwarded-For`, but
 * each proxy appends the address it was called from; so it is read from the end, as far as trusted proxies wrote it.
 */
export function callers(options: {
  trusted: readonly Cidr[];
  publicUrl: string;
  isFixed: boolean;
  hosts?: HostPaths;
}): (request: Request) => Caller {
  const { publicUrl, isFixed, hosts = new Map() } = options;
  const isTrusted = trustIn(options.trusted);
  return (request) => {
    let base: string | undefined;
    return {
      get baseUrl() {
        base ??= isFixed
          ? undefined
          : baseOf(request, { isForwarded: isTrusted(connectedFrom(request)), hosts });
        base ??= publicUrl;
        return base;
      },
      get address() {
        let address = connectedFrom(request);
        if (!isTrusted(address)) return address;
        const passed = request.headers.get('x-forwarded-for')?.split(',').reverse() ?? [];
        for (const text of passed.slice(0, maxProxies)) {
          const before = plainAddress(text.trim());
          // What a proxy wrote is an address; from here on nothing is believed.
          if (before === undefined) return address;
          address = before;
          if (!isTrusted(address)) return address;
        }
        return address;
      },
    };
  };
}

/** Where the connection of a request comes from. The server notes it in the request (`runtime/http/connection.ts`). */
function connectedFrom(request: Request): string | undefined {
  const { peer } = request as Request & { readonly peer?: string };
  return peer === undefined ? undefined : (plainAddress(peer) ?? peer);
}

/**
 * For an answer that is stored and given to others later: URLs made for this caller begin with a host that stands for the real one until
 * `addressed` puts that in. `id`: unknown to clients until they have the answer, so nothing that they sent can look like it.
 */
export function unaddressed({ address }: Caller, id: string): Caller {
  return { baseUrl: `http://${placeholder(id)}`, address };
}

/** The same text for one caller. */
export function addressed(text: string, { id, caller }: { id: string; caller: Caller }): string {
  const host = placeholder(id);
  return text.replaceAll(`http://${host}`, caller.baseUrl).replaceAll(host, new URL(caller.baseUrl).hostname);
}

/** No such host exists (RFC 6761 §6.4). */
const placeholder = (id: string) => `${id}.invalid`;

/**
 * The address that a request came to: its `Host`, or what a trusted proxy says in `X-Forwarded-Proto`, `-Host` and `-Port`. Undefined
 * for a host name of a plugin.
 */
function baseOf(
  request: Request,
  { isForwarded, hosts }: { isForwarded: boolean; hosts: HostPaths },
): string | undefined {
  const forwarded = forwardedIn(request, { isForwarded });
  const proto = forwarded('proto') ?? 'http';
  const named = namedHost(request.headers, forwarded);
  if (!named || hosts.has(named.host) || (proto !== 'http' && proto !== 'https')) return undefined;
  const port = named.port ?? forwarded('port');
  if (port !== undefined && !isPort(port)) return undefined;
  const isDefault = port === undefined || Number(port) === (proto === 'https' ? 443 : 80);
  return `${proto}://${named.host}${isDefault ? '' : `:${Number(port)}`}`;
}

/** What a trusted proxy says. Of several values the last counts, which the nearest proxy wrote. */
function forwardedIn({ headers }: Request, { isForwarded }: { isForwarded: boolean }) {
  return (name: 'proto' | 'host' | 'port') =>
    isForwarded ? headers.get(`x-forwarded-${name}`)?.split(',').at(-1)?.trim().toLowerCase() : undefined;
}

/** Undefined unless it is a plain host with or without a port: clients write what they like into these headers. */
function namedHost(headers: Headers, forwarded: ReturnType<typeof forwardedIn>) {
  return plainHost(forwarded('host') ?? headers.get('host') ?? '');
}

/** `host[:port]` of RFC 9110 §7.2. The host is a name that DNS can have, or an address. */
function plainHost(text: string): { host: string; port: string | undefined } | undefined {
  const [, host, port] = /^([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const known = host === undefined ? undefined : hostOf(host);
  if (!known || host?.startsWith('[') !== known.host.includes(':')) return undefined;
  return { host: known.host.includes(':') ? `[${known.host}]` : known.host, port };
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}
