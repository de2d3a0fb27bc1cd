import { type AnyElysia, Elysia } from 'elysia';
import type { Fault } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import { routesOf } from '../../core/http/routes.ts';

/** Routes of a plugin that is off: each answers with this Fault, and is described as before. */
export function failedRoutes(app: AnyElysia, fault: Fault): AnyElysia {
  const answer = () => {
    throw fault;
  };
  const off = new Elysia();
  for (const { method, path, hooks: { detail: { summary = '', operation } = {} } = {} } of routesOf([app])) {
    const described = operation && {
      ...operation,
      faults: [...new Set([...(operation.faults ?? []), fault.code])],
    };
    off.route(method, path, answer, described ? says(summary, described) : {});
  }
  return off;
}
