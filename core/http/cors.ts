import { Fault } from '../base/fault.ts';

/** Seconds a browser keeps a preflight answer: a deleted key must soon stop working from pages. */
const preflightAge = 600;

/**
 * Origins whose pages may read the answer to a request. It is known when the key is, long before there is an
 * answer, and errors are answered elsewhere; so it is noted beside the request.
 */
const readers = new WeakMap<Request, string>();

/**
 * Checks the page that sends a request, if one does, against the list of its key, and notes that it may read the
 * answer. Throws 403 `auth.origin_not_allowed`. The server's own pages need no permission.
 */
export function checkOrigin(request: Request, allowed: readonly string[] | undefined): void {
  const origin = request.headers.get('origin');
  if (origin === null || isOwnPage(request, origin)) return;
  if (!allowed?.includes(origin) && !allowed?.includes('*')) {
    throw originNotAllowed(`This API key may not be used from pages of ${origin}.`);
  }
  readers.set(request, origin);
}

/** Lets the page that sent the request read its answer, if it may. */
export function shareAnswer(request: Request, answer: Response): Response {
  const origin = readers.get(request);
  if (origin === undefined) return answer;
  answer.headers.set('access-control-allow-origin', origin);
  answer.headers.set(
    'access-control-expose-headers',
    'Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Total-Count',
  );
  answer.headers.append('vary', 'Origin');
  return answer;
}

/** The answer to a preflight (Fetch §4.8) of a page whose origin some key allows. */
export function preflightAnswer(origin: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      // `*` stands for all but Authorization; browsers that do not know it have the names.
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, *',
      'access-control-max-age': String(preflightAge),
      vary: 'Origin',
    },
  });
}

export function originNotAllowed(message: string): Fault {
  return new Fault('auth.origin_not_allowed', {
    status: 403,
    message: `${message} Name it in access.cors.allowedOrigins of the key.`,
  });
}

/** Pages cannot set `Sec-Fetch-Site`; browsers leave it out over plain HTTP, where the host has to do. */
function isOwnPage(request: Request, origin: string): boolean {
  if (request.headers.get('sec-fetch-site') === 'same-origin') return true;
  return URL.canParse(origin) && new URL(origin).host === new URL(request.url).host;
}
