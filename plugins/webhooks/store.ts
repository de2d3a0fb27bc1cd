import type { Principal } from '../../core/auth.ts';
import { Fault } from '../../core/fault.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';
import { rowOf, type Webhook, webhookKind, webhookOf } from './webhook.ts';

/** Webhooks of one account. Another account's are as unknown as those that never were. */
export function webhooksOf({ accountId: account }: Pick<Principal, 'accountId'>, kit: WebhooksKit) {
  const { resources } = kit;
  const find = async (id: string) => {
    const row = await resources.get(webhookKind, id);
    return row?.account === account ? { webhook: webhookOf(row), revision: row.revision } : undefined;
  };
  const write = (webhook: Webhook, options: { revision: number; isGone?: boolean }) =>
    resources.write({ rows: [rowOf(webhook, options)], events: [] });

  return {
    /** Faults: `webhook.not_found` (404). */
    async get(id: string): Promise<Webhook> {
      return (await find(id))?.webhook ?? Promise.reject(notFound(id));
    },
    async has(id: string): Promise<boolean> {
      return (await find(id)) !== undefined;
    },
    /** One that is there already, made by an earlier attempt of the same request, is left as it is. */
    async create(webhook: Omit<Webhook, 'account'>): Promise<Webhook> {
      const whole = { ...webhook, account };
      const written = await write(whole, { revision: 0 });
      return written === 'ok' ? whole : this.get(webhook.id);
    },
    /** What `change` makes of it is written. Faults: `webhook.not_found` (404), `webhook.busy` (409). */
    async change(id: string, change: (before: Webhook) => Promise<Webhook>): Promise<Webhook> {
      for (let attempt = 0; attempt < webhookLimits.changes; attempt += 1) {
        const found = await find(id);
        if (!found) throw notFound(id);
        const webhook = await change(found.webhook);
        if ((await write(webhook, { revision: found.revision })) === 'ok') return webhook;
      }
      throw busy(id);
    },
    /** Faults: as `change`. */
    async remove(id: string): Promise<void> {
      for (let attempt = 0; attempt < webhookLimits.changes; attempt += 1) {
        const found = await find(id);
        if (!found) throw notFound(id);
        if ((await write(found.webhook, { revision: found.revision, isGone: true })) === 'ok') return;
      }
      throw busy(id);
    },
  };
}

function notFound(id: string): Fault {
  return new Fault('webhook.not_found', { status: 404, message: `There is no webhook ${id}.` });
}

function busy(id: string): Fault {
  const message = `The webhook ${id} is being changed by others; nothing was changed. Try again.`;
  return new Fault('webhook.busy', { status: 409, message });
}
