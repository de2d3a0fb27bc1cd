import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { withoutSecrets } from '../base/secrets.ts';
import { maxJsonBytes } from './body.ts';
import { shareAnswer } from './cors.ts';
import type { ErrorFormat, ErrorForms } from './error-format.ts';
import { type FaultCauses, madeOf } from './fault-causes.ts';
import { requestBelow, urlBelow } from './hosts.ts';
import type { Operation } from './operation.ts';
import type { RequestCounts } from './request-counts.ts';
import { tellRate } from './request-limits.ts';
import { methodsAt, nearPath, routesOf } from './routes.ts';

/**
 * The HTTP core that plugin routes are mounted on: error bodies, the 404 and the 405. Handlers throw a Fault;
 * everything else that is thrown is answered 500 without details and logged with them.
 */
export function httpCore(options: HttpCoreOptions): HttpCore {
  const { counts, hasApi = true, hostPath } = options;
  const { answered, failed, absent } = answers(options);

  // Without `standardHostname: false` the path is looked for behind a host of four letters or more: behind
  // `http://api/` nothing would be found.
  const app = new Elysia({
    normalize: false,
    strictPath: true,
    handler: { standardHostname: false },
  })
    // When the request came, epoch ms. In its context: a WeakMap of requests is work for the garbage collector.
    .decorate('began', 0)
    // No call in the place of an answer: Elysia would take the hook for async, and let every request wait for it.
    .onRequest((context) => {
      if (counts) context.began = counts.begin();
    })
    .onAfterHandle(({ request, responseValue, route, set, began }) => {
      if (responseValue instanceof Response) return void answered(responseValue, { request, route, began });
      counts?.end({ began, method: request.method, route, status: Number(set.status ?? 200) });
    })
    .onError(({ error, code, request, route, began = 0 }) => {
      if (code !== 'NOT_FOUND') return failed(error, { request, route, began });
      const answer = absent(request);
      counts?.end({ began, method: request.method, route, status: answer.status });
      return answer;
    });
  const takeFiles = routesWith(options.routes, ({ file }) => file !== undefined);
  app.onBeforeHandle(({ request, route }) => {
    const length = Number(request.headers.get('content-length') ?? 0);
    if (length > maxJsonBytes && !takeFiles.has(`${request.method} ${route}`)) throw tooLarge;
  });
  if (!hasApi) {
    const everywhere = routesWith(options.routes, ({ isOnEveryNode }) => isOnEveryNode === true);
    app.onBeforeHandle(({ request: { method }, route }) => {
      // A preflight tells nothing that would be this node's to keep.
      if (method !== 'OPTIONS' && !everywhere.has(`${method === 'HEAD' ? 'GET' : method} ${route}`))
        throw noApi;
    });
  }
  for (const routes of options.routes) app.use(routes);

  const core: HttpCore = {
    routes: app.routes,
    urlOf(request) {
      const base = hostPath?.(request);
      return base === undefined ? request.url : urlBelow(base, request.url);
    },
    // Elysia compiles its handler when it is first asked for one.
    fetch: (request) => {
      const base = hostPath?.(request);
      return app.fetch(base === undefined ? request : requestBelow(base, request));
    },
    // Whatever stands in for `fetch` by then.
    handle: async (request) => core.fetch(request),
    inner: async (request) => app.fetch(request),
  };
  return core;
}

interface HttpCoreOptions {
  readonly log: Log;
  readonly routes: readonly AnyElysia[];
  readonly counts?: RequestCounts;
  readonly causes?: FaultCauses;
  /** This node answers API clients (default); others answer only routes that are on every node. */
  readonly hasApi?: boolean;
  /** In which form errors are written; default: that of `faultResponse` everywhere. */
  readonly errorForms?: ErrorForms;
  /** The path that a request is answered below, by its host; default: its own. */
  readonly hostPath?: (request: Request) => string | undefined;
}

/** What becomes of answers, errors and requests for nothing. */
function answers({ counts, causes, log, routes, errorForms = () => undefined }: HttpCoreOptions) {
  const allowed = methodsAt(routes);
  const near = nearPath(routes);
  /** Counts an answer, and lets the page that asked read it. */
  const answered = (answer: Response, { request, route, began }: Call): Response => {
    const { method } = request;
    counts?.end({ began, method, route, status: answer.status });
    causes?.tell(answer, { method, route });
    tellRate(request, answer);
    return shareAnswer(request, answer);
  };
  const written = (fault: Fault, { request, route }: Pick<Call, 'request' | 'route'>, headers = {}) =>
    formatted(fault, { format: errorForms(request, route), request, headers, log });
  return {
    answered,
    failed(error: unknown, call: Call): Response {
      if (error instanceof Fault) return answered(written(error, call), call);
      const { method, url } = call.request;
      log.error('request failed', { method, path: new URL(url).pathname, error });
      const internal = new Fault('internal', {
        status: 500,
        message: 'Internal error. The log of the server has the details.',
      });
      return answered(written(internal, call), call);
    },
    absent(request: Request): Response {
      const { pathname } = new URL(request.url);
      const { fault, headers } = nothingThere(request, {
        allowed: allowed(pathname),
        near: () => near(pathname),
      });
      return written(fault, { request, route: undefined }, headers);
    },
  };
}

