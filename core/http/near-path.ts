import type { AnyElysia } from 'elysia';
import { nearMiss } from '../base/near-miss.ts';
import { routesOf } from './elysia-routes.ts';

/** Deeper paths than any route has, which come from outside. */
const maxSegments = 12;

/**
 * The path that was probably meant by one that no route has: a segment misspelt, or `/api` forgotten. Where a route takes any
 * text it has that of the request. Routes that end in `*` are not among them.
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
