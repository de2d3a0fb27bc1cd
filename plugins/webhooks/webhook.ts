import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { object, optional } from '../../core/base/schema.ts';
import type { Principal } from '../../core/http/auth.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import type { WebhooksKit } from './config.ts';

/** What is stored of a webhook: a plain resource of an account. */
export interface Webhook {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly url: string;
  /** Each once. */
  readonly events: readonly string[];
  /** Limits it to one stream. */
  readonly streamId: string | null;
  /** Name of the format of its deliveries; absent for the one of docs/api.md. */
  readonly format?: string;
  /** The current one first. Secrets: in no answer, event, log or metric. */
  readonly secrets: readonly Secret[];
  /** Epoch ms. */
  readonly createdAt: number;
}

export interface Secret {
  /** As it was given, sealed: `secrets.ts` opens it. Of older versions in plain text. */
  readonly value: string;
  /** Epoch ms until which it signs after it was replaced; null for the current one. */
  readonly until: number | null;
}

export const webhookKind = 'webhook';

export function webhookOf(row: StoredResource): Webhook {
  return JSON.parse(row.body) as Webhook;
}

/** Webhooks are found by an event that they name, and by the stream that they are limited to. */
export function eventIndex(event: string): string {
  return `on ${event}`;
}
export const anyStream = '*';

/** Whether an event of this type and stream is for it. */
export function wants(webhook: Webhook, event: { type: string; streamId: string }): boolean {
  const { events, streamId } = webhook;
  return events.includes(event.type) && (streamId === null || streamId === event.streamId);
}

/** Webhooks of one account. Faults: `webhook.not_found` (404); of changes also `webhook.busy` (409). */
export function webhooksOf({ accountId: account }: Pick<Principal, 'accountId'>, { resources }: WebhooksKit) {
  return plainResources(plainWebhook, { account, resources });
}

const plainWebhook: PlainResource<Webhook> = {
  kind: webhookKind,
  indexes: ({ events, streamId }) =>
    Object.fromEntries(events.map((event) => [eventIndex(event), streamId ?? anyStream])),
  notFound: (id) => new Fault('webhook.not_found', { status: 404, message: `There is no webhook ${id}.` }),
  busy: (id) => {
    const message = `Other requests change the webhook ${id} at the same time; nothing was changed. Try again.`;
    return new Fault('webhook.busy', { status: 409, message });
  },
};

/** A webhook as the API shows it. */
export const webhookSchema = object(
  {
    id: idSchema,
    kind: Type.Literal('webhook'),
    name: Type.String({ examples: ['My backend'] }),
    url: Type.String({ examples: ['https://example.com/hooks'] }),
    events: Type.Array(Type.String(), { examples: [['stream.started', 'stream.idle']] }),
    streamId: optional.string({ description: 'Only events of this stream are sent.' }),
    format: optional.string({
      description:
        'Form of its requests, if a plugin created it for clients of another API. Absent: that of this API.',
      examples: ['mux'],
    }),
    userId: idSchema,
    createdAt: momentSchema,
    status: object(
      {
        lastTriggeredAt: Type.Optional(momentSchema),
        lastFailure: Type.Optional(
          object({
            timestamp: momentSchema,
            event: Type.String({ examples: ['stream.started'] }),
            error: optional.string({ description: 'Why there was no answer.' }),
            statusCode: optional.integer({ examples: [500] }),
            response: optional.string({ description: 'Its first 1 KiB.' }),
          }),
        ),
      },
      { description: 'From the newest attempts in the delivery log.' },
    ),
  },
  { $id: 'Webhook' },
);
