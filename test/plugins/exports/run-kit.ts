/** One run of an export, and a server that takes its file. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { AssetReference } from '../../../plugins/assets/contract.ts';
import type { ExportsKit } from '../../../plugins/exports/config.ts';
import { exportKind } from '../../../plugins/exports/request.ts';
import type { TaskWork } from '../../../plugins/tasks/contract.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { modelBlobs } from '../../conformance/blobs/model.ts';
import { client } from '../../outbound/kit.ts';

export const film = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, n) => (n * 7) % 251));
export const key = 'assets/one/source.mp4';

/** One try at an export to a custom URL, by the real client, of a file in memory. */
export async function run(
  custom: { url: string; method?: string; headers?: Record<string, string> },
  options: {
    asset?: Partial<AssetReference> | null;
    blobs?: Partial<Blobs>;
    signal?: AbortSignal;
    config?: Partial<ExportsKit['config']>;
    allow?: string[];
  } = {},
) {
  const { url, method = 'PUT', headers = {} } = custom;
  const { signal = new AbortController().signal, config, allow } = options;
  const blobs = modelBlobs();
  await blobs.put(key, film);
  const video = { key, size: film.length, md5: '', sha256: '' };
  const asset = { status: 'ready', account: 'me', name: 'Friday', playbackId: 'p', file: { video } };
  const found = options.asset === null ? undefined : { ...asset, ...options.asset };
  using outbound = client(allow ? { allow } : {});
  const kit = {
    ...{ outbound, clock: systemClock(), blobs: { ...blobs, ...options.blobs } },
    config: { idleTimeout: '30s', ...config },
    use: () => ({ inputOf: async () => found?.file }),
  } as unknown as ExportsKit;
  const progress: number[] = [];
  const work: TaskWork = {
    ...{ id: 'task', name: 'Friday', phase: 'running', account: 'me', attempt: 1, signal },
    ...{ inputAssetId: 'one', outputAssetId: null },
    params: { custom: { url: 'shown', method } },
    secret: { custom: { url, headers } },
    progress: (fraction) => void progress.push(fraction),
  };
  const ended = await exportKind(kit)
    .run?.(work)
    .catch((error: unknown) => error);
  return { ended, progress };
}

export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A receiver that reads each request to its end and answers it as it is told. */
export async function receiver(
  answer: (request: Received, response: ServerResponse) => unknown,
  options: { host?: string; first?: (request: IncomingMessage, response: ServerResponse) => boolean } = {},
) {
  const requests: Received[] = [];
  const { host = '127.0.0.1', first } = options;
  const server = createServer(async (request, response) => {
    request.on('error', () => {});
    if (first?.(request, response)) return;
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece);
    } catch {
      return;
    }
    const { method, url, headers } = request;
    const received = { method, url, headers, body: Buffer.concat(pieces) };
    requests.push(received);
    await answer(received, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    requests,
    port,
    url: `http://${host}:${port}`,
    host: `${host}:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
