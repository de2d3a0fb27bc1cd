import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../config/load.ts';

/** Longest a server that we start may take, in milliseconds. */
const startup = 20_000;

/** A server that answers, and what it takes to use it. */
export interface Server {
  /** Base of what this process asks for. */
  readonly base: string;
  /** Base of the links that are shown. */
  readonly publicUrl: string;
  /** `rtmp://host:port/live`. */
  readonly rtmp: string;
  readonly dataDir: string;
  /** Given in the config; otherwise it is in the data folder. */
  readonly bootstrapKey: string | undefined;
  /** Ends the server if it was started for this. */
  stop(): Promise<void>;
}

/**
 * The server that the config describes, read as the server itself reads it: file and environment. It is looked for on this
 * machine, then at its public URL; where neither answers, one is started. Throws when it cannot be started.
 */
export async function findServer(options: {
  environment: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  say: (line: string) => void;
}): Promise<Server> {
  const { environment, signal, say } = options;
  const config = await loadConfig(environment);
  const { dataDir, bootstrapKey } = config;
  // Port 0 is any free port, so no server can be found there.
  const http = config.http.port || freePort();
  const rtmp = config.rtmp.port || freePort();
  const local = `http://${reachable(config.http.host)}:${http}`;
  const known = { publicUrl: config.publicUrl ?? local, dataDir, bootstrapKey };
  const atHome = { ...known, base: local, rtmp: `rtmp://${reachable(config.rtmp.host)}:${rtmp}/live` };
  if (await isReady(local)) return { ...atHome, stop: async () => {} };
  const { publicUrl } = config;
  if (publicUrl !== undefined && (await isReady(publicUrl))) {
    const elsewhere = `rtmp://${new URL(publicUrl).hostname}:${rtmp}/live`;
    return { ...known, base: publicUrl, rtmp: elsewhere, stop: async () => {} };
  }
  const asked = publicUrl === undefined ? local : `${local} or ${publicUrl}`;
  say(`No server answers at ${asked}, so this starts one.`);
  const ports = { MILLRACE_HTTP__PORT: String(http), MILLRACE_RTMP__PORT: String(rtmp) };
  return { ...atHome, stop: await startServer(local, { signal, environment: { ...environment, ...ports } }) };
}

/** Starts the server and waits until it is ready. Returns its stop. */
async function startServer(
  base: string,
  options: { signal: AbortSignal; environment: Readonly<Record<string, string | undefined>> },
): Promise<() => Promise<void>> {
  const server = Bun.spawn({
    cmd: [process.execPath, join(import.meta.dirname, '../runtime/main.ts')],
    env: options.environment,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  // Whatever ends the demo, its server does not stay behind.
  process.once('exit', () => server.kill());
  const began = performance.now();
  while (!(await isReady(base))) {
    if (server.exitCode !== null) {
      throw new Error(
        `the server ended with code ${server.exitCode}. Where one runs already, give the demo the same MILLRACE_CONFIG and MILLRACE_… variables, so that it can be found`,
      );
    }
    if (performance.now() - began > startup)
      throw new Error(`the server was not ready after ${startup / 1000} s`);
    if (options.signal.aborted) process.exit(0);
    await sleep(50);
  }
  return async () => {
    server.kill('SIGTERM');
    await server.exited;
  };
}

async function isReady(base: string): Promise<boolean> {
  try {
    return (await fetch(`${base}/health/ready`, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

/** How a server of this machine is reached that listens at this address. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}
