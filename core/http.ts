import { type AnyElysia, Elysia } from 'elysia';
import { shareAnswer } from './cors.ts';
import { Fault } from './fault.ts';
import type { Log } from './log.ts';
import type { RequestCounts } from './request-counts.ts';
import { withoutSecrets } from './secrets.ts';

/**
 * The HTTP core that plugin routes are mounted on: error bodies and the 404. Handlers throw a Fault;
 * everything else that is thrown is answered 500 without details and logged with them.
 */
export function httpCore(options: {
  log: Log;
  routes: readonly AnyElysia[];
  counts?: RequestCounts;
}): AnyElysia {
  const { counts } = options;
  // Without `standardHostname: false` the path is looked for behind a host of four letters or more: behind
  // `http://api/` nothing would be found.
  const app = new Elysia({
    normalize: false,
    strictPath: true,
    handler: { standardHostname: false },
  })
    .onRequest(({ request }) => counts?.begin(request))
    .onAfterHandle(({ request, responseValue, route, set }) => {
      const status = responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200);
      counts?.end(request, { route, status });
      if (responseValue instanceof Response) shareAnswer(request, responseValue);
    })
    .onError(({ error, code, request, route }) => {
      const status = error instanceof Fault ? error.status : code === 'NOT_FOUND' ? 404 : 500;
      counts?.end(request, { route, status });
      if (error instanceof Fault) return shareAnswer(request, faultResponse(error));
      if (code === 'NOT_FOUND') {
        return faultResponse(
          new Fault('route.not_found', { status: 404, message: 'There is nothing at this path.' }),
        );
      }
      options.log.error('request failed', {
        method: request.method,
        path: new URL(request.url).pathname,
        error,
      });
      const internal = new Fault('internal', { status: 500, message: 'Something went wrong on our side.' });
      return shareAnswer(request, faultResponse(internal));
    });
  for (const routes of options.routes) app.use(routes);
  return app;
}

/** What a route does, for the API reference. */
export function says(summary: string): { detail: { summary: string } } {
  return { detail: { summary } };
}

/** `{"errors": ["…"], "code": "…"}` with the fault's status; what looks like a secret is not repeated. */
export function faultResponse(fault: Fault, more: Readonly<Record<string, string>> = {}): Response {
  const headers = new Headers({ 'content-type': 'application/json', ...more });
  if (fault.retryAfter !== undefined) headers.set('retry-after', String(fault.retryAfter));
  if (fault.status === 401) headers.set('www-authenticate', 'Bearer');
  return new Response(JSON.stringify({ errors: fault.problems.map(withoutSecrets), code: fault.code }), {
    status: fault.status,
    headers,
  });
}
