/** A call of the API that a plugin makes for a client, in the same process. */
export interface InnerCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** Path and query, such as `/api/stream?limit=10`. */
  readonly path: string;
  /** Beside those of the client, but for what the client is known by. */
  readonly headers?: Readonly<Record<string, string>>;
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

/** What a client, and proxies of it, are known by: only the connection that it came on says so. */
const ofClient: ReadonlySet<string> = new Set([
  ...['authorization', 'host', 'origin', 'sec-fetch-site', 'user-agent'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'],
]);

/** Calls inside calls, such as of a tool that calls a dialect: no request can go round in a circle. */
const maxDepth = 2;
const depths = new WeakMap<Request, number>();

/** The request of such a call: from the client of `request`, with its key. Throws where calls are too deep, or `path` is none. */
export function innerRequest(
  request: Request,
  { method, path, body, key, isOpen, ...more }: InnerCall,
): Request {
  const depth = (depths.get(request) ?? 0) + 1;
  if (depth > maxDepth)
    throw new Error(`a call inside ${maxDepth} calls of the program to itself makes no further ones`);
  // Anything else could name another host, and what follows believes it.
  if (!path.startsWith('/') || path.startsWith('//')) throw new TypeError(`${path} is not a path`);
  const headers = new Headers(request.headers);
  for (const name of ofMessage) headers.delete(name);
  for (const [name, value] of Object.entries(more.headers ?? {}))
    if (!ofClient.has(name.toLowerCase())) headers.set(name, value);
  if (isOpen) headers.delete('authorization');
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const inner = new Request(new URL(path, request.url), {
    ...{ method, headers, signal: request.signal },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  depths.set(inner, depth);
  // What the server notes in its requests (runtime/http/connection.ts).
  return Object.defineProperty(inner, 'peer', {
    get: () => (request as Request & { readonly peer?: string }).peer,
  });
}
