import { closeSync, openSync, readSync } from 'node:fs';
import { connect } from 'node:net';

export interface Put {
  readonly status: number;
  readonly body: string;
  /** From the last byte handed to the network to the end of the answer, ms. */
  readonly readyAfter: number;
  /** From the first byte to the end of the answer, s. */
  readonly seconds: number;
}

/** Sends a file with PUT over a socket of its own, as fast as it is taken. */
export async function putFile(
  path: string,
  options: { readonly url: string; readonly bytes: number },
): Promise<Put> {
  const { hostname, port, pathname, search } = new URL(options.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const answer: Uint8Array[] = [];
  const ended = new Promise<number>((resolve, reject) => {
    socket.on('data', (data: Uint8Array) => answer.push(data));
    socket.on('end', () => resolve(performance.now()));
    socket.on('error', reject);
  });
  ended.catch(() => {});
  const write = (bytes: Uint8Array) => new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  const head = ['Host: bench', 'Connection: close', `Content-Length: ${options.bytes}`, '', ''];
  await write(Buffer.from([`PUT ${pathname}${search} HTTP/1.1`, ...head].join('\r\n')));
  const file = openSync(path, 'r');
  const began = performance.now();
  let sentAt = began;
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(pieceSize);
      const count = readSync(file, piece);
      if (count === 0) break;
      await Promise.race([write(piece.subarray(0, count)), ended]);
      sentAt = performance.now();
    }
  } finally {
    closeSync(file);
  }
  const at = await ended;
  socket.destroy();
  const [lines = '', ...rest] = Buffer.concat(answer).toString().split('\r\n\r\n');
  const status = Number(lines.split(' ')[1]);
  return { status, body: rest.join('\r\n\r\n'), readyAfter: at - sentAt, seconds: (at - began) / 1000 };
}

const pieceSize = 262_144;
