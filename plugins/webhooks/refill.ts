import { effect } from '../../core/plugin/plugin.ts';
import type { Refill, Refilled } from '../../machines/webhook-lane.ts';
import type { config } from './config.ts';
import { webhookLimits } from './limits.ts';
import { wants, webhookKind, webhookOf } from './webhook.ts';

/** Reads a lane's next events from the log: what came while the lane was full waits there. */
export const refillEffect = effect<Refill, Refilled, typeof config>({
  concurrency: webhookLimits.refills,
  timeout: webhookLimits.refillTime,
  async run({ input, signal }, kit) {
    const { account, webhookId, streamId, after, limit } = input;
    const row = await kit.resources.get(webhookKind, webhookId, { isPlain: true });
    if (!row) return { positions: [], last: after, hasMore: false };
    const webhook = webhookOf(row);
    const positions: number[] = [];
    let last = after;
    // What was read is kept by the lane after each stretch: it comes to an end however much others have in the log.
    for (let pages = 0; pages < webhookLimits.refillPages; pages += 1) {
      signal.throwIfAborted();
      const page = await kit.events.after(last, { account, limit: webhookLimits.refill });
      for (const { type, stream, position } of page) {
        if (stream === streamId && wants(webhook, { type, streamId })) positions.push(position);
        last = position;
        if (positions.length === limit) return { positions, last, hasMore: true };
      }
      if (page.length < webhookLimits.refill) return { positions, last, hasMore: false };
    }
    return { positions, last, hasMore: true };
  },
});
