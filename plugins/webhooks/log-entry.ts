import { Type } from '@sinclair/typebox';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import type { ResourceReader, ResourceWrite, StoredResource } from '../../core/ports/store.ts';

/** One attempt in the delivery log. Immutable; holds no secret and no signature. */
export interface LogEntry {
  readonly id: string;
  readonly webhookId: string;
  /** Name of the event. */
  readonly event: string;
  /** Id of the event: the same in all attempts and for all webhooks. */
  readonly deliveryId: string;
  /** When the attempt began, epoch ms. */
  readonly createdAt: number;
  /** ms */
  readonly duration: number;
  /** 1 for the first; 0 for `test` and `resend`. */
  readonly attempt: number;
  readonly success: boolean;
  /** Earliest time of the next attempt, epoch ms; null when there is none. */
  readonly nextAttemptAt: number | null;
  readonly request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
    /** The log has only the beginning. */
    readonly isCut?: boolean;
  };
  /** Id of the entry of the same delivery that has the body: it is stored once. */
  readonly bodyOf?: string;
  readonly response?: { readonly status: number; readonly body: string };
  /** Why there is no response, or no attempt. */
  readonly error?: string;
}

export const logKind = 'webhook-log';

export function entryOf(row: StoredResource): LogEntry {
  return JSON.parse(row.body) as LogEntry;
}

export function logRow(entry: LogEntry, { account }: { account: string }): ResourceWrite {
  const { id, webhookId, createdAt, success } = entry;
  const indexes = { webhook: webhookId, ...(!success && { failure: webhookId }) };
  return { kind: logKind, id, account, createdAt, name: '', body: JSON.stringify(entry), indexes };
}

export async function presentEntry(
  entry: LogEntry,
  { resources }: { resources: ResourceReader },
): Promise<Record<string, unknown>> {
  const { bodyOf, nextAttemptAt, request, ...rest } = entry;
  const { body, isCut } = await sentBody(entry, { resources });
  return {
    ...rest,
    ...(nextAttemptAt !== null && { nextAttemptAt }),
    request: {
      url: request.url,
      headers: request.headers,
      ...(body !== null && { body }),
      ...(isCut && { isCut }),
    },
  };
}

/** The body that was sent, if the log still has it. */
export async function sentBody(
  entry: LogEntry,
  { resources }: { resources: ResourceReader },
): Promise<{ body: string | null; isCut: boolean }> {
  const { request, bodyOf, deliveryId } = entry;
  if (request.body !== null || bodyOf === undefined) {
    return { body: request.body, isCut: request.isCut ?? false };
  }
  const row = await resources.get(logKind, bodyOf);
  const first = row && entryOf(row);
  if (first?.deliveryId !== deliveryId) return { body: null, isCut: false };
  return { body: first.request.body, isCut: first.request.isCut ?? false };
}

/** `status` of a webhook, from the newest attempts in the log. */
export async function statusOf(
  webhookId: string,
  { resources }: { resources: ResourceReader },
): Promise<Record<string, unknown>> {
  const [newest, failed] = await Promise.all([
    resources.find(logKind, 'webhook', webhookId),
    resources.find(logKind, 'failure', webhookId),
  ]);
  const failure = failed && entryOf(failed);
  return {
    ...(newest && { lastTriggeredAt: newest.createdAt }),
    ...(failure && {
      lastFailure: {
        timestamp: failure.createdAt,
        event: failure.event,
        ...(failure.error !== undefined && { error: failure.error }),
        ...(failure.response && { statusCode: failure.response.status, response: failure.response.body }),
      },
    }),
  };
}

const closed = { additionalProperties: false };

/** An attempt as the API shows it. */
export const logEntrySchema = Type.Object(
  {
    id: idSchema,
    webhookId: idSchema,
    event: Type.String({ examples: ['stream.started'] }),
    deliveryId: Type.String({ description: 'Id of the event: the same in all attempts.' }),
    createdAt: momentSchema,
    duration: Type.Number({ description: 'Milliseconds.', examples: [41] }),
    attempt: Type.Integer({ description: '1 for the first; 0 for test and resend.', examples: [1] }),
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
        body: Type.Optional(Type.String({ description: 'Absent when the log no longer has it.' })),
        isCut: Type.Optional(Type.Literal(true, { description: 'The log has only the beginning.' })),
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
