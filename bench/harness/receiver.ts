import { connect } from 'node:net';
import { findFreePorts } from '../../test/kit/free-ports.ts';
import type { ReceiverReport } from '../receiver/main.ts';
import { bun, type Core, start } from './children.ts';
import { type Subject, until } from './subject.ts';

export interface Receiver extends Subject {
  readonly port: number;
  /** The newest one; at most a second old. */
  readonly report: ReceiverReport;
}

/** Our RTMP receiver with nothing behind it: what publishers cost before anything is made of their media. */
export async function receiver(options: {
  core?: Core;
  streams: number;
  drop: 'messages' | 'bytes';
}): Promise<Receiver> {
  const [port] = await findFreePorts(1);
  let report: ReceiverReport = { at: 0, publishing: 0, bytes: 0 };
  const child = start([bun, 'bench/receiver/main.ts', String(port), options.drop], {
    core: options.core,
    onLine(line) {
      if (line.startsWith('{')) report = JSON.parse(line) as ReceiverReport;
    },
  });
  await until('the receiver', () => isOpen(port), { within: 10_000, every: 20 }).catch((error) => {
    throw new Error(`${error.message}; it printed:\n${child.output}`);
  });
  return {
    name: options.drop === 'bytes' ? 'sockets' : 'receiver',
    pid: child.pid,
    port,
    get report() {
      return report;
    },
    ingestUrls: Array.from(
      { length: options.streams },
      (_, n) => `rtmp://127.0.0.1:${port}/live/stream-${n + 1}`,
    ),
    playlistUrls: [],
    storedBytes: () => 0,
    recordedBytes: () => 0,
    stop: async () => void (await child.stop()),
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
