import type { TSchema } from '@sinclair/typebox';
import type { AnyElysia } from 'elysia';
import type { Operation } from '../../../core/http/operation.ts';
import { routesOf } from '../../../core/http/routes.ts';

/** The routes of one owner: a plugin, or the core. */
export interface RouteGroup {
  readonly id: string;
  /** How errors name the owner; default: `id`. */
  readonly culprit?: string;
  readonly summary: string;
  readonly app: AnyElysia;
  /** Its errors have another form than all others. */
  readonly errors?: {
    readonly schema: TSchema;
    /** Paths whose errors all have it. */
    readonly below: readonly string[];
  };
}

/** A route as it is declared. */
export interface DeclaredRoute {
  readonly owner: string;
  readonly culprit: string;
  readonly method: string;
  /** As the router has it: `/api/stream/:id`. */
  readonly pattern: string;
  readonly summary: string;
  /** Undefined when its author said nothing. */
  readonly operation: Operation | undefined;
  /** Form of its errors; undefined: that of all others. */
  readonly errorSchema: TSchema | undefined;
}

export function declaredRoutes(groups: readonly RouteGroup[]): DeclaredRoute[] {
  return groups.flatMap(({ id, culprit = id, app, errors }) =>
    routesOf([app]).map(({ method, path, hooks }) => ({
      owner: id,
      culprit,
      method,
      pattern: path,
      summary: hooks?.detail?.summary ?? '',
      operation: hooks?.detail?.operation,
      errorSchema: errors?.schema,
    })),
  );
}

/** The routes that are declared twice, whatever they call the parts of their paths: only one of each is ever asked. */
export function twinProblems(routes: readonly DeclaredRoute[]): string[] {
  const owners = new Map<string, string>();
  return routes.flatMap(({ culprit, method, pattern }) => {
    const shape = `${method} ${shapeOf(pattern)}`;
    const owner = owners.get(shape);
    owners.set(shape, culprit);
    if (owner === undefined) return [];
    return [`route ${method} ${pattern} is declared twice: by ${owner} and ${culprit}`];
  });
}

/** Parts of paths that two routes call by different names: the router takes one name for each place. */
export function nameProblems(routes: readonly DeclaredRoute[]): string[] {
  const known = new Map<
    string,
    { readonly name: string; readonly culprit: string; readonly pattern: string }
  >();
  const shapes = new Set<string>();
  return routes.flatMap(({ culprit, method, pattern }) => {
    const shape = shapeOf(pattern);
    // That it is declared twice says more.
    if (shapes.has(`${method} ${shape}`)) return [];
    shapes.add(`${method} ${shape}`);
    return [...pattern.matchAll(/:(\w+)/g)].flatMap(({ index, 1: name }) => {
      const place = `${method} ${shapeOf(pattern.slice(0, index))}`;
      const first = known.get(place);
      if (first === undefined) known.set(place, { name, culprit, pattern });
      if (first === undefined || first.name === name) return [];
      return [
        `route ${method} ${pattern} of ${culprit}: :${name} must be named :${first.name}, as in ${first.pattern} of ${first.culprit}`,
      ];
    });
  });
}

function shapeOf(pattern: string): string {
  return pattern.replace(/:\w+/g, ':');
}

/** Names in a pattern, in their order; `*` is named by what else `path` of the operation has. */
export function pathNames({ pattern, operation }: DeclaredRoute): string[] {
  const named = [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name);
  const [rest = 'rest'] = Object.keys(operation?.path ?? {}).filter((name) => !named.includes(name));
  return pattern.endsWith('*') ? [...named, rest] : named;
}

/** `/hls/:playbackId/*` → `/hls/{playbackId}/{file}` */
export function templateOf(route: DeclaredRoute): string {
  const rest = pathNames(route).at(-1) ?? '';
  return route.pattern.replace(/:(\w+)/g, '{$1}').replace(/\*$/, `{${rest}}`);
}

/** Whether a pattern that ends in `*` stands for all that another stands for. */
export function isBelow(pattern: string, wide: string): boolean {
  return wide.endsWith('/*') && pattern.startsWith(wide.slice(0, -1));
}
