import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A network between an encoder and the server, which can go dark: sockets stay open, and nothing passes. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing passes in either direction, and no end of a connection either. */
  goDark(): void;
  /** Resets all connections, as when an encoder's machine dies, and for so many ms all that come. */
  cut(options: { forMs: number }): void;
}

export async function proxyTo(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let isDark = false;
  let isOpenAgain = 0;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (performance.now() < isOpenAgain) {
      near.destroy();
      return;
    }
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from);
      from.on('data', (bytes) => {
        if (!isDark) to.write(bytes);
      });
      from.on('end', () => {
        if (!isDark) to.end();
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        if (!isDark) to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    goDark() {
      isDark = true;
    },
    cut({ forMs }) {
      isOpenAgain = performance.now() + forMs;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** In front of a server as a balancer is: what comes while the server is down waits until it is up. */
export async function frontOf(port: number): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => {});
    near.on('close', () => sockets.delete(near));
    near.pause();
    const dial = () => {
      const far = connect({ port, host: '127.0.0.1' });
      far.on('connect', () => {
        near.pipe(far).pipe(near);
        near.on('close', () => far.destroy());
      });
      far.on('close', () => {
        // Refused: nothing of the request was taken from it yet.
        if (far.bytesRead + far.bytesWritten === 0 && !near.destroyed) setTimeout(dial, 50);
        else near.destroy();
      });
      far.on('error', () => {});
    };
    dial();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
