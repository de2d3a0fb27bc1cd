import { Fault } from '../../core/base/fault.ts';
import type { Principal } from '../../core/http/auth.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';
import { rowOf, type Webhook, webhookKind } from './webhook.ts';

/** Webhooks of one account. Faults: `webhook.not_found` (404); of changes also `webhook.busy` (409). */
export function webhooksOf({ accountId: account }: Pick<Principal, 'accountId'>, { resources }: WebhooksKit) {
  const own = plainResources(plainWebhook, { account, resources });
  return {
    ...own,
    /** One that is there already, made by an earlier attempt of the same request, is left as it is. */
    async create(webhook: Omit<Webhook, 'account'>): Promise<Webhook> {
      const whole = { ...webhook, account };
      const written = await resources.write({ rows: [rowOf(whole, { revision: 0 })], events: [] });
      return written === 'ok' ? whole : own.get(webhook.id);
    },
  };
}

const plainWebhook: PlainResource<Webhook> = {
  kind: webhookKind,
  attempts: webhookLimits.changes,
  row: rowOf,
  notFound,
  busy,
};

function notFound(id: string): Fault {
  return new Fault('webhook.not_found', { status: 404, message: `There is no webhook ${id}.` });
}

function busy(id: string): Fault {
  const message = `The webhook ${id} is being changed by others; nothing was changed. Try again.`;
  return new Fault('webhook.busy', { status: 409, message });
}
