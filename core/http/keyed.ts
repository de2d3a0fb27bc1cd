import type { Kit } from '../plugin/plugin.ts';
import { audit, isMarked } from './audit.ts';
import { type AuthenticationOptions, authenticateBy, authenticator, type Principal } from './auth.ts';
import { type Attempt, idempotent } from './idempotency.ts';
import { requestLimits } from './request-limits.ts';

/** A request with a valid API key. */
export interface Call {
  readonly request: Request;
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly principal: Principal;
}

// biome-ignore lint/suspicious/noExplicitAny: the type of Elysia's context depends on what was mounted before
type Handler = (context: any) => Promise<Response>;

/** What a route says of itself. */
interface KeyedOptions {
  /** A success is noted in the audit log: for changes of who may do what. Default: that of every DELETE is. */
  readonly isAudited?: boolean;
}

/** Handlers for the routes of one plugin that need an API key. */
export function keyedRoutes(kit: Kit, options: AuthenticationOptions = {}): KeyedRoutes {
  const how = { ...options, keys: kit.use(authenticator), limits: kit.offered(requestLimits) };
  const once = idempotent(kit);
  return {
    keyed:
      (answer, { isAudited } = {}) =>
      async ({ request, params, route }) => {
        const principal = await authenticateBy(request, how);
        const response = await answer({ request, params, principal });
        if ((isAudited ?? (request.method === 'DELETE' || isMarked(request))) && response.ok)
          await audit({ request, principal, route, target: params?.id }, kit);
        return unstored(response);
      },
    once:
      (answer, { isSecret, isAudited } = {}) =>
      async ({ request, params, route }) => {
        const principal = await authenticateBy(request, how);
        const run = async (attempt: Attempt) => {
          const response = await answer({ request, params, principal, ...attempt });
          if (isAudited && response.ok)
            await audit({ request, principal, route, target: params?.id ?? attempt.id }, kit);
          return response;
        };
        const { rules } = principal.access;
        const access = rules && { access: JSON.stringify(rules) };
        return unstored(
          await once(request, {
            ...(isSecret && { isSecret }),
            ...access,
            account: principal.accountId,
            run,
          }),
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
  keyed(answer: (call: Call) => Response | Promise<Response>, options?: KeyedOptions): Handler;
  /** For a POST: a repeat with the same `Idempotency-Key` gets the first answer. See `Once` for the faults. */
  once(
    answer: (call: Call & Attempt) => Promise<Response>,
    options?: KeyedOptions & { readonly isSecret?: boolean },
  ): Handler;
}
