import { createHash, timingSafeEqual } from 'node:crypto';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../core/fault.ts';

/** Where routes between nodes begin: no client has business there. */
export const nodePrefix = '/node/';

/** What a node sends with each request to another. */
export function nodeHeaders(secret: string): Record<string, string> {
  return { [header]: secret };
}

/** Routes for other nodes alone: who does not know the secret is told that there is nothing. */
export function nodeRoutes(routes: readonly AnyElysia[], { secret }: { secret: string }): AnyElysia {
  const expected = hashOf(secret);
  const app = new Elysia().onBeforeHandle(({ request, path }) => {
    if (!path.startsWith(nodePrefix))
      throw new Error(`${path} is a route between nodes; those begin with ${nodePrefix}`);
    if (timingSafeEqual(hashOf(request.headers.get(header) ?? ''), expected)) return;
    throw new Fault('route.not_found', { status: 404, message: 'There is nothing at this path.' });
  });
  for (const one of routes) app.use(one);
  return app;
}

const header = 'x-millrace-node';

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
