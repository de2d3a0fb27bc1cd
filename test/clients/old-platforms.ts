import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that was answered. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** A server that answers as another platform does. */
export interface OldPlatform extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Requests for films so far. */
  readonly fetched: number;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answers = (request: { method: string; url: URL; authorization: string }) => Answer | 'film';

/** ms that a film takes, so that a command can be killed in the middle. */
const filmTime = 40;

/** `isBusy`: each tenth request is answered 429, with `Retry-After`. */
async function platform(answers: Answers, { film }: { film: Uint8Array }): Promise<OldPlatform> {
  const asked: Asked[] = [];
  let fetched = 0;
  const http = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const url = new URL(request.url ?? '/', 'http://old.invalid');
    const { method = 'GET' } = request;
    const { authorization = '' } = request.headers;
    const isBusy = asked.length % 25 === 24;
    const answer: Answer | 'film' = isBusy
      ? { status: 429, headers: { 'retry-after': '0' } }
      : answers({ method, url, authorization });
    if (answer === 'film') {
      fetched += 1;
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': film.length });
        response.end(film);
      }, filmTime);
      return;
    }
    asked.push({ method, path: url.pathname, status: answer.status });
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    get fetched() {
      return fetched;
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

export const muxCredentials = { id: 'mux-token-id', secret: 'mux-token-secret' };
/** As ids of Mux are: letters of both cases, some 45 of them. */
export const muxId = (kind: string, n: number) =>
  `${kind}${String(n).padStart(3, '0')}Dv01sLXj5fUEo02PgC9iXqUNnR00j`;
export const muxKey = (n: number) => `5203dc64-074a-5914-0dfc-ce007f5db5${String(n).padStart(2, '0')}`;
const uuidOf = (kind: string, n: number) => `${kind}0000000-4f1a-4b5e-9c3d-${String(n).padStart(12, '0')}`;
const idInMux = {
  notFound: { status: 404, body: { error: { type: 'not_found', messages: ['Not found'] } } },
  unauthorized: {
    status: 401,
    body: { error: { type: 'unauthorized', messages: ['Unauthorized request'] } },
  },
};

/**
 * 50 assets of Mux, two of them errored and signed without master access; the last but two have a static rendition and no master access, and
 * the one before a signed id with master access. Two live streams, and two webhooks, one of them off.
 */
export async function oldMux(film: Uint8Array): Promise<OldPlatform> {
  const masters = new Map<string, number>();
  const page = (rows: readonly unknown[], url: URL, size = Number(url.searchParams.get('limit'))) => {
    const from = (Number(url.searchParams.get('page') ?? 1) - 1) * size;
    return { status: 200, body: { data: rows.slice(from, from + size) } };
  };
  let base = '';
  const assetOf = (n: number) => {
    const id = muxId('asset', n);
    const looks = masters.get(id) ?? 0;
    const isSigned = n === 48 || n === 50;
    return {
      id,
      created_at: '1700000000',
      status: n === 49 ? 'errored' : 'ready',
      ...(n === 49 && { errors: { type: 'invalid_input', messages: ['The file is no video'] } }),
      encoding_tier: 'smart',
      max_resolution_tier: '1080p',
      progress: { state: 'completed', progress: 100 },
      playback_ids: [{ id: muxId('play', n), policy: isSigned ? 'signed' : 'public' }],
      ...(n % 2 === 0 && { passthrough: `Film ${n}` }),
      ...(n === 47 && {
        mp4_support: 'capped-1080p',
        static_renditions: {
          status: 'ready',
          files: [
            { name: 'audio.m4a', ext: 'm4a' },
            { name: 'capped-1080p.mp4', ext: 'mp4', height: 180, width: 320 },
          ],
        },
      }),
      master_access: looks > 0 ? 'temporary' : 'none',
      ...(looks > 0 && {
        master:
          looks > 1
            ? { status: 'ready', url: `${base}/master/${id}.mp4?token=secret` }
            : { status: 'preparing' },
      }),
    };
  };
  const server = await platform(
    ({ method, url, authorization }) => {
      if (url.pathname.endsWith('.mp4')) return 'film';
      const { id, secret } = muxCredentials;
      if (authorization !== `Basic ${btoa(`${id}:${secret}`)}`) return idInMux.unauthorized;
      if (url.pathname === '/video/v1/assets') {
        // Smaller pages than asked for.
        const from = Number(url.searchParams.get('cursor') ?? 1);
        const rows = Array.from({ length: 20 }, (_, n) => from + n).filter((n) => n <= 50);
        const next = from + 20 <= 50 ? String(from + 20) : null;
        return { status: 200, body: { data: rows.map(assetOf), next_cursor: next } };
      }
      const [, asset, access] =
        /^\/video\/v1\/assets\/asset(\d{3})\w+(\/master-access)?$/.exec(url.pathname) ?? [];
      if (asset !== undefined) {
        const n = Number(asset);
        const key = muxId('asset', n);
        if (access && method === 'PUT') {
          if (n === 47 || n === 50)
            return { status: 403, body: { error: { type: 'forbidden', messages: ['Not on this plan'] } } };
          masters.set(key, masters.get(key) ?? 1);
        } else if (masters.has(key)) masters.set(key, (masters.get(key) ?? 0) + 1);
        return { status: 200, body: { data: assetOf(n) } };
      }
      if (url.pathname === '/video/v1/live-streams')
        return page(
          [1, 2].map((n) => liveOf(n)),
          url,
          1,
        );
      if (url.pathname === '/system/v1/webhooks')
        return page(
          [
            {
              id: 'hook1',
              address: 'https://hooks.example.com/mux',
              created_at: '1700000000',
              enabled: true,
            },
            {
              id: 'hook2',
              address: 'https://hooks.example.com/off',
              created_at: '1700000000',
              enabled: false,
            },
          ],
          url,
        );
      return idInMux.notFound;
    },
    { film },
  );
  base = server.url;
  return server;
}

function liveOf(n: number) {
  return {
    id: muxId('live', n),
    status: 'idle',
    created_at: '1700000000',
    stream_key: n === 1 ? muxKey(1) : 'weak',
    latency_mode: 'low',
    max_continuous_duration: 43_200,
    playback_ids: [{ id: muxId('show', n), policy: 'public' }],
    passthrough: `Show ${n}`,
    ...(n === 1 && { new_asset_settings: { playback_policies: ['public'] } }),
    ...(n === 2 && { simulcast_targets: [{ id: 's', url: 'rtmp://x.example.com/live', status: 'idle' }] }),
  };
}

export const livepeerKey = 'livepeer-api-key';
export const livepeerStreamKey = (n: number) => `hg3${n}-6xd8-1x9w-z3tl`;
export const livepeerId = uuidOf;
/** As playback ids of Livepeer are: like those of Millrace. */
export const livepeerPlaybackId = (kind: string, n: number) =>
  `${kind}eese9wwl88k4${String(n).padStart(3, '0')}`;

/** 50 assets of Livepeer Studio, one of them failed, one without a file, one closed by a webhook. Two streams, and two webhooks. */
export async function oldLivepeer(film: Uint8Array): Promise<OldPlatform> {
  let base = '';
  const assetOf = (n: number) => ({
    id: livepeerId('a', n),
    type: 'video',
    name: `Film ${n}.mp4`,
    playbackId: livepeerPlaybackId('a', n),
    source: { type: 'directUpload' },
    status:
      n === 49
        ? { phase: 'failed', updatedAt: 1, errorMessage: 'Not a video' }
        : { phase: 'ready', updatedAt: 1 },
    ...(n < 49 && { downloadUrl: `${base}/raw/${n}/video.mp4` }),
    ...(n === 48 && { playbackPolicy: { type: 'webhook', webhookId: 'w', allowedOrigins: ['*'] } }),
    createdAt: 1_700_000_000_000,
  });
  const server = await platform(
    ({ url, authorization }) => {
      if (url.pathname.startsWith('/raw/')) return 'film';
      if (authorization !== `Bearer ${livepeerKey}`)
        return { status: 401, body: { errors: ['not authenticated'] } };
      if (url.pathname === '/api/asset') {
        const from = Number(url.searchParams.get('cursor') ?? 1);
        const rows = Array.from({ length: 20 }, (_, n) => from + n).filter((n) => n <= 50);
        const next = from + 20;
        const link = `<http://elsewhere.invalid/api/asset?limit=20&cursor=${next}>; rel="next"`;
        return { status: 200, body: rows.map(assetOf), ...(next <= 50 && { headers: { link } }) };
      }
      const [, asset] = /^\/api\/asset\/a\S*-0*(\d+)$/.exec(url.pathname) ?? [];
      if (asset !== undefined) return { status: 200, body: assetOf(Number(asset)) };
      if (url.pathname === '/api/stream') return { status: 200, body: [1, 2].map((n) => streamOf(n)) };
      if (url.pathname === '/api/webhook') return { status: 200, body: hooks };
      return { status: 404, body: { errors: ['not found'] } };
    },
    { film },
  );
  base = server.url;
  return server;
}

function streamOf(n: number) {
  return {
    id: livepeerId('b', n),
    kind: 'stream',
    name: `Show ${n}`,
    streamKey: livepeerStreamKey(n),
    playbackId: livepeerPlaybackId('b', n),
    record: n === 1,
    isActive: false,
    ...(n === 2 && { multistream: { targets: [{ id: 't', profile: 'source' }] } }),
  };
}

const hooks = [
  {
    id: 'c1',
    kind: 'webhook',
    name: 'All',
    url: 'https://hooks.example.com/livepeer',
    events: ['stream.started', 'playback.user.new', 'asset.ready'],
  },
  {
    id: 'c2',
    kind: 'webhook',
    name: 'One stream',
    url: 'https://hooks.example.com/one',
    events: ['stream.idle'],
    streamId: livepeerId('b', 2),
  },
];
