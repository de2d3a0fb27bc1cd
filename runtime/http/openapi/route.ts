import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Caller } from '../../../core/http/caller.ts';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';

/**
 * `/openapi.json`, open to everyone. Its server is the address of the request.
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
    says('The routes of the running server, in OpenAPI 3.1 (this document).', {
      name: 'getOpenApi',
      isOpen: true,
      answers: {
        200: json(Type.Object({ openapi: Type.Literal('3.1.0') }), 'An OpenAPI 3.1 document.'),
      },
    }),
  );
}
