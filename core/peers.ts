/** Tells from what address a request came: that of the connection, never of a header, which anybody can write. */
export interface Peers {
  /** The address without port, IPv4 not dressed as IPv6; undefined when the connection is gone or there is none. */
  of(request: Request): string | undefined;
  /** The server that accepts the connections says who the peers are; before it does, nobody is known. */
  knownBy(source: (request: Request) => string | undefined): void;
}

export function peers(): Peers {
  let known: (request: Request) => string | undefined = () => undefined;
  return {
    of(request) {
      const address = known(request);
      return address?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
    },
    knownBy(source) {
      known = source;
    },
  };
}
