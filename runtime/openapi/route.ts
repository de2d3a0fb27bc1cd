import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http.ts';
import { json } from '../../core/operation.ts';

/** `/openapi.json`, for everyone: it tells nothing that a client could not try. */
export function openApiRoute(document: () => string): AnyElysia {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-cache',
    'access-control-allow-origin': '*',
  };
  return new Elysia().get(
    '/openapi.json',
    () => new Response(document(), { headers }),
    says('This document: what the running server can do, in OpenAPI 3.1.', {
      name: 'getOpenApi',
      isOpen: true,
      answers: {
        200: json(Type.Object({ openapi: Type.Literal('3.1.0') }), 'An OpenAPI 3.1 document.'),
      },
    }),
  );
}
