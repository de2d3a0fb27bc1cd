import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Peers } from '../../core/http/caller.ts';
import { faultResponse, type HttpCore } from '../../core/http/http.ts';
import type { NodeGate } from '../nodes/node-gate.ts';
import { ServedRequest } from './served-request.ts';
import { serveHttp } from './server.ts';

/** Request line and headers together: node's default. */
export const maxHead = 16_384;
/** Bytes of any request body; routes that take files have smaller bounds of their own. */
const maxBody = 2 ** 43;
/** Seconds of silence. A blocked playlist reload may be silent for 12 s, an event stream for 5 s. */
const idleTimeout = 30;

/**
 * Serves an app over HTTP. Throws a Fault that names the port when it cannot be opened.
 * `requests`: most concurrent requests; without it any number. `gate`: answers other nodes.
 */
export async function listen(
  app: Pick<HttpCore, 'fetch'>,
  options: {
    host: string;
    port: number;
    log: Log;
    peers?: Peers;
    requests?: number;
    gate?: NodeGate;
  },
): Promise<{ port: number; stop(): Promise<void> }> {
  try {
    const { host: hostname, port, gate, requests = Number.POSITIVE_INFINITY } = options;
    const server = serveHttp({
      hostname,
      port,
      idleTimeout,
      maxHead,
      maxBody,
      answer(request, pending) {
        if (pending > requests && !isForOperators(request)) return faultResponse(busy);
        return gate?.(request) ?? app.fetch(request);
      },
      badAddress: () => faultResponse(badAddress),
      failed(error) {
        options.log.error('a request failed outside its route', { error });
        return faultResponse(internal);
      },
    });
    options.peers?.knownBy((request) => (request instanceof ServedRequest ? request.origin.peer : undefined));
    return {
      port: server.port,
      stop: async () => server.stop(),
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

/** Monitoring must see the server above all when it is busy. */
function isForOperators({ url }: Request): boolean {
  return /^\/(health\/|metrics$)/.test(new URL(url).pathname);
}

/** A Host header can be anything, and the URL of a request is made with it. */
const badAddress = new Fault('request.malformed', {
  status: 400,
  message: 'The Host header and the path do not make a URL.',
});
const busy = new Fault('server.busy', {
  status: 503,
  message: 'Too many concurrent requests. Try again.',
  retryAfter: 1,
});
const internal = new Fault('internal', {
  status: 500,
  message: 'Internal error. The log of the server has the details.',
});
