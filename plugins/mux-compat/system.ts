import {
  type AnyElysia,
  bodyReader,
  Elysia,
  json,
  nothing,
  object,
  optional,
  says,
  Type,
  type WebhookInfo,
  webhooks,
} from '../../sdk/plugin.ts';
import { data, invalid, type MuxCall, muxRoutes, noContent, notFound, segment } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { formatName, muxEvents } from './events.ts';
import { pageOf, pageParameters } from './paging.ts';

const address = Type.String({ minLength: 1, maxLength: 2048, examples: ['https://example.com/mux'] });
const creation = bodyReader({ address });
const change = bodyReader({ address: Type.Optional(address), enabled: optional.boolean() });
const webhookSchema = object({
  ...{ id: Type.String(), address: Type.String(), created_at: Type.String(), enabled: Type.Literal(true) },
  signing_secret: optional.string({ description: 'Only in the answer that created it.' }),
});
const one = json(object({ data: webhookSchema }), 'The webhook.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  name,
  credentials: ['basic'] as const,
  answers: { [status]: answer },
  faults: [...keyedFaults, 'webhook.too_many', 'webhook.not_found'],
});

/** `/system/v1/webhooks` and `whoami`. */
export function systemRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/system/v1/webhooks`;
  const keyed = muxRoutes(kit, { demand: 'webhook' });
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call, kit)),
      says('Creates a webhook for all events.', { ...said('createMuxWebhook', one, 201), body: creation }),
    )
    .get(
      base,
      keyed(async ({ request, principal }) => {
        const { offset, limit } = pageOf(request);
        const all = await kit.use(webhooks).list(principal, { format: formatName });
        return data(all.slice(offset, offset + limit).map((webhook) => shown(webhook)));
      }),
      says('Lists webhooks, newest first.', {
        ...said('listMuxWebhooks', json(object({ data: Type.Array(webhookSchema) }))),
        query: pageParameters,
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async (call) => data(shown(await own(call, kit)))),
      says('A webhook.', said('getMuxWebhook', one)),
    )
    .patch(
      `${base}/:id`,
      keyed((call) => update(call, kit)),
      says('Changes the address of a webhook.', { ...said('updateMuxWebhook', one), body: change }),
    )
    .delete(
      `${base}/:id`,
      keyed(async (call) => {
        const { id } = await own(call, kit);
        await kit.use(webhooks).remove(call.principal, id);
        return noContent();
      }),
      says('Deletes a webhook.', said('deleteMuxWebhook', nothing, 204)),
    )
    .use(whoami(kit));
}

/** 32 bytes: as text it is the secret itself. */
function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex');
}

async function create({ request, principal }: MuxCall, kit: MuxKit): Promise<Response> {
  const { address: url } = await creation.read(request);
  const sharedSecret = newSecret();
  const made = await kit
    .use(webhooks)
    .create(principal, { name: 'Mux', url, events: muxEvents, sharedSecret, format: formatName });
  return data({ ...shown(made), signing_secret: sharedSecret }, { status: 201 });
}

/** One that was made here. */
async function own({ params, principal }: MuxCall, kit: MuxKit): Promise<WebhookInfo> {
  const webhook = await kit.use(webhooks).get(principal, params.id ?? '');
  if (webhook.format !== formatName) throw notFound('webhook');
  return webhook;
}

async function update(call: MuxCall, kit: MuxKit): Promise<Response> {
  const { address: url, enabled } = await change.read(call.request);
  if (enabled === false) throw invalid('enabled: webhooks cannot be paused here; delete it instead');
  const { id, name, events, url: before } = await own(call, kit);
  if (url !== undefined && url !== before)
    await call.api.ask('PUT', `/api/webhook/${segment(id)}`, { name, events, url });
  return data(shown(await own(call, kit)));
}

function shown({ id, url, createdAt }: WebhookInfo) {
  return { id, address: url, created_at: String(Math.floor(createdAt / 1000)), enabled: true };
}

const whoamiSchema = object({
  ...{ access_token_name: Type.String(), permissions: Type.Array(Type.String()) },
  ...{ environment_id: Type.String(), environment_name: Type.String(), environment_type: Type.String() },
  ...{ organization_id: Type.String(), organization_name: Type.String() },
});

function whoami(kit: MuxKit): AnyElysia {
  const keyed = muxRoutes(kit);
  return new Elysia().get(
    `${kit.config.path}/system/v1/whoami`,
    keyed(async ({ principal: { accountId: id, keyName, access } }) =>
      data({
        access_token_name: keyName,
        permissions: access.rules
          ? ['restricted']
          : ['video:read', 'video:write', 'system:read', 'system:write'],
        ...{ environment_id: id, environment_name: 'Production', environment_type: 'production' },
        ...{ organization_id: id, organization_name: 'Millrace' },
      }),
    ),
    says('Whose key this is.', {
      name: 'getMuxWhoami',
      credentials: ['basic'],
      answers: { 200: json(object({ data: whoamiSchema })) },
      faults: keyedFaults,
    }),
  );
}
