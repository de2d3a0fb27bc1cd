import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to a port of this machine that can be cut. */
export interface Proxy {
  readonly port: number;
  /** Ends all connections once this many bytes more have gone to the server; their answers are lost. */
  cutAfter(bytes: number): void;
  close(): Promise<void>;
}

export async function tcpProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let left = Number.POSITIVE_INFINITY;
  let isCut = false;
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.end();
      });
    }
    near.on('data', (data: Buffer) => {
      const part = data.subarray(0, left);
      left -= part.length;
      if (left > 0) {
        far.write(part);
        return;
      }
      // The server gets what came before the cut and does it; nobody hears of it.
      isCut = true;
      near.destroy();
      far.end(part);
    });
    far.on('data', (data) => {
      if (!isCut) near.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    cutAfter(bytes) {
      left = bytes;
      isCut = false;
      server.once('connection', () => {
        left = Number.POSITIVE_INFINITY;
        isCut = false;
      });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
