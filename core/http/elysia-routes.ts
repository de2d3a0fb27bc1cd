import type { AnyElysia } from 'elysia';
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
