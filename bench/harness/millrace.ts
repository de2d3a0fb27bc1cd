import { join } from 'node:path';
import { findFreePorts } from '../../test/kit/free-ports.ts';
import { type Child, type Core, start, temporaryFolder } from './children.ts';
import { bytesBelow } from './files.ts';
import { type Subject, until } from './subject.ts';

export interface Millrace extends Subject {
  readonly url: string;
  /** An API key that may do everything. */
  readonly key: string;
  readonly child: Child;
  /** Exec to the first 200 of /health/ready, ms. */
  readonly readyAfter: number;
  createStream(name: string): Promise<Stream>;
  /** A call of the API; the answer as it is. */
  call(method: string, path: string, body?: unknown): Promise<Response>;
}

export interface Stream {
  readonly id: string;
  readonly ingestUrl: string;
  readonly playlistUrl: string;
  readonly watchUrl: string;
}

export interface MillraceOptions {
  core?: Core;
  /** Streams made before it answers. */
  streams?: number;
  /** They are recorded. */
  record?: boolean;
  /** Default: a new one, removed at the stop. */
  dataDir?: string;
  /** In front of `runtime/main.ts`. */
  bunArgs?: readonly string[];
  env?: Record<string, string>;
  /** Wait between two questions for readiness, ms. */
  every?: number;
}

const key = 'bench-bootstrap-key-0123456789';

/** Our server, in a process of its own, ready. */
export async function millrace(options: MillraceOptions = {}): Promise<Millrace> {
  const [http, rtmp] = await findFreePorts(2);
  const folder = options.dataDir === undefined ? temporaryFolder() : undefined;
  const dataDir = options.dataDir ?? folder?.path ?? '';
  const url = `http://127.0.0.1:${http}`;
  const startedAt = performance.now();
  // As `npm start` does it, so that what is measured is what users run.
  const child = start(['sh', 'scripts/bun.sh', ...(options.bunArgs ?? []), 'runtime/main.ts'], {
    core: options.core,
    env: {
      MILLRACE_HTTP__PORT: String(http),
      MILLRACE_RTMP__PORT: String(rtmp),
      MILLRACE_PUBLIC_URL: url,
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_BOOTSTRAP_KEY: key,
      ...options.env,
    },
  });
  const isReady = async () => {
    if (child.hasExited) return true;
    const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  };
  await until('/health/ready', isReady, { within: 20_000, every: options.every ?? 20 }).catch((error) => {
    throw new Error(`${error.message}; the server printed:\n${child.output}`);
  });
  const readyAfter = performance.now() - startedAt;
  if (child.hasExited) throw new Error(`the server ended at its start; it printed:\n${child.output}`);

  const call = (method: string, path: string, body?: unknown) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
  const createStream = async (name: string): Promise<Stream> => {
    const answer = await call('POST', '/api/stream', { name, ...(options.record && { record: true }) });
    if (!answer.ok) throw new Error(`POST /api/stream: ${answer.status} ${await answer.text()}`);
    const { id, streamKey, playbackId } = (await answer.json()) as Record<string, string>;
    return {
      id,
      ingestUrl: `rtmp://127.0.0.1:${rtmp}/live/${streamKey}`,
      playlistUrl: `${url}/hls/${playbackId}/index.m3u8`,
      watchUrl: `${url}/watch/${playbackId}`,
    };
  };
  const streams: Stream[] = [];
  for (let n = 1; n <= (options.streams ?? 0); n += 1) streams.push(await createStream(`bench ${n}`));
  return {
    name: 'millrace',
    pid: child.pid,
    url,
    key,
    child,
    readyAfter,
    ingestUrls: streams.map((stream) => stream.ingestUrl),
    playlistUrls: streams.map((stream) => stream.playlistUrl),
    storedBytes: () => 0,
    recordedBytes: () => (options.record ? bytesBelow(join(dataDir, 'recordings')) : 0),
    createStream,
    call,
    async stop() {
      await child.stop();
      folder?.remove();
    },
  };
}
