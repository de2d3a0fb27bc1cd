import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { faultResponse, type HttpCore } from '../../core/http/http.ts';
import type { NodeGate } from '../nodes/node-gate.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { UnansweredRequests } from './unanswered.ts';

/** How often silent connections are looked for, ms: the idle timeout is that exact. */
const checkEvery = 1000;

/**
 * Serves an app over HTTP/1.1 (docs/decisions.md#http). Throws a Fault that names the port when it cannot be opened.
 * `requests`: most concurrent requests; without it any number. `gate`: answers other nodes.
 */
export async function listen(
  app: Pick<HttpCore, 'fetch'>,
  options: {
    host: string;
    port: number;
    log: Log;
    requests?: number;
    gate?: NodeGate;
  },
): Promise<{ port: number; stop(): Promise<void> }> {
  const { host: hostname, port, log, gate, requests = Number.POSITIVE_INFINITY } = options;
  const connections = new Set<Connection>();
  const unanswered = new UnansweredRequests({ log });
  const context: ConnectionContext = {
    pending: 0,
    unanswered,
    answer(request) {
      if (context.pending > requests && !isForOperators(request)) return faultResponse(busy);
      return gate?.(request) ?? app.fetch(request);
    },
    badAddress: () => faultResponse(badAddress),
    failed(error) {
      log.error('a request failed outside its route', { error });
      return faultResponse(internal);
    },
  };
  const listener = opened(options, () =>
    Bun.listen<Connection>({
      ...{ hostname, port, exclusive: true },
      socket: {
        open(socket) {
          socket.setNoDelay(true);
          socket.data = new Connection(socket, context);
          connections.add(socket.data);
        },
        data: (socket, bytes) => socket.data.take(bytes as Buffer),
        drain: (socket) => socket.data.drain(),
        close(socket) {
          connections.delete(socket.data);
          socket.data.closed();
        },
        // A close follows.
        error: () => {},
      },
    }),
  );
  const checking = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.check(now);
    context.pending -= unanswered.giveUp(now);
  }, checkEvery);
  return {
    port: listener.port,
    async stop() {
      clearInterval(checking);
      listener.stop(true);
    },
  };
}

function opened<T>({ host, port }: { host: string; port: number }, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new Fault('http.port_in_use', {
        status: 500,
        message: `Port ${port} (http.port) is in use by another program.`,
      });
    }
    throw new Fault('http.cannot_listen', {
      status: 500,
      message: `Port ${port} on ${host} (http.port, http.host) cannot be opened: ${message}`,
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
