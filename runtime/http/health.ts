import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { json } from '../../core/http/operation.ts';

/** `/health/live` and `/health/ready`, for process supervisors and load balancers. */
export function healthRoutes(readiness: () => Readiness): AnyElysia {
  return new Elysia()
    .get(
      '/health/live',
      () => Response.json({ status: 'live' }),
      says('200 while the process runs.', {
        name: 'getLiveness',
        isOpen: true,
        isOnEveryNode: true,
        answers: { 200: json(status(Type.Literal('live'))) },
      }),
    )
    .get(
      '/health/ready',
      () => {
        const now = readiness();
        if (now.status === 'ready') return Response.json(now);
        return Response.json(now, { status: 503, headers: { 'retry-after': '1' } });
      },
      says(
        '200 when the server is ready, with `issues` for operators; 503 while an engine does not answer, and while the server is stopping.',
        {
          name: 'getReadiness',
          isOpen: true,
          isOnEveryNode: true,
          answers: {
            200: json(readyNow, 'The server is ready.'),
            503: json(notReady, 'The server is stopping, or waits for an engine.', {
              'Retry-After': Type.Integer({ description: 'Seconds.' }),
            }),
          },
        },
      ),
    );
}

export type Readiness =
  | { readonly status: 'ready'; readonly issues?: readonly string[] }
  | { readonly status: 'stopping' }
  /** Engines of the deployment that do not answer. */
  | { readonly status: 'waiting'; readonly engines: readonly string[] };

function status(word: ReturnType<typeof Type.Literal>) {
  return Type.Object({ status: word }, { additionalProperties: false });
}

const readyNow = Type.Object(
  {
    status: Type.Literal('ready'),
    issues: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Problems for operators: disks that are nearly full, plugins that are off or fail, reactions that hang, fail or are parked.',
        examples: [['A disk is nearly full: nothing is recorded. Free some space.']],
      }),
    ),
  },
  { additionalProperties: false },
);

const notReady = Type.Object(
  {
    status: Type.Union([Type.Literal('stopping'), Type.Literal('waiting')]),
    engines: Type.Optional(
      Type.Array(Type.String(), { description: 'Engines that do not answer.', examples: [['store']] }),
    ),
  },
  { additionalProperties: false },
);
