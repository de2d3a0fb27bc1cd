import type { AnyElysia } from 'elysia';
import type { Soon } from './at-once.ts';
import { isUuid } from './ids.ts';

/** Answers a request for what has this id. Throws or rejects with a Fault. */
export type DirectAnswer = (request: Request, id: string) => Soon<Response>;

/**
 * The handler of a route `GET …/:id` that needs no more of its request than this. Where the path ends in an id as this program
 * makes them, `httpCore` calls it without the router and what that puts together for each request; everything else about the route,
 * its place in OpenAPI, counts, errors and CORS, is as that of any other.
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

/** Finds the direct route of a request, and the id in its path; undefined for all that the router must look at. */
export function directRoutes(
  routes: readonly AnyElysia[],
): (request: Request) => { route: DirectRoute; id: string } | undefined {
  const byFolder = new Map<string, DirectRoute>();
  for (const { method, path, handler } of routes.flatMap((app) => declared(app))) {
    const answer = handler[directly];
    if (!answer) continue;
    const folder = /^(\/[^:*]+\/):id$/.exec(path)?.[1];
    if (method !== 'GET' || folder === undefined) throw new Error(`${method} ${path} cannot be direct`);
    byFolder.set(folder, { pattern: path, answer });
  }
  return (request) => {
    const { method, url } = request;
    // A uuid has nothing to decode, is followed by no query, and is the name of no other route beside this one.
    const end = url.lastIndexOf('/') + 1;
    const route = method === 'GET' && byFolder.get(url.slice(url.indexOf('/', afterScheme), end));
    // What comes with a body is measured on the way through the router.
    if (!route || request.headers.has('content-length')) return undefined;
    const id = url.slice(end);
    return isUuid(id) ? { route, id } : undefined;
  };
}

const directly = Symbol('direct');
/** Where the host begins, at the earliest. */
const afterScheme = 'http://'.length + 1;

type DirectHandler = ((context: object) => Soon<Response>) & { readonly [directly]: DirectAnswer };

function declared(app: AnyElysia): DeclaredRoute[] {
  return (app as unknown as { routes: DeclaredRoute[] }).routes;
}

interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: Partial<DirectHandler>;
}
