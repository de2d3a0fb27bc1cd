import { createServer } from 'node:net';

/** Where everything of `npm run fleet` listens: this port and those behind it. Below the range that systems give out at random. */
export const defaultBase = 8800;

/** What each part listens on, the first port for clients. Of nodes: HTTP and RTMP. */
export interface FleetPorts {
  readonly nodes: Readonly<Record<'a' | 'b' | 'media', readonly number[]>>;
  readonly redis: readonly number[];
  /** The broker, and its controller. */
  readonly kafka: readonly number[];
  readonly s3: readonly number[];
}

/** The same at every start with the same base. */
export function portsFrom(base: number): FleetPorts {
  return {
    nodes: { a: [base, base + 10], b: [base + 1, base + 11], media: [base + 2, base + 12] },
    redis: [base + 3],
    kafka: [base + 4, base + 5],
    s3: [base + 6],
  };
}

/** `8803 (redis)` for each of them that something else listens on. */
export async function takenPorts({ nodes, redis, kafka, s3 }: FleetPorts): Promise<string[]> {
  const parts = Object.entries({ ...nodes, redis, kafka, s3 });
  const taken = await Promise.all(
    parts.flatMap(([name, ports]) =>
      ports.map(async (port) => ((await isFree(port)) ? [] : [`${port} (${name})`])),
    ),
  );
  return taken.flat();
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
