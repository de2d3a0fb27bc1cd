import type { ActorType } from '../../core/plugin/actor.ts';
import { token } from '../../core/plugin/token.ts';
import { webhookDeliveryMachine } from '../../machines/webhook-delivery.ts';
import type { WebhooksKit } from './config.ts';
import { type LogEntry, logKind, logRow } from './log-entry.ts';

/** How old a count of waiting retries may be, ms. */
export const countAge = 10_000;
/** Webhooks whose waiting retries are counted in memory; of more, all are counted again. */
const maxCounted = 10_000;

/** One for each event and webhook whose first attempt failed, until it is delivered or given up. */
export const delivery: ActorType<typeof webhookDeliveryMachine> = {
  type: 'webhook-delivery',
  machine: webhookDeliveryMachine,
  version: 1,
  get kinds() {
    return { [deliveryKind]: 'own', [logKind]: 'any' } as const;
  },
  rows({ delivery: { account, webhookId, eventId, createdAt }, attempt, dueAt, entry }, state) {
    const id = deliveryId({ webhookId, eventId });
    const row = { kind: deliveryKind, id, account, createdAt, name: '' };
    const body = JSON.stringify({ attempt, dueAt });
    return [
      state === 'ended'
        ? { ...row, body: null, indexes: {} }
        : { ...row, body, indexes: { webhook: webhookId } },
      ...(entry ? [logRow(entry as LogEntry, { account })] : []),
    ];
  },
  describe: () => {
    throw new Error('deliveries emit nothing');
  },
};

export const deliveryKind = 'webhook-delivery';

/** Id of the actor: an event is delivered to a webhook once, however often it is reported. */
export function deliveryId({ webhookId, eventId }: { webhookId: string; eventId: string }): string {
  return `${webhookId}:${eventId}`;
}

/**
 * Bounds the deliveries of a webhook that wait for a retry. The count is up to 10 s old, and attempts under way are not in
 * it: a webhook can get a little over the bound.
 */
export interface Retries {
  /** Whether one more may fail. If not, first attempts wait in their lanes and in the event log. */
  hasRoom(webhookId: string): Promise<boolean>;
  added(webhookId: string): void;
}

export const retries = token<Retries>('webhooks.retries');

export function retryCount({ resources, clock, config }: WebhooksKit): Retries {
  const counts = new Map<string, { count: number; at: number }>();
  return {
    async hasRoom(webhookId) {
      // Only webhooks with a recent failure are counted, and only they can have too many.
      const known = counts.get(webhookId);
      if (!known) return true;
      if (known.at + countAge <= clock.now()) {
        known.at = clock.now();
        known.count = await resources.count(deliveryKind, { where: { webhook: webhookId } });
        if (known.count === 0) counts.delete(webhookId);
      }
      return known.count < config.maxRetrying;
    },
    added(webhookId) {
      if (counts.size >= maxCounted) counts.clear();
      const known = counts.get(webhookId) ?? { count: 0, at: 0 };
      known.count += 1;
      counts.set(webhookId, known);
    },
  };
}
