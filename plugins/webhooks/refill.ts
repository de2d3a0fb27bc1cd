import { effect } from '../../core/plugin.ts';
import type { DueEvent } from '../../machines/webhook-delivery.ts';
import type { Refill, Refilled } from '../../machines/webhook-lane.ts';
import type { config } from './config.ts';
import { webhookLimits } from './limits.ts';
import { wants, webhookKind, webhookOf } from './webhook.ts';

/** Reads a lane's next events from the log: what came while the lane was full waits there. */
export const refillEffect = effect<Refill, Refilled, typeof config>({
  concurrency: 16,
  timeout: 30_000,
  async run({ input, signal }, kit) {
    const { account, webhookId, streamId, after, limit } = input;
    const row = await kit.resources.get(webhookKind, webhookId);
    if (!row) return { events: [], last: after, hasMore: false };
    const webhook = webhookOf(row);
    const events: DueEvent[] = [];
    let last = after;
    for (;;) {
      signal.throwIfAborted();
      const page = await kit.events.after(last, { account, limit: webhookLimits.refill });
      for (const { id, type, stream, position, at } of page) {
        if (stream === streamId && wants(webhook, { type, streamId }))
          events.push({ id, type, position, at });
        last = position;
        if (events.length === limit) return { events, last, hasMore: true };
      }
      if (page.length < webhookLimits.refill) return { events, last, hasMore: false };
    }
  },
});
