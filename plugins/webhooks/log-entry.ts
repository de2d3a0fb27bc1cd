import { type Static, Type } from '@sinclair/typebox';
import { unlessBehind } from '../../core/base/fault.ts';
import { object, optional } from '../../core/base/schema.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import type { ResourceReader, ResourceWrite, StoredResource } from '../../core/ports/store.ts';

/** An attempt as the API shows it. */
export const logEntrySchema = object(
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
    request: object({
      url: Type.String({ examples: ['https://example.com/hooks'] }),
      headers: object(
        {
          'content-type': optional.string({ examples: ['application/json'] }),
          'user-agent': optional.string({ examples: ['Millrace-Webhooks/1'] }),
          'webhook-id': optional.string(),
          'webhook-timestamp': optional.string({ description: 'Seconds.' }),
        },
        { description: 'Without the signature.' },
      ),
      body: optional.string({ description: 'Absent when the log no longer has it.' }),
      isCut: Type.Optional(Type.Literal(true, { description: 'The log has only the beginning.' })),
    }),
    response: Type.Optional(
      object({
        status: Type.Integer({ examples: [200] }),
        body: Type.String({ description: 'Its first 1 KiB.', examples: ['OK'] }),
      }),
    ),
    error: optional.string({ description: 'Why there is no response.' }),
  },
  { $id: 'WebhookLogEntry' },
);

type Shown = Static<typeof logEntrySchema>;

/** One attempt as it is stored. Immutable; holds no secret and no signature. */
export type LogEntry = Omit<Shown, 'nextAttemptAt' | 'request'> & {
  /** Earliest time of the next attempt, epoch ms; null when there is none. */
  readonly nextAttemptAt: number | null;
  readonly request: Omit<Shown['request'], 'body'> & { readonly body: string | null };
  /** Id of the entry of the same delivery that has the body: it is stored once. */
  readonly bodyOf?: string;
  /** The stream that the event is of. Older entries have none. */
  readonly streamId?: string;
};

export const logKind = 'webhook-log';
/** Entries are found by the stream of their event. */
export const streamIndex = 'stream';

export function entryOf(row: StoredResource): LogEntry {
  return JSON.parse(row.body) as LogEntry;
}

export function logRow(entry: LogEntry, { account }: { account: string }): ResourceWrite {
  const { id, webhookId, createdAt, success, streamId } = entry;
  const indexes = {
    webhook: webhookId,
    ...(!success && { failure: webhookId }),
    ...(streamId !== undefined && { [streamIndex]: streamId }),
  };
  return { kind: logKind, id, account, createdAt, name: '', body: JSON.stringify(entry), indexes };
}

export async function presentEntry(entry: LogEntry, resources: ResourceReader): Promise<Shown> {
  const { bodyOf: _, streamId: __, nextAttemptAt, request, ...rest } = entry;
  const { url, headers } = request;
  const { body, isCut } = await sentBody(entry, resources);
  return {
    ...rest,
    ...(nextAttemptAt !== null && { nextAttemptAt }),
    request: { url, headers, ...(body !== null && { body }), ...(isCut && { isCut }) },
  };
}

/** The body that was sent, if the log still has it. */
export async function sentBody(
  { request, bodyOf, deliveryId }: LogEntry,
  resources: ResourceReader,
): Promise<Pick<LogEntry['request'], 'body' | 'isCut'>> {
  if (request.body !== null || bodyOf === undefined) return request;
  const row = await resources.get(logKind, bodyOf);
  const first = row && entryOf(row);
  return first?.deliveryId === deliveryId ? first.request : { body: null };
}

/** `status` of a webhook, from the newest attempts in the log. */
export async function statusOf(webhookId: string, resources: ResourceReader) {
  const [newest, failed] = await Promise.all([
    resources.find(logKind, 'webhook', webhookId).catch(unlessBehind),
    resources.find(logKind, 'failure', webhookId).catch(unlessBehind),
  ]);
  const failure = failed && entryOf(failed);
  return {
    lastTriggeredAt: newest?.createdAt,
    lastFailure: failure && {
      timestamp: failure.createdAt,
      event: failure.event,
      error: failure.error,
      statusCode: failure.response?.status,
      response: failure.response?.body,
    },
  };
}
