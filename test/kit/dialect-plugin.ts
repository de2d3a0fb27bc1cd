import {
  authenticator,
  basicCredentials,
  bodyReader,
  definePlugin,
  Elysia,
  json,
  type Kit,
  keyedRoutes,
  nothing,
  object,
  offer,
  playbackAliases,
  says,
  services,
  streams,
  Type,
  text,
  type WebhookFormat,
  webhookFormats,
  webhooks,
} from '../../sdk/plugin.ts';

/**
 * The smallest plugin that speaks another API than ours, for tests: its own path and host names, keys as Basic, errors in
 * a form of its own, webhooks with bodies and signatures of its own, other names for playback ids, another RTMP application.
 */
const config = Type.Object({
  base: Type.String({ default: '/tiny' }),
  app: Type.String({ default: 'app' }),
  hosts: Type.Record(Type.String(), Type.String(), { default: {} }),
});
type TinyKit = Kit<typeof config>;

const errorSchema = object({
  error: object({ type: Type.String(), messages: Type.Array(Type.String()) }),
});

/** Bodies as the other API has them, with the signature of its kind: `t=<seconds>,v1=<hex>`. */
const tinyFormat: WebhookFormat = {
  name: 'tiny',
  body({ id, event, createdAt, stream }) {
    const type = { 'stream.started': 'live.active', 'stream.idle': 'live.idle' }[event];
    if (type === undefined) return undefined;
    return JSON.stringify({ type, event_id: id, at: createdAt, data: { stream_id: stream?.id } });
  },
  headers: ({ body, timestamp, sign }) => ({
    'Tiny-Signature': [`t=${timestamp}`, ...sign(`${timestamp}.${body}`).map((one) => `v1=${one}`)].join(','),
  }),
};

const aliasKind = 'tiny-alias';

export default definePlugin({
  id: 'tiny',
  contract: 3,
  summary: 'a tiny dialect',
  config,
  needs: [authenticator, streams, webhooks, services.media],
  hosts: ({ hosts }) => hosts,
  rtmpApps: ({ app }) => [app],
  errors: {
    below: ({ base }) => [base],
    schema: errorSchema,
    answer: ({ code, status, problems, retryAfter }) =>
      Response.json(
        { error: { type: code, messages: problems } },
        {
          status,
          headers: {
            ...(status === 401 && { 'www-authenticate': 'Basic' }),
            ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
          },
        },
      ),
  },
  offers: [
    offer(webhookFormats, () => tinyFormat),
    offer(playbackAliases, (kit: TinyKit) => ({
      async find(alias) {
        const row = await kit.resources.get(aliasKind, alias);
        return row && (JSON.parse(row.body) as { id: string }).id;
      },
    })),
  ],
  routes: (kit) => new Elysia().use(apiRoutes(kit)).use(viewerRoutes(kit)),
});

const hookSchema = object({
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
});
const both = ['key', 'basic'] as const;

/** For whoever has a key. */
function apiRoutes(kit: TinyKit) {
  const { base } = kit.config;
  // The routes of keys are below `/api`, so these say what they stand for there.
  const { keyed, once } = keyedRoutes(kit, {
    credentials: (request) => basicCredentials(request),
    demand: ({ method }) => ({ method: method.toLowerCase(), path: 'stream' }),
  });
  const hookBody = bodyReader({ url: Type.String(), secret: Type.String() });
  const aliasBody = bodyReader({ alias: Type.String(), id: Type.String() });
  const shown = ({ id, url, events }: { id: string; url: string; events: readonly string[] }) => ({
    id,
    url,
    events,
  });
  return new Elysia()
    .get(
      `${base}/streams/:id`,
      keyed(async ({ request, params, principal }) => {
        const { id, isActive } = await kit.use(streams).find(principal, params.id);
        const url = `${kit.caller(request).baseUrl}${base}/streams/${id}`;
        return Response.json({ data: { id, status: isActive ? 'active' : 'idle', url } });
      }),
      says('A stream.', {
        name: 'getTinyStream',
        credentials: both,
        answers: { 200: json(object({ data: Type.Record(Type.String(), Type.Unknown()) })) },
        faults: ['stream.not_found'],
      }),
    )
    .post(
      `${base}/hooks`,
      once(async ({ id, request, principal }) => {
        const { url, secret } = await hookBody.read(request);
        const events = ['stream.started', 'stream.idle', 'recording.ready'];
        const made = { id, name: 'tiny', url, events, sharedSecret: secret, format: 'tiny' };
        return Response.json(shown(await kit.use(webhooks).create(principal, made)), { status: 201 });
      }),
      says('Creates a webhook.', {
        name: 'createTinyHook',
        credentials: both,
        body: hookBody,
        answers: { 201: json(hookSchema) },
        faults: ['webhook.too_many', 'webhook.stream_unknown'],
      }),
    )
    .get(
      `${base}/hooks`,
      keyed(async ({ principal }) =>
        Response.json((await kit.use(webhooks).list(principal, { format: 'tiny' })).map(shown)),
      ),
      says('Lists webhooks.', {
        name: 'listTinyHooks',
        credentials: both,
        answers: { 200: json(Type.Array(hookSchema)) },
      }),
    )
    .delete(
      `${base}/hooks/:id`,
      keyed(async ({ params, principal }) => {
        await kit.use(webhooks).remove(principal, params.id);
        return new Response(null, { status: 204 });
      }),
      says('Deletes a webhook.', {
        name: 'deleteTinyHook',
        credentials: both,
        answers: { 204: nothing },
        faults: ['webhook.not_found', 'webhook.busy'],
      }),
    )
    .post(
      `${base}/aliases`,
      once(async ({ request, principal }) => {
        const { alias, id } = await aliasBody.read(request);
        const row = { kind: aliasKind, id: alias, account: principal.accountId, name: '', revision: 0 };
        const createdAt = kit.clock.now();
        await kit.resources.write({
          rows: [{ ...row, createdAt, body: JSON.stringify({ id }), indexes: {} }],
          events: [],
        });
        return new Response(null, { status: 204 });
      }),
      says('Gives a playback id another name.', {
        name: 'createTinyAlias',
        credentials: both,
        body: aliasBody,
        answers: { 204: nothing },
      }),
    );
}

/** For everyone. */
function viewerRoutes(kit: TinyKit) {
  const { base } = kit.config;
  return new Elysia()
    .get(
      `${base}/stream/:file`,
      ({ request, params }) => {
        const { baseUrl } = kit.caller(request);
        const [alias] = params.file.split('.');
        return new Response(null, {
          status: 302,
          headers: { location: `${baseUrl}/hls/${alias}/index.m3u8` },
        });
      },
      says('Where a stream is watched.', {
        name: 'watchTiny',
        isOpen: true,
        answers: { 302: { ...nothing, description: 'At its playlist.' } },
      }),
    )
    .post(
      `${base}/echo`,
      async ({ request }) => {
        if (request.headers.has('x-break')) throw new Error('a bug');
        return new Response(await request.text(), { headers: { 'content-type': 'text/plain' } });
      },
      says('Answers with the body.', {
        name: 'echoTiny',
        isOpen: true,
        answers: { 200: text(['text/plain'], 'The body.') },
        faults: ['body.too_large'],
      }),
    );
}
