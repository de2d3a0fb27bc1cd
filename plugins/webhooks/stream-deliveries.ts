import type { ResourceReader } from '../../core/ports/store.ts';
import type { DeliveryLog } from '../streams/contract.ts';
import { entryOf, logKind, streamIndex } from './log-entry.ts';

/** Attempts to deliver the events of one stream, of all webhooks of its account. */
export function streamDeliveries({ resources }: { readonly resources: ResourceReader }): DeliveryLog {
  return {
    async after(streamId, { account, place, limit }) {
      const order = [{ by: 'createdAt', descending: false }] as const;
      const where = { [streamIndex]: streamId };
      const rows = await resources.list(logKind, { account, where, order, after: place, limit });
      return rows.map((row) => {
        const { id, createdAt, webhookId, event, deliveryId, attempt, success, duration, response, error } =
          entryOf(row);
        return {
          ...{ id, at: createdAt, webhookId, event, deliveryId, attempt, success, duration },
          ...(response && { status: response.status }),
          ...(error !== undefined && { error }),
        };
      });
    },
  };
}
