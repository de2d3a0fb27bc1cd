import { Connection, type ConnectionContext } from './connection.ts';
import type { ServedRequest } from './served-request.ts';

export interface ServerOptions {
  readonly hostname: string;
  readonly port: number;
  /** Seconds of silence after which a connection is closed. */
  readonly idleTimeout: number;
  /** Bytes of a request line with its headers. */
  readonly maxHead: number;
  /** Bytes of a request body. */
  readonly maxBody: number;
  /** `pending`: requests under way, this one among them. */
  answer(request: ServedRequest, pending: number): Response | Promise<Response>;
  badAddress(): Response;
  failed(error: unknown): Response;
}

export interface HttpServer {
  readonly port: number;
  /** Closes the port and all connections. */
  stop(): void;
}

/** How often connections are looked at that are silent, in ms: the idle timeout is that exact. */
const checkEvery = 1000;

/** Serves HTTP/1.1 on a port of its own (docs/decisions.md#http). Throws what `Bun.listen` does. */
export function serveHttp(options: ServerOptions): HttpServer {
  const { hostname, port, idleTimeout, maxHead, maxBody, badAddress, failed } = options;
  const connections = new Set<Connection>();
  let context: ConnectionContext;
  const listener = Bun.listen<Connection>({
    hostname,
    port,
    exclusive: true,
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
  });
  context = {
    ...{ maxHead, maxBody, badAddress, failed, pending: 0 },
    host: `localhost:${listener.port}`,
    idle: idleTimeout * 1000,
    answer: (request) => options.answer(request, context.pending),
  };
  const checking = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.check(now);
  }, checkEvery);
  return {
    port: listener.port,
    stop() {
      clearInterval(checking);
      listener.stop(true);
    },
  };
}
