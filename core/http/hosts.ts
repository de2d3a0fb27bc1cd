/** Host name in small letters → the path that its requests are answered below. */
export type HostPaths = ReadonlyMap<string, string>;

/** The URL with `base` in front of its path. */
export function urlBelow(base: string, url: string): string {
  const moved = new URL(url);
  moved.pathname = `${base}${moved.pathname}`;
  return moved.href;
}

/** The request as if it had come to its path below `base`. Method, headers, body and client stay. */
export function requestBelow(base: string, request: Request): Request {
  const { method, headers, signal, body } = request;
  const moved = new Request(urlBelow(base, request.url), {
    method,
    headers,
    signal,
    body,
    ...(body && { duplex: 'half' }),
  });
  // What the server notes in its requests (runtime/http/connection.ts), and `hold` sets.
  return Object.defineProperties(moved, {
    peer: { get: () => (request as Noted).peer },
    isHeld: {
      set: (isHeld: boolean) => {
        (request as Noted).isHeld = isHeld;
      },
    },
  });
}

interface Noted extends Request {
  readonly peer?: string;
  isHeld?: boolean;
}
