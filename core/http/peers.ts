import { type Cidr, matchLength, plainAddress } from '../base/cidr.ts';

/** Trusted proxies in a row. Of a longer `X-Forwarded-For` the last of them counts as the caller. */
export const maxProxies = 16;

/** Tells from what address a request came. */
export interface Peers {
  /**
   * The address without port, IPv4 not dressed as IPv6: that of the connection, and behind a trusted proxy the one
   * that `X-Forwarded-For` names. Undefined when the connection is gone or there is none.
   */
  of(request: Request): string | undefined;
  /** The connection is a trusted proxy's: what it says of the client in `X-Forwarded-*` is believed. */
  isForwarded(request: Request): boolean;
  /** The server that accepts the connections says who the peers are; before it does, nobody is known. */
  knownBy(source: (request: Request) => string | undefined): void;
}

/**
 * @param options `trusted`: blocks of proxies whose `X-Forwarded-For` is believed. Anybody can write that header, but
 * each proxy adds the address it was asked from at the end; so it is read from there, as far as trusted proxies wrote.
 */
export function peers(options: { trusted: readonly Cidr[] }): Peers {
  const { trusted } = options;
  const isTrusted = (address: string) => trusted.length > 0 && matchLength(address, trusted) >= 0;
  const connectedFrom = (request: Request) => {
    const connected = known(request);
    return connected === undefined ? undefined : (plainAddress(connected) ?? connected);
  };
  let known: (request: Request) => string | undefined = () => undefined;
  return {
    of(request) {
      let address = connectedFrom(request);
      if (address === undefined || !isTrusted(address)) return address;
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
    isForwarded(request) {
      const address = connectedFrom(request);
      return address !== undefined && isTrusted(address);
    },
    knownBy(source) {
      known = source;
    },
  };
}
