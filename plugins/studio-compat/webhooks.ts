import {
  type AnyElysia,
  json,
  keyedRoutes,
  says,
  Type,
  type WebhookFormat,
  webhooks,
} from '../../sdk/plugin.ts';
import { faults, listQuery, pageQuery, type StudioCall, segment, studioRoutes } from './calls.ts';
import type { StudioKit } from './config.ts';
import { webhookBody } from './given.ts';
import { assetShown, streamShown, taskShown, webhookShown } from './shown.ts';
import { listed } from './streams.ts';

/** Deliveries in the form of Studio: `Livepeer-Signature: t=<ms>,v1=<hex>` is an HMAC-SHA256 of the body alone. */
export const studioFormat: WebhookFormat = {
  name: 'studio',
  body: ({ id, createdAt, timestamp, event, stream, payload }, { id: webhookId }) =>
    JSON.stringify({
      ...{ id, webhookId, createdAt, timestamp, event },
      ...(stream && { stream: streamShown(stream) }),
      ...(payload !== undefined && { payload: payloadShown(payload as Payload) }),
    }),
  headers({ body, timestamp, sign }): Record<string, string> {
    const signatures = sign(body).map((one) => `v1=${one}`);
    return signatures.length === 0
      ? {}
      : { 'livepeer-signature': [`t=${timestamp * 1000}`, ...signatures].join(',') };
  },
};

interface Payload {
  readonly asset?: Record<string, unknown>;
  readonly task?: Record<string, unknown>;
  readonly session?: Record<string, unknown>;
}

/** Studio has the id beside the object. */
function payloadShown(payload: Payload): Record<string, unknown> {
  const { asset, task, session } = payload;
  return {
    ...payload,
    ...(asset && { id: asset.id, asset: assetShown(asset) }),
    ...(task && { id: task.id, task: taskShown(task) }),
    ...(session && { session: streamShown(session) }),
  };
}

/** Webhooks and their logs. */
export function webhookRoutes(kit: StudioKit): AnyElysia {
  const { app, declare } = studioRoutes(kit);
  app.use(creation(kit));
  const at = ({ params }: StudioCall) => `/api/webhook/${segment(params.id)}`;
  const entry = (call: StudioCall) => `${at(call)}/log/${segment(call.params.logId)}`;
  declare('GET', '/webhook', {
    ...{ name: 'ListWebhooks', summary: 'Lists webhooks.', gives: 'list', query: pageQuery },
    run: async ({ request, ask }) =>
      listed(await ask('GET', `/api/webhook${listQuery(request)}`), webhookShown as never),
  });
  declare('GET', '/webhook/:id', {
    ...{ name: 'GetWebhook', summary: 'One webhook.' },
    async run(call) {
      const found = await call.ask('GET', at(call));
      return { ...found, body: webhookShown(found.body) };
    },
  });
  declare('PUT', '/webhook/:id', {
    ...{ name: 'ReplaceWebhook', summary: 'Replaces a webhook.', body: webhookBody },
    async run(call) {
      const { projectId: _, ...body } = await webhookBody.read(call.request);
      const changed = await call.ask('PUT', at(call), { body });
      return { ...changed, body: webhookShown(changed.body) };
    },
  });
  declare('DELETE', '/webhook/:id', {
    ...{ name: 'DeleteWebhook', summary: 'Deletes a webhook, and answers with it.' },
    async run(call) {
      const { body } = await call.ask('GET', at(call));
      return { ...(await call.ask('DELETE', at(call))), body: webhookShown(body) };
    },
  });
  declare('GET', '/webhook/:id/log', {
    ...{ name: 'ListWebhookLogs', summary: 'Lists attempts.', gives: 'list', query: pageQuery },
    run: (call) => call.ask('GET', `${at(call)}/log${listQuery(call.request)}`),
  });
  declare('GET', '/webhook/:id/log/:logId', {
    ...{ name: 'GetWebhookLog', summary: 'One attempt.' },
    run: (call) => call.ask('GET', entry(call)),
  });
  declare('POST', '/webhook/:id/log/:logId/resend', {
    ...{ name: 'ResendWebhook', summary: 'Sends a delivery again.' },
    run: (call) => call.ask('POST', `${entry(call)}/resend`),
  });
  return app;
}

/** `POST /webhook`: only plugins give a webhook another format. */
function creation(kit: StudioKit): AnyElysia {
  const { once } = keyedRoutes(kit, {
    demand: ({ method }) => ({ method: method.toLowerCase(), path: 'webhook' }),
  });
  const { app } = studioRoutes(kit);
  return app.post(
    `${kit.config.path}/api/webhook`,
    once(async ({ id, request, principal }) => {
      const { projectId: _, ...given } = await webhookBody.read(request);
      const made = await kit.use(webhooks).create(principal, {
        ...(given as never as { name: string; url: string; events: string[] }),
        id,
        format: studioFormat.name,
      });
      const { account, streamId, ...rest } = made;
      const shown = { ...rest, kind: 'webhook', userId: account, ...(streamId !== null && { streamId }) };
      return Response.json(webhookShown(shown));
    }),
    says('Creates a webhook, whose deliveries have the form of Livepeer Studio.', {
      name: 'studioCreateWebhook',
      body: webhookBody,
      answers: { 200: json(Type.Record(Type.String(), Type.Unknown())) },
      faults: Object.keys(faults),
    }),
  );
}
