import { Fault } from '../base/fault.ts';
import type { Kit } from '../plugin/plugin.ts';
import { faultResponse, formatted, says } from './http.ts';
import { nothing } from './operation.ts';

/** Seconds a browser keeps a preflight answer of routes that are open to all. */
export const publicPreflightAge = 86_400;

/** Headers of an answer that pages of every origin may read. */
export const readableByAll = { 'access-control-allow-origin': '*' };

/**
 * The answer, or the fault instead of it, readable by pages of every origin: a browser hides a refusal too. No cache keeps a fault.
 * `as`: for a plugin that writes errors in a form of its own.
 */
export async function openly(
  answer: () => Response | Promise<Response>,
  as?: { readonly request: Request; readonly kit: Pick<Kit, 'errors' | 'log'> },
): Promise<Response> {
  try {
    const response = await answer();
    response.headers.set('access-control-allow-origin', '*');
    return response;
  } catch (error) {
    // What is not there may be there in a moment: no cache is to keep that.
    if (!(error instanceof Fault)) throw error;
    const headers = { ...readableByAll, 'cache-control': 'no-store' };
    if (!as) return faultResponse(error, headers);
    return formatted(error, { format: as.kit.errors, request: as.request, headers, log: as.kit.log });
  }
}

/** What `preflight` does, for the API reference. */
export function saysPreflight(name: string) {
  return says('CORS preflight: pages of every origin may send requests.', {
    name,
    isOpen: true,
    answers: { 204: nothing },
  });
}

/** Answers a browser that asks before it sends a request to such a route. A token for plugins that decide may come along. */
export function preflight({ request }: { readonly request?: Request }): Response {
  // `*` stands for all headers but Authorization.
  const asksForToken = /\bauthorization\b/i.test(
    request?.headers.get('access-control-request-headers') ?? '',
  );
  return new Response(null, {
    status: 204,
    headers: {
      ...readableByAll,
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': asksForToken ? 'Authorization, *' : '*',
      'access-control-max-age': String(publicPreflightAge),
    },
  });
}
