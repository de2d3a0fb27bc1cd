import { unlessRefused } from '../../core/base/fault.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { WebhooksKit } from './config.ts';
import { delivery, deliveryKind } from './delivery.ts';
import { lane, laneActor, laneKind } from './lane.ts';
import { logKind } from './log-entry.ts';
import { webhookKind } from './webhook.ts';

/** Rows or actors at a time, so that their writes leave room for others. */
const page = 100;

/**
 * Ends the lanes and deliveries of a deleted webhook and removes its log. What a crash leaves ends by itself: attempts
 * find no webhook, and log entries expire.
 */
export async function purge(webhookId: string, { actors, resources, signal }: WebhooksKit): Promise<void> {
  const where = { webhook: webhookId };
  for (const kind of [laneKind, deliveryKind]) {
    for await (const rows of rowPages(kind, { where, page, resources })) {
      if (signal.aborted) return;
      const ended = rows.map((row) =>
        kind === deliveryKind
          ? actors.ask(delivery, row.id, { type: 'settle' })
          : actors.ask(lane, laneActor(row), { type: 'abandon' }),
      );
      await Promise.all(ended.map((one) => one.catch(unlessRefused)));
    }
  }
  await removeEntries(resources, { where, signal });
}

/** Removes from the log the entries beyond their retention, and those of a webhook beyond `logEntries`. */
export async function sweepLog(
  { clock, resources, config }: WebhooksKit,
  { retention, signal }: { retention: number; signal: AbortSignal },
): Promise<void> {
  await removeEntries(resources, { before: clock.now() - retention, signal });
  for await (const webhooks of rowPages(webhookKind, { where: {}, page, resources })) {
    for (const { id } of webhooks) {
      if (signal.aborted) return;
      const where = { webhook: id };
      const excess = (await resources.count(logKind, { where })) - config.logEntries;
      if (excess > 0) await removeEntries(resources, { where, most: excess, signal });
    }
  }
}

/** Oldest first. `before`: only those that are older than this, epoch ms. */
async function removeEntries(
  resources: WebhooksKit['resources'],
  options: {
    where?: Readonly<Record<string, string>>;
    before?: number;
    most?: number;
    signal: AbortSignal;
  },
): Promise<void> {
  const { where = {}, before = Infinity, most = Infinity, signal } = options;
  const order = [{ by: 'createdAt', descending: false }] as const;
  for (let left = most; left > 0 && !signal.aborted; ) {
    const limit = Math.min(left, page);
    const oldest = await resources.list(logKind, { where, order, limit });
    const old = oldest.filter(({ createdAt }) => createdAt < before);
    const rows = old.map(({ id, account, createdAt, revision }) => ({
      ...{ kind: logKind, id, account, createdAt, name: '', revision },
      ...{ body: null, indexes: {} },
    }));
    // Entries do not change: after a conflict another process removes them too.
    if (rows.length === 0 || (await resources.write({ rows, events: [] })) === 'conflict') return;
    left -= rows.length;
    if (rows.length < limit) return;
  }
}
