import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Caller } from '../../../core/http/caller.ts';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';

/**
 * `/openapi.json`, for everyone: it tells nothing that a client could not try. Its server is the address that was asked.
 *
 * @param text the document as JSON, without its servers; it is large, so it is not made anew for each request
 */
export function openApiRoute(options: {
  text: () => string;
  caller: (request: Request) => Caller;
}): AnyElysia {
  const { text, caller } = options;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-cache',
    'access-control-allow-origin': '*',
  };
  return new Elysia().get(
    '/openapi.json',
    ({ request }) => {
      const servers = JSON.stringify([{ url: caller(request).baseUrl }]);
      return new Response(`{"servers":${servers},${text().slice(1)}`, { headers });
    },
    says('This document: what the running server can do, in OpenAPI 3.1.', {
      name: 'getOpenApi',
      isOpen: true,
      answers: {
        200: json(Type.Object({ openapi: Type.Literal('3.1.0') }), 'An OpenAPI 3.1 document.'),
      },
    }),
  );
}
