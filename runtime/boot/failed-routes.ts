import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Fault } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import type { Operation } from '../../core/http/operation.ts';
import { routesOf } from '../../core/http/routes.ts';

/** Routes of a plugin that is off: each answers with this Fault, and is described as one that does. */
export function failedRoutes(app: AnyElysia, fault: Fault): AnyElysia {
  const answer = () => {
    throw fault;
  };
  const off = new Elysia();
  for (const { method, path, hooks: { detail: { summary = '', operation } = {} } = {} } of routesOf([app])) {
    off.route(method, path, answer, operation ? says(summary, described(operation, fault)) : {});
  }
  return off;
}

/** Without bodies and answers: they may be made of what is absent (`absent`). */
function described({ name, isOpen, isOnEveryNode, path = {} }: Operation, { code }: Fault): Operation {
  return {
    name,
    ...(isOpen && { isOpen }),
    ...(isOnEveryNode && { isOnEveryNode }),
    path: Object.fromEntries(Object.keys(path).map((one) => [one, Type.String()])),
    answers: {},
    faults: [code],
  };
}
