import { type Cidr, matchLength, plainAddress } from '../../core/base/cidr.ts';
import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { faultResponse, type HttpCore } from '../../core/http/http.ts';
import type { NodeGate } from '../nodes/node-gate.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { Seats } from './seats.ts';
import { Turns } from './turns.ts';
import { UnansweredRequests } from './unanswered.ts';
import { undeclaredProxies } from './undeclared-proxies.ts';

/** How often silent connections are looked for, ms: the idle timeout is that exact. */
const checkEvery = 1000;
/** ms over which the speed of a reader is measured: several times what a player or a mobile network pauses for. */
const slowWindow = 60_000;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  /** Most concurrent requests. Default: any number. */
  readonly requests?: number;
  /** Most connections, and most of one address. Default: any number. */
  readonly connections?: number;
  readonly connectionsPerAddress?: number;
  /** Proxies, whose connections are not counted per address. */
  readonly trusted?: readonly Cidr[];
  /** Answers other nodes. */
  readonly gate?: NodeGate;
  /** ms over which the speed of a reader is measured. Default: a minute. */
  readonly slowWindow?: number;
}

/** Serves an app over HTTP/1.1 (docs/decisions.md#http). Throws a Fault that names the port when it cannot be opened. */
export async function listen(
  app: Pick<HttpCore, 'fetch'>,
  options: ListenOptions,
): Promise<{ port: number; stop(): Promise<void> }> {
  const { host: hostname, port, log, gate, requests = Number.POSITIVE_INFINITY } = options;
  const { trusted = [] } = options;
  const isProxy = (peer: string) =>
    trusted.length > 0 && matchLength(plainAddress(peer) ?? peer, trusted) >= 0;
  const seats = new Seats({
    ...{ log, isProxy },
    ...(options.connections !== undefined && { most: options.connections }),
    ...(options.connectionsPerAddress !== undefined && { perAddress: options.connectionsPerAddress }),
  });
  const unanswered = new UnansweredRequests({ log });
  const noteProxy = undeclaredProxies({ log, isProxy });
  const context: ConnectionContext = {
    pending: 0,
    turns: new Turns(),
    ...{ unanswered, seats, slowWindow: options.slowWindow ?? slowWindow },
    answer(request) {
      const isFull = context.pending > requests || request.connection.isSpare;
      if (isFull && !isForOperators(request)) return faultResponse(busy);
      noteProxy(request);
      const internal = gate?.(request);
      // Thousands of viewers may be behind one node.
      if (request.isOfNode) seats.exempt(request.connection);
      return internal ?? app.fetch(request);
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
          socket.data = new Connection(socket, context);
          if (seats.admit(socket.data)) socket.setNoDelay(true);
          else socket.terminate();
        },
        data: (socket, bytes) => socket.data.take(bytes as Buffer),
        drain: (socket) => socket.data.drain(),
        close(socket) {
          seats.leave(socket.data);
          socket.data.closed();
        },
        // A close follows.
        error: () => {},
      },
    }),
  );
  const checking = setInterval(() => {
    const now = performance.now();
    for (const connection of seats) connection.check(now);
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
