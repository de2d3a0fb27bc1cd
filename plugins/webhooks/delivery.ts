import type { ActorType } from '../../core/plugin/actor.ts';
import { webhookDeliveryMachine } from '../../machines/webhook-delivery.ts';
import { type LogEntry, logRow } from './log-entry.ts';

/** One for each event and webhook whose first attempt failed, until it is over. */
export const delivery: ActorType<typeof webhookDeliveryMachine> = {
  type: 'webhook-delivery',
  machine: webhookDeliveryMachine,
  version: 1,
  rows({ delivery: { account, webhookId, eventId, createdAt }, attempt, dueAt, entry }, state) {
    const id = deliveryId({ webhookId, eventId });
    const row = { kind: deliveryKind, id, account, createdAt, name: '' };
    const body = JSON.stringify({ attempt, dueAt });
    return [
      state === 'ended'
        ? { ...row, body: null, indexes: {} }
        : { ...row, body, indexes: { webhook: webhookId } },
      ...(entry ? [logRow(entry as unknown as LogEntry, { account })] : []),
    ];
  },
  describe: () => {
    throw new Error('deliveries emit nothing');
  },
};

export const deliveryKind = 'webhook-delivery';

/** Id of the actor: an event is delivered to a webhook once, however often it is heard of. */
export function deliveryId({ webhookId, eventId }: { webhookId: string; eventId: string }): string {
  return `${webhookId}:${eventId}`;
}
