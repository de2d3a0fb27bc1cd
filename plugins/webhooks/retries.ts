import { token } from '../../core/plugin/token.ts';
import { deliveryKind } from './delivery.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';

/**
 * How many deliveries of a webhook wait for a retry, as far as needed to bound them. Counted anew now and then rather
 * than exactly; attempts that are under way may take it a little over the bound.
 */
export interface Retries {
  /** Whether one more may fail. Beyond, first attempts wait in their lanes and in the event log. */
  hasRoom(webhookId: string): Promise<boolean>;
  added(webhookId: string): void;
}

export const retries = token<Retries>('webhooks.retries');

export function retryCount(kit: Pick<WebhooksKit, 'resources' | 'clock' | 'config'>): Retries {
  const { resources, clock, config } = kit;
  const counts = new Map<string, { count: number; at: number }>();
  return {
    async hasRoom(webhookId) {
      // Only of those that failed lately something is known, and only they can have too many.
      const known = counts.get(webhookId);
      if (!known) return true;
      if (known.count < config.maxRetrying && known.at + webhookLimits.countAge > clock.now()) return true;
      if (known.at + webhookLimits.countAge <= clock.now()) {
        known.at = clock.now();
        known.count = await resources.count(deliveryKind, { where: { webhook: webhookId } });
        if (known.count === 0) counts.delete(webhookId);
      }
      return known.count < config.maxRetrying;
    },
    added(webhookId) {
      // Of those that are forgotten the number is counted again at their next failure.
      if (counts.size >= webhookLimits.counted) counts.clear();
      const known = counts.get(webhookId) ?? { count: 0, at: 0 };
      known.count += 1;
      counts.set(webhookId, known);
    },
  };
}
