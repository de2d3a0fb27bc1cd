import { connect, type Socket } from 'node:net';
import { readReplies } from '../../rtmp/kit.ts';
import { until } from './wait.ts';

/** Somebody at the RTMP port who sends what it likes, from an address of its own. */
export interface RtmpPeer {
  readonly address: string;
  readonly isClosed: boolean;
  /** `performance.now()` of the end; undefined before. */
  readonly closedAt: number | undefined;
  /** Codes of the status messages it was told. */
  codes(): string[];
  send(...parts: (readonly number[] | Uint8Array)[]): void;
  told(code: string): Promise<void>;
  closed(options: { within: number }): Promise<void>;
  /** Reads nothing from now on: what the server says stays in the network. */
  deafen(): void;
  /** Vanishes with a reset. */
  destroy(): void;
}

/** Connects to `port` of this machine from `from`, an address in 127.0.0.0/8. */
export async function dial(
  port: number,
  options: { from?: string; bytes?: readonly number[] | Uint8Array } = {},
): Promise<RtmpPeer> {
  const { from = '127.0.0.1', bytes = [] } = options;
  const received: Buffer[] = [];
  let closedAt: number | undefined;
  const socket: Socket = connect({ host: '127.0.0.1', port, localAddress: from });
  socket.on('data', (part) => received.push(Buffer.from(part)));
  // How it ends says `close`; a reset is an end like any other.
  socket.on('error', () => {});
  socket.on('close', () => {
    closedAt ??= performance.now();
  });
  const codes = () => readReplies(new Uint8Array(Buffer.concat(received))).codes;
  await until('a connection', () => !socket.connecting, { within: 5000, every: 1 });
  const send = (...parts: (readonly number[] | Uint8Array)[]) => {
    for (const part of parts) if (closedAt === undefined) socket.write(Uint8Array.from(part));
  };
  send(bytes);
  return {
    address: from,
    get isClosed() {
      return closedAt !== undefined;
    },
    get closedAt() {
      return closedAt;
    },
    codes,
    send,
    told: async (code) => {
      await until(`${code}; told ${codes()}`, () => codes().includes(code), { within: 5000, every: 5 });
    },
    closed: async ({ within }) => {
      await until(`the server to close ${from}`, () => closedAt !== undefined, { within, every: 5 });
    },
    deafen: () => void socket.pause(),
    destroy: () => void socket.destroy(),
  };
}
