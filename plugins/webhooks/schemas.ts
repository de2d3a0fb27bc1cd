import { Type } from '@sinclair/typebox';
import { idSchema, momentSchema } from '../../core/http/operation.ts';

const closed = { additionalProperties: false };

/** A webhook as it is shown. */
export const webhookSchema = Type.Object(
  {
    id: idSchema,
    kind: Type.Literal('webhook'),
    name: Type.String({ examples: ['My backend'] }),
    url: Type.String({ examples: ['https://example.com/hooks'] }),
    events: Type.Array(Type.String(), { examples: [['stream.started', 'stream.idle']] }),
    streamId: Type.Optional(Type.String({ description: 'The only stream whose events it gets.' })),
    userId: idSchema,
    createdAt: momentSchema,
    status: Type.Object(
      {
        lastTriggeredAt: Type.Optional(momentSchema),
        lastFailure: Type.Optional(
          Type.Object(
            {
              timestamp: momentSchema,
              event: Type.String({ examples: ['stream.started'] }),
              error: Type.Optional(Type.String({ description: 'Why there was no answer.' })),
              statusCode: Type.Optional(Type.Integer({ examples: [500] })),
              response: Type.Optional(Type.String({ description: 'Its first 1 KiB.' })),
            },
            closed,
          ),
        ),
      },
      { ...closed, description: 'From the newest attempts that the delivery log keeps.' },
    ),
  },
  { $id: 'Webhook', ...closed },
);

/** An attempt at a delivery as it is shown. */
export const logEntrySchema = Type.Object(
  {
    id: idSchema,
    webhookId: idSchema,
    event: Type.String({ examples: ['stream.started'] }),
    deliveryId: Type.String({ description: 'Id of the event: the same in all attempts.' }),
    createdAt: momentSchema,
    duration: Type.Number({ description: 'Milliseconds.', examples: [41] }),
    attempt: Type.Integer({ description: '1 for the first; 0 for one of test or resend.', examples: [1] }),
    success: Type.Boolean(),
    nextAttemptAt: Type.Optional(momentSchema),
    request: Type.Object(
      {
        url: Type.String({ examples: ['https://example.com/hooks'] }),
        headers: Type.Object(
          {
            'content-type': Type.Optional(Type.String({ examples: ['application/json'] })),
            'user-agent': Type.Optional(Type.String({ examples: ['Millrace-Webhooks/1'] })),
            'webhook-id': Type.Optional(Type.String()),
            'webhook-timestamp': Type.Optional(Type.String({ description: 'Seconds.' })),
          },
          { ...closed, description: 'Without the signature.' },
        ),
        body: Type.Optional(Type.String({ description: 'Absent when it is not kept any more.' })),
        isCut: Type.Optional(Type.Literal(true, { description: 'There was more than the log keeps.' })),
      },
      closed,
    ),
    response: Type.Optional(
      Type.Object(
        {
          status: Type.Integer({ examples: [200] }),
          body: Type.String({ description: 'Its first 1 KiB.', examples: ['OK'] }),
        },
        closed,
      ),
    ),
    error: Type.Optional(Type.String({ description: 'Why there is no response.' })),
  },
  { $id: 'WebhookLogEntry', ...closed },
);
