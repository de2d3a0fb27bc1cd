import { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { quota } from '../../core/http/quota.ts';
import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './config.ts';
import type { NewWebhook, WebhookOwner, Webhooks } from './contract.ts';
import { endpoints } from './endpoints.ts';
import { formats, infoOf } from './formats.ts';
import { purge } from './purge.ts';
import { checkStream, type WebhookBodies, type WebhookBody, webhookBodies } from './request-body.ts';
import { openedSecrets, rotated, sealedSecrets } from './secrets.ts';
import { type Webhook, webhookKind, webhookOf, webhooksOf } from './webhook.ts';

/** Creates, changes and deletes webhooks, for the routes and for other plugins. */
export interface WebhookRegistry {
  readonly bodies: WebhookBodies;
  /** What other plugins get. */
  readonly contract: Webhooks;
  create(owner: WebhookOwner, options: { id: string; body: WebhookBody; format?: string }): Promise<Webhook>;
  /** `read` is called once it is certain that there is such a webhook. Faults: `webhook.not_found`, `webhook.busy`. */
  replace(
    owner: WebhookOwner,
    options: { id: string; read(before: Webhook): Promise<WebhookBody> },
  ): Promise<Webhook>;
  remove: Webhooks['remove'];
}

export const registry = token<WebhookRegistry>('webhooks.registry');

export function webhookRegistry(kit: WebhooksKit): WebhookRegistry {
  const { resources, clock, config } = kit;
  const bodies = webhookBodies(kit);
  const places = quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(webhookKind, { account }),
    full: () => tooMany(config),
    limit: { name: 'webhooks', kit },
  });

  const create: WebhookRegistry['create'] = async (owner, { id, body, format }) => {
    const own = webhooksOf(owner, kit);
    const { name, url, events, streamId = null, sharedSecret = null } = body;
    if (streamId !== null) await checkStream(streamId, { owner, kit });
    const known = await own.find(id);
    if (known) return known;
    const createdAt = clock.now();
    const secrets = sealedSecrets({ id, secrets: rotated([], sharedSecret, createdAt) }, kit);
    const written = format === undefined ? {} : { format };
    const { accountId: account } = owner;
    const webhook = { id, account, name, url, events, streamId, ...written, secrets, createdAt };
    const create = () => own.create([webhook]);
    return (await places.making(account, create)) === 'conflict' ? own.get(id) : webhook;
  };

  const remove: WebhookRegistry['remove'] = async (owner, id) => {
    await webhooksOf(owner, kit).remove(id);
    places.gone(owner.accountId);
    kit.use(endpoints).reset(id);
    purge(id, kit).catch((error: unknown) =>
      kit.log.warn('the rest of a deleted webhook could not be removed; it expires', { error }),
    );
  };

  return {
    ...{ bodies, create, remove },
    async replace(owner, { id, read }) {
      const own = webhooksOf(owner, kit);
      const stored = await own.get(id);
      const { name, url, events, streamId = null, sharedSecret } = await read(stored);
      const webhook = await own.change(id, async (before) => {
        // The rest may be changed even if the stream was deleted in the meantime.
        if (streamId !== null && streamId !== before.streamId) await checkStream(streamId, { owner, kit });
        const known = openedSecrets(before, kit);
        const kept = sharedSecret === undefined ? known : rotated(known, sharedSecret, clock.now());
        const secrets = sealedSecrets({ id, secrets: kept }, kit);
        return { ...before, name, url, events, streamId, secrets };
      });
      if (url !== stored.url) kit.use(endpoints).reset(id);
      return webhook;
    },
    contract: {
      async create(owner, { id = uuid(), format, ...body }: NewWebhook) {
        if (format !== undefined && !kit.use(formats).find(format)) {
          throw new Error(`no enabled plugin offers the webhook format ${format}`);
        }
        return infoOf(
          await create(owner, { id, body: bodies.check(body, { owner }), ...(format && { format }) }),
        );
      },
      get: async (owner, id) => infoOf(await webhooksOf(owner, kit).get(id)),
      async list({ accountId: account }, { format } = {}) {
        const rows = await resources.list(webhookKind, { account, limit: config.maxPerAccount });
        const all = rows.map((row) => infoOf(webhookOf(row)));
        return format === undefined ? all : all.filter((one) => one.format === format);
      },
      remove,
    },
  };
}

function tooMany({ maxPerAccount }: { maxPerAccount: number }): Fault {
  const message = `This account has ${maxPerAccount} webhooks, the most it may have. Delete some first.`;
  return new Fault('webhook.too_many', { status: 409, message });
}
