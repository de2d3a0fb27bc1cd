/** A call of the API that a plugin makes for a client, in the same process. */
export interface InnerCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** Path and query, such as `/api/stream?limit=10`. */
  readonly path: string;
  /** Sent as JSON. Default: no body. */
  readonly body?: unknown;
  /** The API key, where the request names it in another way than `Authorization: Bearer`. */
  readonly key?: string;
  /** Without the key of the client: for a route that needs none. */
  readonly isOpen?: boolean;
}

/** They describe the body or the connection of the request that came, or ask for an answer that the plugin could not read. */
const ofMessage = [
  ...['connection', 'content-encoding', 'content-length', 'content-type', 'expect', 'keep-alive'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'accept-encoding', 'if-none-match', 'range'],
];

/** The request of such a call: from the client of `request`, with its key. */
export function innerRequest(request: Request, { method, path, body, key, isOpen }: InnerCall): Request {
  const headers = new Headers(request.headers);
  for (const name of ofMessage) headers.delete(name);
  if (isOpen) headers.delete('authorization');
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const inner = new Request(new URL(path, request.url), {
    ...{ method, headers, signal: request.signal },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // What the server notes in its requests (runtime/http/connection.ts).
  return Object.defineProperty(inner, 'peer', {
    get: () => (request as Request & { readonly peer?: string }).peer,
  });
}
