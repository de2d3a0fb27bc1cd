import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { driversOf } from '../config/drivers.ts';
import type { Config } from '../config/schema.ts';
import type { Finding } from './finding.ts';

/** How long what is asked may take, ms. */
const patience = 3000;

/** Where the server of the config is reached on this machine. */
export function localUrl({ http: { host, port } }: Config): string {
  if (host === '0.0.0.0' || host === '::' || host === '') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export async function isLive(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health/live`, { signal: AbortSignal.timeout(patience) });
    return ((await answer.json()) as { status?: unknown }).status === 'live';
  } catch {
    return false;
  }
}

export async function portFindings(
  { http, rtmp }: Config,
  { isRunning }: { isRunning: boolean },
): Promise<readonly Finding[]> {
  const ports = [
    { key: 'http.port', host: http.host, port: http.port },
    { key: 'rtmp.port', host: rtmp.host, port: rtmp.port },
    ...(rtmp.tlsPort === undefined ? [] : [{ key: 'rtmp.tlsPort', host: rtmp.host, port: rtmp.tlsPort }]),
  ];
  return Promise.all(
    ports.map(async ({ key, host, port }): Promise<Finding> => {
      const finding = (state: Finding['state'], says: string) => ({
        state,
        about: 'port',
        says: `${port} (${key}) ${says}`,
      });
      const code = port === 0 ? undefined : await listened({ host, port });
      if (code === undefined) return finding('ok', 'is free');
      if (code === 'EADDRINUSE' && isRunning)
        return finding('ok', 'is in use, and a Millrace server runs here');
      if (code === 'EADDRINUSE')
        return finding('bad', `is in use by another program. End that, or change ${key}.`);
      if (code === 'EACCES')
        return finding(
          'bad',
          `needs more rights. Change ${key} to a port from 1024 on, or grant CAP_NET_BIND_SERVICE.`,
        );
      return finding('bad', `cannot be opened at ${host} (${code}). Change the host beside ${key}.`);
    }),
  );
}

/** Why the port cannot be opened. Undefined: it can. */
async function listened(at: { host: string; port: number }): Promise<string | undefined> {
  const server = createServer();
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(at, () => resolve(undefined));
  });
  if (code === undefined) {
    server.close();
    await once(server, 'close');
  }
  return code;
}

/** Databases and the like, by the config. Whether their credentials are right only a start says. */
export async function engineFindings(config: Config): Promise<readonly Finding[]> {
  const { store, bus, blobs } = driversOf(config);
  const found: (Finding | Promise<Finding>)[] = [];
  if (store === 'sqlite') found.push({ state: 'ok', about: 'engine', says: 'SQLite, in dataDir' });
  else {
    const { url, sentinels } = config.redis;
    const at = url === undefined ? undefined : new URL(url);
    const own = at && { host: at.hostname, port: Number(at.port || 6379) };
    const places = sentinels.length > 0 ? sentinels : own ? [own] : [];
    for (const place of places) found.push(reached('Redis', place));
  }
  if (bus === 'kafka')
    for (const broker of config.kafka.brokers) {
      const at = broker.lastIndexOf(':');
      const host = broker.slice(0, at).replace(/^\[|\]$/g, '');
      found.push(reached('Kafka', { host, port: Number(broker.slice(at + 1)) }));
    }
  if (blobs === 's3') found.push(s3Finding(config));
  return Promise.all(found);
}

async function reached(engine: string, { host, port }: { host: string; port: number }): Promise<Finding> {
  const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
  const why = await new Promise<string | undefined>((resolve) => {
    socket.setTimeout(patience, () => resolve(`no answer in ${patience / 1000} s`));
    socket.once('connect', () => resolve(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  socket.destroy();
  const place = `${engine} at ${host}:${port}`;
  return why === undefined
    ? { state: 'ok', about: 'engine', says: `${place} accepts connections` }
    : {
        state: 'bad',
        about: 'engine',
        says: `${place} cannot be reached (${why}). Start it, or correct the config.`,
      };
}

async function s3Finding({ s3: { endpoint, region } }: Config): Promise<Finding> {
  const url = endpoint ?? `https://s3.${region}.amazonaws.com`;
  try {
    // Without credentials the answer is a refusal, which is an answer.
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience) });
    await answer.body?.cancel();
    return { state: 'ok', about: 'engine', says: `S3 at ${url} answers` };
  } catch (error) {
    const says = `S3 at ${url} cannot be reached (${(error as Error).message}). Correct s3.endpoint.`;
    return { state: 'bad', about: 'engine', says };
  }
}
