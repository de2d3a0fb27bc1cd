import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The system gives ports from 32768 on (49152 elsewhere) to outgoing connections at any moment, also one whose server
 * is down for a while in a test. Below that nobody takes one by chance.
 */
const from = 12_000;
const to = 32_000;
const given = new Set<number>();

/** Ports that nobody listened on a moment ago, all different. */
export function findFreePorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, findFreePort));
}

export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = from + Math.floor(Math.random() * (to - from));
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
