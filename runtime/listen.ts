import type { AnyElysia } from 'elysia';
import { Fault } from '../core/fault.ts';
import { faultResponse } from '../core/http.ts';
import type { Log } from '../core/log.ts';
import type { Peers } from '../core/peers.ts';

/** A blocked playlist reload may be silent for 12 s, an event stream for 5 s. */
const idleTimeout = 30;
/** No route of now takes a larger body; beyond it the connection is closed. */
const maxRequestBodySize = 16 * 1_048_576;

/** Serves an app over HTTP. Throws a Fault that names the port when it cannot be had. */
export async function listen(
  app: AnyElysia,
  options: { host: string; port: number; log: Log; peers?: Peers },
): Promise<{ port: number; stop(): Promise<void> }> {
  try {
    const { host: hostname, port } = options;
    const server = Bun.serve({
      hostname,
      port,
      idleTimeout,
      maxRequestBodySize,
      // Otherwise an error that reaches Bun is answered with a page that shows the source.
      development: false,
      fetch: (request) => (URL.canParse(request.url) ? app.fetch(request) : faultResponse(badAddress)),
      error(error) {
        options.log.error('a request failed outside its route', { error });
        return faultResponse(internal);
      },
    });
    options.peers?.knownBy((request) => server.requestIP(request)?.address);
    return {
      port: server.port ?? port,
      stop: () => server.stop(true),
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new Fault('http.port_in_use', {
        status: 500,
        message: `Port ${options.port} (http.port) is in use by another program.`,
      });
    }
    throw new Fault('http.cannot_listen', {
      status: 500,
      message: `Port ${options.port} on ${options.host} (http.port, http.host) cannot be opened: ${message}`,
    });
  }
}

/** A Host header can be anything, and the URL of a request is made with it. */
const badAddress = new Fault('request.malformed', {
  status: 400,
  message: 'The Host header and the path do not make a URL.',
});
const internal = new Fault('internal', { status: 500, message: 'Something went wrong on our side.' });
