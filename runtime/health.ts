import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../core/http.ts';
import { json } from '../core/operation.ts';

/** `/health/live` and `/health/ready`, for whoever starts and watches the process. */
export function healthRoutes(isReady: () => boolean): AnyElysia {
  return new Elysia()
    .get(
      '/health/live',
      () => Response.json({ status: 'live' }),
      says('200 while the process runs.', {
        name: 'getLiveness',
        isOpen: true,
        answers: { 200: json(status('live')) },
      }),
    )
    .get(
      '/health/ready',
      () =>
        isReady()
          ? Response.json({ status: 'ready' })
          : Response.json({ status: 'stopping' }, { status: 503, headers: { 'retry-after': '1' } }),
      says('200 when it can serve, 503 from the moment it begins to stop.', {
        name: 'getReadiness',
        isOpen: true,
        answers: {
          200: json(status('ready'), 'It can serve.'),
          503: json(status('stopping'), 'It is about to end.', {
            'Retry-After': Type.Integer({ description: 'Seconds.' }),
          }),
        },
      }),
    );
}

function status(word: string) {
  return Type.Object({ status: Type.Literal(word) }, { additionalProperties: false });
}
