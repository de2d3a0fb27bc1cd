import type { AnyElysia } from 'elysia';
import type { Soon } from './at-once.ts';
import type { Hooks } from './hooks.ts';
import { isUuid, uuidLength } from './ids.ts';

/** Answers a request for what has this id. Throws or rejects with a Fault. */
export type DirectAnswer = (request: Request, id: string) => Soon<Response>;

/**
 * The handler of a route `GET …/:id` that needs no more of its request than this. Where the path ends in an id as this program
 * makes them, `httpCore` calls it without the router and what that puts together for each request; everything else about the route,
 * its place in OpenAPI, counts, errors and CORS, is as that of any other. Whoever hooks into the requests of such a route (a guard,
 * a schema, a trace) is not passed by: the router answers them all then.
 */
export function direct(answer: DirectAnswer): DirectHandler {
  // Elysia gives both to every handler; its types only say so where the route is written in place.
  const routed = (context: object) => {
    const { request, params } = context as { request: Request; params: { id: string } };
    return answer(request, params.id);
  };
  return Object.assign(routed, { [directly]: answer });
}

export interface DirectRoute {
  readonly pattern: string;
  readonly answer: DirectAnswer;
}

/**
 * Finds the direct route of a request, and the id in its path; undefined for all that the router must look at. `app`: has all
 * routes by now. `own`: its hooks before it had any, which those who answer directly stand in for.
 */
export function directRoutes(
  app: AnyElysia,
  own: Hooks,
): (request: Request) => { route: DirectRoute; id: string } | undefined {
  const { routes, setHeaders, extender } = app as unknown as Mounted;
  const isHooked = !own.areAll(app.event) || setHeaders || extender.higherOrderFunctions.length > 0;
  const known = routes.flatMap((route) => {
    const found = directOf(route);
    return isHooked || !own.areAll(route.hooks) ? [] : found;
  });
  return (request) => {
    if (request.method !== 'GET') return undefined;
    const { url } = request;
    const start = url.indexOf('/', afterScheme);
    // Compared one by one: there are a few, and a map would have to cut the folder out of each URL first.
    for (const { folder, route } of known) {
      const end = start + folder.length;
      if (url.length !== end + uuidLength || !url.startsWith(folder, start)) continue;
      const id = url.slice(end);
      // A uuid has nothing to decode, is followed by no query, and is the name of no other route beside this one. What comes
      // with a body is measured on the way through the router.
      if (isUuid(id) && !request.headers.has('content-length')) return { route, id };
    }
    return undefined;
  };
}

const directly = Symbol('direct');
/** Where the host begins, at the earliest. */
const afterScheme = 'http://'.length + 1;

type DirectHandler = ((context: object) => Soon<Response>) & { readonly [directly]: DirectAnswer };

/** The part of its path before the id, and the route, of one that is direct. */
function directOf({ method, path, handler }: DeclaredRoute): { folder: string; route: DirectRoute }[] {
  const answer = handler[directly];
  if (!answer) return [];
  const folder = /^(\/[^:*]+\/):id$/.exec(path)?.[1];
  if (method !== 'GET' || folder === undefined) throw new Error(`${method} ${path} cannot be direct`);
  return [{ folder, route: { pattern: path, answer } }];
}

/** What Elysia knows of an app that has its routes. */
interface Mounted {
  readonly routes: readonly DeclaredRoute[];
  /** Given to each answer. */
  readonly setHeaders?: object;
  /** `wrap`: what stands around `fetch`. */
  readonly extender: { readonly higherOrderFunctions: readonly unknown[] };
}

interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: Partial<DirectHandler>;
  readonly hooks: object;
}
