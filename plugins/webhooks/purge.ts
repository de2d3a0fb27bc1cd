import { unlessRefused } from '../../core/base/fault.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { delivery, deliveryKind } from './delivery.ts';
import type { WebhooksKit } from './kit.ts';
import { lane, laneKind } from './lane.ts';
import { webhookLimits } from './limits.ts';
import { logKind } from './log-entry.ts';
import { webhookKind } from './webhook.ts';

/**
 * Ends what waits for a deleted webhook and removes its log, in stretches. What a crash leaves of it ends by itself:
 * attempts find no webhook, and entries grow old.
 */
export async function purge(webhookId: string, kit: WebhooksKit): Promise<void> {
  const where = { webhook: webhookId };
  for (const kind of [laneKind, deliveryKind]) {
    for (let rows = await page(); rows.length > 0; rows = await page(rows.at(-1))) {
      if (kit.signal.aborted) return;
      await Promise.all(rows.map(({ id, body }) => end(kind, { id, body }).catch(unlessRefused)));
    }
    function page(after?: StoredResource) {
      return kit.resources.list(kind, { where, limit: webhookLimits.purgePage, ...(after && { after }) });
    }
  }
  await removeEntries(kit, { where, signal: kit.signal });

  async function end(kind: string, { id, body }: { id: string; body: string }): Promise<unknown> {
    if (kind === deliveryKind) return kit.actors.ask(delivery, id, { type: 'settle' });
    return kit.actors.ask(lane, (JSON.parse(body) as { actor: string }).actor, { type: 'abandon' });
  }
}

/** Removes from the log what is older than its retention, and what a webhook has beyond its share. */
export async function sweepLog(
  kit: WebhooksKit,
  { retention, signal }: { retention: number; signal: AbortSignal },
): Promise<void> {
  const before = kit.clock.now() - retention;
  await removeEntries(kit, { before, signal });
  for (let after: StoredResource | undefined; ; ) {
    const webhooks = await kit.resources.list(webhookKind, { limit: 100, ...(after && { after }) });
    for (const { id } of webhooks) {
      if (signal.aborted) return;
      const where = { webhook: id };
      const excess = (await kit.resources.count(logKind, { where })) - kit.config.logEntries;
      if (excess > 0) await removeEntries(kit, { where, most: excess, signal });
    }
    after = webhooks.at(-1);
    if (!after) return;
  }
}

/** Oldest first. `before`: only those that are older than this, epoch ms. */
async function removeEntries(
  { resources }: WebhooksKit,
  options: {
    where?: Readonly<Record<string, string>>;
    before?: number;
    most?: number;
    signal: AbortSignal;
  },
): Promise<void> {
  const { where, before = Infinity, signal } = options;
  const order = [{ by: 'createdAt', descending: false }] as const;
  for (let left = options.most ?? Infinity; left > 0 && !signal.aborted; ) {
    const limit = Math.min(left, webhookLimits.sweepBatch);
    const oldest = await resources.list(logKind, { ...(where && { where }), order, limit });
    const old = oldest.filter(({ createdAt }) => createdAt < before);
    const rows = old.map(({ id, account, createdAt, revision }) => ({
      ...{ kind: logKind, id, account, createdAt, name: '', revision },
      ...{ body: null, indexes: {} },
    }));
    // Entries do not change: a conflict means that somebody else removes them too.
    if (rows.length === 0 || (await resources.write({ rows, events: [] })) === 'conflict') return;
    left -= rows.length;
    if (rows.length < limit) return;
  }
}
