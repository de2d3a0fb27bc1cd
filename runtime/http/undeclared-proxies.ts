import type { Log } from '../../core/base/log.ts';

/** Forwarded requests in a row from one address after which it counts as a proxy; few clients send this header themselves. */
const enough = 200;

/**
 * Notes requests that a proxy has forwarded which `http.trustedProxies` does not name: all its clients count as one address. Says
 * so once, because anyone can send the header.
 */
export function undeclaredProxies(options: {
  log: Log;
  isProxy(address: string): boolean;
}): (request: Request & { readonly peer?: string | undefined }) => void {
  const { log, isProxy } = options;
  let isSaid = false;
  let address: string | undefined;
  let count = 0;
  return (request) => {
    if (isSaid || !request.headers.has('x-forwarded-for')) return;
    const { peer } = request;
    if (peer === undefined || isProxy(peer)) return;
    count = peer === address ? count + 1 : 1;
    address = peer;
    isSaid = count >= enough;
    if (isSaid)
      log.warn(
        'requests come through a proxy that http.trustedProxies does not name: its clients count as one',
        {
          address,
        },
      );
  };
}
