import type { ResourceReader, ResourceWrite, StoredResource } from '../../core/ports/store.ts';

/** What the delivery log keeps of one attempt. Immutable. It holds no secret and no signature. */
export interface LogEntry {
  readonly id: string;
  readonly webhookId: string;
  /** Name of the event. */
  readonly event: string;
  /** `id` of the delivery: that of its event, in all attempts and for all webhooks. */
  readonly deliveryId: string;
  /** When the attempt began, epoch ms. */
  readonly createdAt: number;
  /** ms */
  readonly duration: number;
  /** 1 for the first; 0 for one that was asked for by `test` or `resend`. */
  readonly attempt: number;
  readonly success: boolean;
  /** When it is tried again at the earliest, epoch ms; null when it is not. */
  readonly nextAttemptAt: number | null;
  readonly request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
    /** There was more of it. */
    readonly isCut?: boolean;
  };
  /** Entry of the same delivery that holds the body, so that it is stored once. */
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

/** The entry as the API shows it. */
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

/** What was sent, as far as the log has it. */
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

/** `status` of a webhook, from its newest attempts that the log keeps. */
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
