import type { ResourceReader, StoredResource } from '../../core/ports/store.ts';
import type { DeliveryLog, LoggedDelivery } from '../streams/contract.ts';
import { entryOf, logKind, streamIndex } from './log-entry.ts';

/** Attempts to deliver the events of one stream, of all webhooks of its account. */
export function streamDeliveries({ resources }: { readonly resources: ResourceReader }): DeliveryLog {
  return {
    async after(streamId, { account, place, limit }) {
      const order = [{ by: 'createdAt', descending: false }] as const;
      const where = { [streamIndex]: streamId };
      const found: LoggedDelivery[] = [];
      // A row has up to 64 KiB of a body, which is not shown: they are not held all at one time.
      for (let from = place; found.length < limit; ) {
        const asked = { limit: limit - found.length, characters };
        const rows = await resources.list(logKind, { account, where, order, after: from, ...asked });
        found.push(...rows.map(deliveryIn));
        const last = rows.at(-1);
        if (!last) break;
        from = last;
      }
      return found;
    },
  };
}

/** Of the rows that are read at a time. */
const characters = 1_048_576;

function deliveryIn(row: StoredResource): LoggedDelivery {
  const { id, createdAt, webhookId, event, deliveryId, attempt, success, duration, response, error } =
    entryOf(row);
  return {
    ...{ id, at: createdAt, webhookId, event, deliveryId, attempt, success, duration },
    ...(response && { status: response.status }),
    ...(error !== undefined && { error }),
  };
}
