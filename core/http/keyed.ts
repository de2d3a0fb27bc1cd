import type { Kit } from '../plugin/plugin.ts';
import { type AuthenticationOptions, authenticateBy, authenticator, type Principal } from './auth.ts';
import { type Attempt, idempotent } from './idempotency.ts';

/** A request with a valid API key. */
export interface Call {
  readonly request: Request;
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly principal: Principal;
}

// biome-ignore lint/suspicious/noExplicitAny: the type of Elysia's context depends on what was mounted before
type Handler = (context: any) => Promise<Response>;

/** Handlers for the routes of one plugin that need an API key. */
export function keyedRoutes(kit: Kit, options: AuthenticationOptions = {}): KeyedRoutes {
  const how = { ...options, keys: kit.use(authenticator) };
  const once = idempotent(kit);
  return {
    keyed:
      (answer) =>
      async ({ request, params }) =>
        unstored(await answer({ request, params, principal: await authenticateBy(request, how) })),
    once:
      (answer, { isSecret } = {}) =>
      async ({ request, params }) => {
        const principal = await authenticateBy(request, how);
        const run = (attempt: Attempt) => answer({ request, params, principal, ...attempt });
        return unstored(
          await once(request, { ...(isSecret && { isSecret }), account: principal.accountId, run }),
        );
      },
  };
}

/** No cache keeps what a key may see: there are secrets in it, and it is another one a moment later. */
export function unstored(response: Response): Response {
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
  return response;
}

export interface KeyedRoutes {
  keyed(answer: (call: Call) => Response | Promise<Response>): Handler;
  /** For a POST: a repeat with the same `Idempotency-Key` gets the first answer. See `Once` for the faults. */
  once(
    answer: (call: Call & Attempt) => Promise<Response>,
    options?: { readonly isSecret?: boolean },
  ): Handler;
}
