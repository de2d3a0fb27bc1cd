import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Caller } from '../../../core/http/caller.ts';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';
import type { OpenApi } from './document.ts';

/** `/openapi.json`, open to everyone. Its server is the address of the request. */
export function openApiRoute(options: {
  document: () => OpenApi;
  caller: (request: Request) => Caller;
}): AnyElysia {
  const { document, caller } = options;
  /** Large, so it is written once. */
  let text: string | undefined;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-cache',
    'access-control-allow-origin': '*',
  };
  return new Elysia().get(
    '/openapi.json',
    ({ request }) => {
      const servers = JSON.stringify([{ url: caller(request).baseUrl }]);
      text ??= JSON.stringify({ ...document(), servers: undefined });
      return new Response(`{"servers":${servers},${text.slice(1)}`, { headers });
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
