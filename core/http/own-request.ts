/** A request of this program to itself. */
export interface OwnRequest {
  /** Whose client it is for: it is made with that client's address, `Host` and credentials, and ends with it. */
  readonly from: Request;
  /** Default: GET. */
  readonly method?: string;
  /** Beside those of the client. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** What a client says of itself, and proxies of it. */
const carried = [
  ...['authorization', 'host', 'origin', 'sec-fetch-site', 'user-agent'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'],
];

/** Requests that were made here: what answers one of them makes no further ones. */
const made = new WeakSet<Request>();

/** How plugins ask routes of this program, once there are any. */
export interface OwnRequests {
  readonly fetch: (path: string, options: OwnRequest) => Promise<Response>;
  /** From now on `handle` answers. */
  serve(handle: (request: Request) => Promise<Response>): void;
}

/**
 * Asks routes of this program without a connection. The answer is that of the route to the same client: its key is checked,
 * counted and limited as for every request. One level deep, so that no request can go round in a circle.
 */
export function ownRequests(): OwnRequests {
  let answered: ((request: Request) => Promise<Response>) | undefined;
  return {
    serve(handle) {
      answered = handle;
    },
    async fetch(path, options) {
      if (!answered) throw new Error('the program has no routes yet');
      return answered(requestOf(path, options));
    },
  };
}

function requestOf(path: string, { from, method = 'GET', headers = {}, body }: OwnRequest): Request {
  if (made.has(from)) throw new Error('a request that the program made to itself makes no further ones');
  // Anything else could name another host, and what follows believes it.
  if (!path.startsWith('/') || path.startsWith('//')) throw new TypeError(`${path} is not a path`);
  const sent = new Headers(headers);
  for (const name of carried) {
    const value = from.headers.get(name);
    if (value === null) sent.delete(name);
    else sent.set(name, value);
  }
  if (body !== undefined) sent.set('content-type', 'application/json');
  const request = new Request(new URL(path, from.url), {
    ...{ method, headers: sent, signal: from.signal },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  made.add(request);
  const { peer } = from as Request & { readonly peer?: string };
  return Object.assign(request, { peer });
}
