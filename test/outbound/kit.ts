import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { cidr } from '../../core/base/cidr.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { outboundClient } from '../../runtime/drivers/outbound/client.ts';
import type { OutboundLimits } from '../../runtime/drivers/outbound/limits.ts';
import type { Lookup } from '../../runtime/drivers/outbound/resolver.ts';

/** A client that may call 127.0.0.1 and nothing else that is not public. Names stand for 127.0.0.1. */
export function client(
  options: {
    allow?: readonly string[];
    lookup?: Lookup;
    limits?: Partial<OutboundLimits>;
    ca?: string[];
    clock?: Clock;
  } = {},
) {
  const {
    allow = ['127.0.0.1/32'],
    lookup = async () => ['127.0.0.1'],
    clock = systemClock(),
    ...rest
  } = options;
  const outbound = outboundClient({ ...rest, clock, lookup, allow: allow.map((text) => cidr(text)!) });
  return Object.assign(outbound, { [Symbol.dispose]: () => outbound.close() });
}

export interface Received {
  /** Number of the connection, from 0. */
  readonly connection: number;
  readonly head: string;
  readonly body: string;
  readonly socket: Socket;
}

type Answer = (request: Received) => string | Uint8Array | undefined;

/** A receiver that answers each request with the bytes that `answer` says, and nothing at all for undefined. */
export async function receiver(
  answer: Answer,
  options: { host?: string; port?: number; tls?: { cert: string; key: string } } = {},
) {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    const connection = connections++;
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      for (let taken = nextRequest(text); taken; taken = nextRequest(text)) {
        text = taken.rest;
        const request = { connection, socket, head: taken.head, body: taken.body };
        requests.push(request);
        const said = answer(request);
        if (said !== undefined) socket.write(said);
      }
    });
  };
  const { host = '127.0.0.1', port: wanted = 0, tls } = options;
  const server = tls ? createTlsServer(tls, accept) : createServer(accept);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(wanted, host, resolve));
  const { port } = server.address() as { port: number };
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    port,
    url: `${tls ? 'https' : 'http'}://${shown}:${port}`,
    requests,
    sockets,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A peer that does with each connection as it is told. */
export async function listening(accept: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function nextRequest(text: string): { head: string; body: string; rest: string } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  if (text.length < end + 4 + length) return undefined;
  return { head, body: text.slice(end + 4, end + 4 + length), rest: text.slice(end + 4 + length) };
}

/** A complete answer. */
export function said(
  status: number,
  options: { body?: string; headers?: Record<string, string> } = {},
): string {
  const { body = '', headers = {} } = options;
  const lines = Object.entries({ ...headers, 'content-length': String(body.length) });
  return `HTTP/1.1 ${status} Said\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}
