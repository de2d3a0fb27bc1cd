import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A network on the way to a server, which cuts connections. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** The next `times` connections that get so far are cut after this many bytes of answers. */
  cutAnswers(after: number, options: { times: number }): void;
  /** The same after this many bytes sent to the server. */
  cutRequests(after: number, options: { times: number }): void;
  /** The next connection that carries a request whose first line is like this is cut when it is answered. */
  loseAnswerTo(firstLine: RegExp): void;
  /** Nothing gets through, and what is open is cut. */
  down(): void;
  up(): void;
  /** How many connections were cut. */
  readonly cuts: number;
  readonly open: number;
}

export async function cuttingProxy(port: number): Promise<CuttingProxy> {
  const pairs = new Set<() => void>();
  const orders = { answers: { after: 0, times: 0 }, requests: { after: 0, times: 0 } };
  let lost: RegExp | undefined;
  let cuts = 0;
  let isDown = false;
  const server = createServer((near) => {
    if (isDown) {
      near.destroy();
      return;
    }
    let isLost = false;
    const far = connect({ port, host: '127.0.0.1' });
    const cut = () => {
      near.destroy();
      far.destroy();
      pairs.delete(cut);
    };
    pairs.add(cut);
    const pass = (from: Socket, to: Socket, order: { after: number; times: number }) => {
      let bytes = 0;
      from.on('data', (piece: Buffer) => {
        bytes += piece.length;
        const isCut = order.times > 0 && bytes > order.after;
        const room = order.after - (bytes - piece.length);
        if (!isCut) {
          if (to.write(piece)) return;
          from.pause();
          to.once('drain', () => from.resume());
          return;
        }
        order.times -= 1;
        cuts += 1;
        if (room <= 0) return cut();
        to.write(piece.subarray(0, room), cut);
      });
      from.on('error', cut);
      from.on('close', cut);
    };
    near.on('data', (piece: Buffer) => {
      if (!lost?.test(piece.toString('latin1').split('\r\n')[0])) return;
      lost = undefined;
      isLost = true;
    });
    far.on('data', () => {
      if (!isLost) return;
      cuts += 1;
      cut();
    });
    pass(near, far, orders.requests);
    pass(far, near, orders.answers);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    cutAnswers(after, { times }) {
      Object.assign(orders.answers, { after, times });
    },
    cutRequests(after, { times }) {
      Object.assign(orders.requests, { after, times });
    },
    loseAnswerTo(firstLine) {
      lost = firstLine;
    },
    down() {
      isDown = true;
      for (const cut of [...pairs]) cut();
    },
    up() {
      isDown = false;
    },
    get cuts() {
      return cuts;
    },
    get open() {
      return pairs.size;
    },
    async [Symbol.asyncDispose]() {
      for (const cut of [...pairs]) cut();
      server.close();
    },
  };
}
