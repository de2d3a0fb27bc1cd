import type { ResourceCommit, StoredResource } from '../../core/ports/store.ts';

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
  /** That of now first. Secrets: no answer, event, log or metric holds them. */
  readonly secrets: readonly Secret[];
  /** Epoch ms. */
  readonly createdAt: number;
}

export interface Secret {
  /** As it was given. */
  readonly value: string;
  /** Epoch ms until which it goes on signing after another took its place; null for that of now. */
  readonly until: number | null;
}

export const webhookKind = 'webhook';

export function webhookOf(row: StoredResource): Webhook {
  return JSON.parse(row.body) as Webhook;
}

/** @param options `revision`: the one that was read, 0 for a new one. `isGone`: deletes it */
export function rowOf(
  webhook: Webhook,
  options: { revision: number; isGone?: boolean },
): ResourceCommit['rows'][number] {
  const { id, account, createdAt, name, events, streamId } = webhook;
  return {
    kind: webhookKind,
    id,
    account,
    createdAt,
    name,
    body: options.isGone ? null : JSON.stringify(webhook),
    indexes: Object.fromEntries(events.map((event) => [eventIndex(event), streamId ?? anyStream])),
    revision: options.revision,
  };
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