/** Answers requests. */
export interface HttpCore {
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** The URL of a request as routes see it: below the path that its host stands for, or as it is. */
  readonly urlOf: (request: Request) => string;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** The same, always as a promise. */
  readonly handle: (request: Request) => Promise<Response>;
  /** The same for the path of the request itself, whatever its host stands for. */
  readonly inner: (request: Request) => Promise<Response>;
}

interface Call {
  readonly request: Request;
  /** Pattern of its route; undefined for a path that no route has. */
  readonly route: string | undefined;
  /** Epoch ms. */
  readonly began: number;
}

/** What a route does, in one sentence, and what a client must know to call it: given to the route beside its handler. */
export function says(
  summary: string,
  operation: Operation,
): { detail: { summary: string; operation: Operation } } {
  return { detail: { summary, operation } };
}

/** `{"errors": ["…"], "code": "…"}` with the fault's status; what looks like a secret is not repeated. */
export function faultResponse(fault: Fault, more: Readonly<Record<string, string>> = {}): Response {
  const headers = new Headers({ 'content-type': 'application/json', ...more });
  if (fault.retryAfter !== undefined) headers.set('retry-after', String(fault.retryAfter));
  if (fault.status === 401) headers.set('www-authenticate', 'Bearer');
  const body = JSON.stringify({ errors: fault.problems.map(withoutSecrets), code: fault.code });
  return madeOf(fault, new Response(body, { status: fault.status, headers }));
}

/** A fault in the form of a plugin; as `faultResponse` where there is none, or where it fails. */
export function formatted(fault: Fault, { format, request, headers = {}, log }: FormatOptions): Response {
  if (!format) return faultResponse(fault, headers);
  const { code, status, problems, retryAfter } = fault;
  const message = problems.map(withoutSecrets);
  try {
    const shown = new Fault(code, { status, message, ...(retryAfter !== undefined && { retryAfter }) });
    const answer: unknown = format.answer(shown, request);
    if (!(answer instanceof Response)) throw new TypeError('expected a Response');
    for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
    return madeOf(fault, answer);
  } catch (error) {
    log.error('an error could not be written in the form of its plugin', { code, error });
    return faultResponse(fault, headers);
  }
}

interface FormatOptions {
  readonly format: Pick<ErrorFormat, 'answer'> | undefined;
  readonly request: Request;
  /** Headers that the answer has in every form. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** `METHOD pattern` of the routes with such an operation. */
function routesWith(
  routes: readonly AnyElysia[],
  isSuch: (operation: Operation) => boolean,
): ReadonlySet<string> {
  return new Set(
    routesOf(routes).flatMap(({ method, path, hooks: { detail: { operation } = {} } = {} }) =>
      operation && isSuch(operation) ? [`${method} ${path}`] : [],
    ),
  );
}

const tooLarge = new Fault('body.too_large', {
  status: 413,
  message: `The body is larger than ${maxJsonBytes} bytes.`,
});
const noApi = new Fault('node.no_api', {
  status: 404,
  message:
    'This node does not have the role "api". It answers only playback, /health/* and /metrics. Ask another node.',
});

/** No route for the request. `allowed`: methods that its path has all the same; `near`: the path that was probably meant. */
function nothingThere(
  { method }: Request,
  { allowed, near }: { allowed: readonly string[]; near: () => string | undefined },
): { fault: Fault; headers?: Readonly<Record<string, string>> } {
  if (allowed.length === 0) {
    const meant = near();
    // A masked hint is useless.
    const isShown = meant !== undefined && withoutSecrets(meant) === meant;
    const hint = isShown ? ` Did you mean ${meant}?` : '';
    const message = `There is no route at this path.${hint}`;
    return { fault: new Fault('route.not_found', { status: 404, message }) };
  }
  const allow = allowed.join(', ');
  const message = `${method} is not allowed here. Allowed: ${allow}.`;
  return { fault: new Fault('route.method_not_allowed', { status: 405, message }), headers: { allow } };
}
