import { errorOf, retryAfterOf } from './error.ts';

/** Where a client sends its calls, and how. */
export interface ClientOptions {
  /** Where the server is, such as `https://video.example.com`. */
  readonly baseUrl: string;
  /** An API key. Without one only what is open to all can be called. */
  readonly key?: string;
  /**
   * How often a call is sent at most, default 3. It is sent again only after a 503 with `Retry-After`, and only if a repeat does no
   * harm: GET, PUT, DELETE, and a POST with an Idempotency-Key.
   */
  readonly attempts?: number;
  /** In place of the platform's `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** One call, whatever route it is for. */
export interface CallRequest {
  readonly method: string;
  /** With its parameters filled in: `/api/stream/1f6f0a52-…`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Longest wait between two attempts, s. A server that asks for more is not asked again. */
const longestWait = 30;

/** Sends calls. Resolves with a success; rejects with a `MillraceError`, or with the error of `fetch` when no answer came. */
export function sender(options: ClientOptions): (call: CallRequest) => Promise<Response> {
  const { attempts = 3, fetch: send = (request) => globalThis.fetch(request) } = options;
  return async (call) => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await send(requestOf(call, options));
      if (response.ok) return response;
      const wait = response.status === 503 && isRepeatable(call) ? retryAfterOf(response) : undefined;
      if (wait === undefined || wait > longestWait || attempt >= attempts) throw await errorOf(response);
      // The connection is free for others only when the body was read.
      await response.text();
      await pause(wait * 1000, call.signal);
    }
  };
}

function requestOf(call: CallRequest, { baseUrl, key }: ClientOptions): Request {
  const { method, path, body, idempotencyKey, signal } = call;
  // Anything else could name another host, and the key would go there.
  if (!path.startsWith('/')) throw new TypeError(`path: expected one such as /api/stream, not ${path}`);
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined) continue;
    url.searchParams.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const headers = new Headers(call.headers);
  if (key !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
  return new Request(url, {
    method,
    headers,
    // The API sends nobody elsewhere: a body and other headers would go to whatever host an answer names.
    redirect: 'error',
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

function isRepeatable({ method, idempotencyKey }: CallRequest): boolean {
  return ['GET', 'HEAD', 'PUT', 'DELETE'].includes(method) || idempotencyKey !== undefined;
}

/** Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
