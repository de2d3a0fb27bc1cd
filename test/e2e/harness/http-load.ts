import { connect } from 'node:net';

/**
 * Asks for every path once, over a few connections that are kept, and answers status → how often. Ten times faster than
 * `fetch`, so that the client is not what is measured. Fails when a connection ends before all were answered.
 */
export async function askFor(
  url: string,
  options: { paths: Iterable<string>; connections?: number },
): Promise<Map<number, number>> {
  const { hostname, port } = new URL(url);
  const paths = options.paths[Symbol.iterator]();
  const statuses = new Map<number, number>();
  const lane = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      let text = '';
      let isDone = false;
      const ask = () => {
        const next = paths.next();
        isDone = next.done === true;
        if (isDone) socket.end();
        else socket.write(`GET ${next.value} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
      };
      socket.on('connect', ask);
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
        const body = text.indexOf('\r\n\r\n') + 4;
        if (body < 4) return;
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
        if (!(text.length >= body + length)) return;
        const status = Number(text.slice(9, 12));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        text = '';
        ask();
      });
      socket.on('error', reject);
      socket.on('close', () => (isDone ? resolve() : reject(new Error(`closed with ${text}`))));
    });
  await Promise.all(Array.from({ length: options.connections ?? 16 }, lane));
  return statuses;
}
