import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { says } from '../../core/http/http.ts';
import type { Attempt } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json, nothing } from '../../core/http/operation.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import type { WebhooksKit } from './config.ts';
import { endpoints } from './endpoints.ts';
import { statusOf } from './log-entry.ts';
import { logRoutes } from './log-routes.ts';
import { purge } from './purge.ts';
import { checkStream, webhookBody, webhookBodyReader } from './request-body.ts';
import { rotated } from './send.ts';
import { type Webhook, webhookKind, webhookOf, webhookSchema, webhooksOf } from './webhook.ts';

/** `/api/webhook`: create, list, read, replace, delete. */
export function routes(kit: WebhooksKit): AnyElysia {
  const { resources, clock, config } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const places = quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(webhookKind, { account }),
    full: () => tooMany(config),
  });
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
      once((call) => createWebhook(call, { kit, places })),
      says('Creates a webhook. 201 with the webhook; its secret is never shown.', {
        name: 'createWebhook',
        body: webhookBodyReader,
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
          body: webhookBodyReader,
          answers: { 200: json(webhookSchema, 'The webhook.') },
          faults: ['webhook.not_found', 'webhook.busy', 'webhook.stream_unknown'],
        },
      ),
    )
    .delete(
      '/api/webhook/:id',
      keyed((call) => deleteWebhook(call, { kit, places })),
      says('Deletes a webhook, its waiting deliveries and its log. 204.', {
        name: 'deleteWebhook',
        answers: { 204: nothing },
        faults: ['webhook.not_found', 'webhook.busy'],
      }),
    );
}

async function createWebhook(
  { request, principal, id }: Call & Attempt,
  { kit, places }: { kit: WebhooksKit; places: Quota },
): Promise<Response> {
  const own = webhooksOf(principal, kit);
  const { name, url, events, streamId = null, sharedSecret = null } = await webhookBody(request, kit);
  if (streamId !== null) await checkStream(streamId, { principal, kit });
  let webhook = await own.find(id);
  if (!webhook) {
    await places.admit(principal.accountId);
    const createdAt = kit.clock.now();
    const secrets = rotated([], sharedSecret, createdAt);
    webhook = { id, account: principal.accountId, name, url, events, streamId, secrets, createdAt };
    if ((await own.create([webhook])) === 'conflict') webhook = await own.get(id);
  }
  return Response.json(await present(webhook, kit), { status: 201 });
}

async function replaceWebhook({ request, params, principal }: Call, kit: WebhooksKit): Promise<Response> {
  const own = webhooksOf(principal, kit);
  // Before the body is read: for a webhook of another account the answer is 404 whatever the body is.
  const { url: former } = await own.get(params.id);
  const { name, url, events, streamId = null, sharedSecret } = await webhookBody(request, kit);
  const webhook = await own.change(params.id, async (before) => {
    // The rest may be changed even if the stream was deleted in the meantime.
    if (streamId !== null && streamId !== before.streamId) await checkStream(streamId, { principal, kit });
    const { secrets } = before;
    const kept = sharedSecret === undefined ? secrets : rotated(secrets, sharedSecret, kit.clock.now());
    return { ...before, name, url, events, streamId, secrets: kept };
  });
  if (url !== former) kit.use(endpoints).reset(params.id);
  return Response.json(await present(webhook, kit));
}

async function deleteWebhook(
  { params, principal }: Call,
  { kit, places }: { kit: WebhooksKit; places: Quota },
): Promise<Response> {
  await webhooksOf(principal, kit).remove(params.id);
  places.gone(principal.accountId);
  kit.use(endpoints).reset(params.id);
  purge(params.id, kit).catch((error: unknown) =>
    kit.log.warn('the rest of a deleted webhook could not be removed; it expires', { error }),
  );
  return new Response(null, { status: 204 });
}

async function present(webhook: Webhook, { resources }: WebhooksKit): Promise<Record<string, unknown>> {
  const { id, name, url, events, streamId, account, createdAt } = webhook;
  const status = await statusOf(id, resources);
  const only = streamId !== null && { streamId };
  return { id, kind: 'webhook', name, url, events, ...only, userId: account, createdAt, status };
}

function tooMany({ maxPerAccount }: { maxPerAccount: number }): Fault {
  const message = `This account has ${maxPerAccount} webhooks, the most it may have. Delete some first.`;
  return new Fault('webhook.too_many', { status: 409, message });
}
