import type { AnyElysia } from 'elysia';
import { routesOf } from './elysia-routes.ts';

/**
 * Which methods a path has, for a request with another one: sorted, HEAD with every GET; empty for a path that is
 * nobody's. Routes that answer OPTIONS alone make no path known.
 */
export function methodsAt(routes: readonly AnyElysia[]): (pathname: string) => string[] {
  const known = routesOf(routes).map(({ method, path }) => ({ method, matches: pathPattern(path) }));
  return (pathname) => {
    const methods = new Set(
      known.filter(({ matches }) => matches.test(pathname)).map(({ method }) => method),
    );
    if ([...methods].every((method) => method === 'OPTIONS')) return [];
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
}

/** `:x` stands for one segment, `*` at the end for all that follow, at least one character. */
function pathPattern(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*$/, '.+');
  return new RegExp(`^${source}$`);
}
