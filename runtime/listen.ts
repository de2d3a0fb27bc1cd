import type { AnyElysia } from 'elysia';
import { Fault } from '../core/fault.ts';

/** A blocked playlist reload may be silent for 12 s, an event stream for 5 s. */
const idleTimeout = 30;
/** No route of now takes a larger body; beyond it the connection is closed. */
const maxRequestBodySize = 16 * 1_048_576;

/** Serves an app over HTTP. Throws a Fault that names the port when it is taken. */
export async function listen(
  app: AnyElysia,
  options: { host: string; port: number },
): Promise<{ port: number; stop(): Promise<void> }> {
  try {
    const { host: hostname, port } = options;
    const server = Bun.serve({ hostname, port, idleTimeout, maxRequestBodySize, fetch: app.fetch });
    return {
      port: server.port ?? port,
      stop: () => server.stop(true),
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Fault('http.port_in_use', {
      status: 500,
      message: `Port ${options.port} (http.port) is in use by another program.`,
    });
  }
}
