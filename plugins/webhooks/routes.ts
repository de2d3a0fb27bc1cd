import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import type { Attempt } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json, nothing } from '../../core/http/operation.ts';
import type { WebhooksKit } from './config.ts';
import { statusOf } from './log-entry.ts';
import { logRoutes } from './log-routes.ts';
import { registry } from './registry.ts';
import { type Webhook, webhookKind, webhookOf, webhookSchema, webhooksOf } from './webhook.ts';

/** `/api/webhook`: create, list, read, replace, delete. */
export function routes(kit: WebhooksKit): AnyElysia {
  const { resources } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const { bodies, remove } = kit.use(registry);
  const fields = {
    id: { type: 'string' },
    name: { type: 'string' },
    url: { type: 'string' },
    streamId: { type: 'string' },
    createdAt: { type: 'number' },
    userId: { type: 'string', path: ['account'] },
  } as const;
  const list = resourceList({ kind: webhookKind, fields, caller: kit.caller, resources });
  return new Elysia()
    .use(logRoutes(kit))
    .post(
      '/api/webhook',
      once((call) => createWebhook(call, kit)),
      says('Creates a webhook. 201 with the webhook; its secret is never shown.', {
        name: 'createWebhook',
        body: bodies.reader,
        answers: { 201: json(webhookSchema, 'The webhook.') },
        faults: ['webhook.stream_unknown', 'webhook.too_many'],
      }),
    )
    .get(
      '/api/webhook',
      keyed(({ request, principal }) =>
        list(request, { account: principal.accountId, present: (row) => present(webhookOf(row), kit) }),
      ),
      says('Lists webhooks; parameters as for streams.', {
        name: 'listWebhooks',
        query: listParameters(fields),
        answers: { 200: listAnswer(webhookSchema) },
        faults: ['query.invalid'],
      }),
    )
    .get(
      '/api/webhook/:id',
      keyed(async ({ principal, params }) =>
        Response.json(await present(await webhooksOf(principal, kit).get(params.id), kit)),
      ),
      says('One webhook, with the `status` of its deliveries.', {
        name: 'getWebhook',
        answers: { 200: json(webhookSchema, 'The webhook.') },
        faults: ['webhook.not_found'],
      }),
    )
    .put(
      '/api/webhook/:id',
      keyed((call) => replaceWebhook(call, kit)),
      says(
        'Replaces a webhook. A new `sharedSecret` and the previous one both sign for 24 h. 200 with the webhook.',
        {
          name: 'replaceWebhook',
          body: bodies.reader,
          answers: { 200: json(webhookSchema, 'The webhook.') },
          faults: ['webhook.not_found', 'webhook.busy', 'webhook.stream_unknown'],
        },
      ),
    )
    .delete(
      '/api/webhook/:id',
      keyed(async ({ principal, params }) => {
        await remove(principal, params.id);
        return new Response(null, { status: 204 });
      }),
      says('Deletes a webhook, its waiting deliveries and its log. 204.', {
        name: 'deleteWebhook',
        answers: { 204: nothing },
        faults: ['webhook.not_found', 'webhook.busy'],
      }),
    );
}

async function createWebhook(
  { request, principal, id }: Call & Attempt,
  kit: WebhooksKit,
): Promise<Response> {
  const { bodies, create } = kit.use(registry);
  const webhook = await create(principal, { id, body: await bodies.read(request, { owner: principal }) });
  return Response.json(await present(webhook, kit), { status: 201 });
}

async function replaceWebhook({ request, params, principal }: Call, kit: WebhooksKit): Promise<Response> {
  const { bodies, replace } = kit.use(registry);
  const webhook = await replace(principal, {
    id: params.id,
    // A plugin whose event it names may be off for now.
    read: ({ events: stored }) => bodies.read(request, { owner: principal, stored }),
  });
  return Response.json(await present(webhook, kit));
}

async function present(webhook: Webhook, { resources }: WebhooksKit): Promise<Record<string, unknown>> {
  const { id, name, url, events, streamId, format, account, createdAt } = webhook;
  const status = await statusOf(id, resources);
  const only = { ...(streamId !== null && { streamId }), ...(format !== undefined && { format }) };
  return { id, kind: 'webhook', name, url, events, ...only, userId: account, createdAt, status };
}
