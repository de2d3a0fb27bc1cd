import { basicCredentials, type Call, Fault, type InnerCall, keyedRoutes } from '../../sdk/plugin.ts';
import type { MuxKit } from './config.ts';

/** Our own API, called with the key of the client: what its access rules do not allow is refused there. */
export interface Api {
  /** The answer; `undefined` for one without a body. Faults: those of the route. */
  ask<T>(method: InnerCall['method'], path: string, body?: unknown): Promise<T>;
  /** One page of a list, and the cursor of the next. */
  page<T>(path: string): Promise<{ readonly rows: readonly T[]; readonly cursor: string | undefined }>;
}

export type MuxCall = Call & { readonly api: Api };

/**
 * Handlers for routes with `Authorization: Basic`. `demand`: what access rules are asked where the route makes no call of our API.
 */
export function muxRoutes(kit: MuxKit, { demand }: { demand?: string } = {}) {
  const { keyed } = keyedRoutes(kit, {
    credentials: basicCredentials,
    ...(demand === undefined
      ? { isForAnyKey: true }
      : { demand: ({ method }) => ({ method: methodOf(method), path: demand }) }),
  });
  return (answer: (call: MuxCall) => Promise<Response>, options: { isAudited?: boolean } = {}) =>
    keyed((call) => answer({ ...call, api: apiFor(call.request, kit) }), options);
}

function methodOf(method: string): string {
  return method === 'HEAD' ? 'get' : method.toLowerCase();
}

function apiFor(request: Request, kit: MuxKit): Api {
  const given = basicCredentials(request);
  const key = given && 'secret' in given ? { key: given.secret } : {};
  const call = async (method: InnerCall['method'], path: string, body?: unknown): Promise<Response> => {
    const answer = await kit.ask(request, { method, path, ...key, ...(body !== undefined && { body }) });
    if (!answer.ok) throw await faultOf(answer);
    return answer;
  };
  return {
    async ask<T>(method: InnerCall['method'], path: string, body?: unknown): Promise<T> {
      const answer = await call(method, path, body);
      return (answer.status === 204 ? undefined : await answer.json()) as T;
    },
    async page<T>(path: string) {
      const answer = await call('GET', path);
      const [, next] = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '') ?? [];
      const cursor = next === undefined ? undefined : (new URL(next).searchParams.get('cursor') ?? undefined);
      return { rows: (await answer.json()) as T[], cursor };
    },
  };
}

async function faultOf(answer: Response): Promise<Fault> {
  const { status, headers } = answer;
  const { code = 'internal', errors = ['Internal error.'] } = (await answer.json().catch(() => ({}))) as {
    code?: string;
    errors?: string[];
  };
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  return new Fault(code, { status, message: errors, ...(Number.isFinite(retryAfter) && { retryAfter }) });
}

export function data(value: unknown, init?: ResponseInit): Response {
  return Response.json({ data: value }, init);
}

export function noContent(): Response {
  return new Response(null, { status: 204 });
}

export function invalid(message: string): Fault {
  return new Fault('mux.invalid', { status: 400, message });
}

export function notFound(what: string): Fault {
  return new Fault('mux.not_found', { status: 404, message: `There is no such ${what}.` });
}

/** An id as a segment of a path: whatever a client sends stays one segment. */
export function segment(id: string | undefined): string {
  return encodeURIComponent(id ?? '').replace(/^\.+$/, '-');
}

/** Without what is undefined or null: clients test for absence. */
export function present<T extends Readonly<Record<string, unknown>>>(given: T): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  );
}
