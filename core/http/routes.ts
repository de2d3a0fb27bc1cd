import type { AnyElysia } from 'elysia';
import { nearMiss } from '../base/near-miss.ts';
import type { Operation } from './operation.ts';

/** A route as it was declared. Elysia keeps them, and its types do not say so. */
export interface ElysiaRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: { readonly detail?: { readonly summary?: string; readonly operation?: Operation } };
}

/** The routes of some apps, in the order in which they were declared. */
export function routesOf(apps: readonly AnyElysia[]): ElysiaRoute[] {
  return apps.flatMap((app) => (app as unknown as { routes: ElysiaRoute[] }).routes);
}

/**
 * Which methods a path has, for a request with another one: sorted, HEAD with every GET; empty for an unknown
 * path. Routes that answer only OPTIONS do not make a path known.
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

/** More segments than any route has. */
const maxSegments = 12;

/**
 * The path that was probably meant by an unknown one: a misspelt segment, or `/api` is missing. Parameters keep the text of
 * the request. Routes that end in `*` are left out.
 */
export function nearPath(routes: readonly AnyElysia[]): (pathname: string) => string | undefined {
  const patterns = routesOf(routes)
    .filter(({ method, path }) => method !== 'OPTIONS' && !path.includes('*') && path !== '/')
    .map(({ path }) => path.slice(1).split('/'));
  const known = [...new Map(patterns.map((pattern) => [pattern.join('/'), pattern])).values()];
  return (pathname) => {
    const segments = pathname.split('/').filter((segment) => segment !== '');
    if (segments.length === 0 || segments.length > maxSegments) return undefined;
    const found = nearest(segments, known) ?? nearest(['api', ...segments], known);
    return found && `/${found.join('/')}`;
  };
}

/** The pattern with the most segments that are as they are written, filled with what was asked for. */
function nearest(segments: readonly string[], known: readonly (readonly string[])[]): string[] | undefined {
  let best: string[] | undefined;
  let most = -1;
  for (const pattern of known) {
    if (pattern.length !== segments.length) continue;
    const filled = pattern.map((part, index) => {
      if (part.startsWith(':')) return segments[index];
      return part === segments[index] || nearMiss(segments[index], [part]) ? part : undefined;
    });
    if (filled.includes(undefined)) continue;
    const same = pattern.filter((part, index) => part === segments[index]).length;
    if (same <= most) continue;
    best = filled as string[];
    most = same;
  }
  return best;
}
