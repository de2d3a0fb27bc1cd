import { type TSchema, Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { hasCode, unlessRefused } from '../../core/base/fault.ts';
import { newPlaybackId, newStreamKey } from '../../core/base/ids.ts';
import { markAudited } from '../../core/http/audit.ts';
import type { Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json, nothing } from '../../core/http/operation.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { services } from '../../core/plugin/services.ts';
import type { MediaFigures, StreamSettings } from '../../machines/broadcast-context.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './config.ts';
import { setFieldsFaults, stream } from './contract.ts';
import { owned, parent, type StreamDocument } from './document.ts';
import { deletedMeanwhile, tooManyStreams } from './faults.ts';
import { hlsRoutes } from './hls.ts';
import { listRoutes } from './lists.ts';
import { readLive } from './live-figures.ts';
import { publishFigures } from './media-facts.ts';
import { claimKey, ownKeySchema } from './own-key.ts';
import { presenter, type Reader } from './present.ts';
import { refusedRoute } from './refused-publishes.ts';
import { changeable, readOnly, streamName, streamSchema, toleratedFields } from './schema.ts';
import { timelineRoute } from './timeline-route.ts';

export function routes(kit: StreamsKit): AnyElysia {
  const fields = kit.resources.fields(stream);
  const { keyed, once } = keyedRoutes(kit);
  const changes = changeable(kit, fields);
  const derived = kit.resources.derived(stream);
  const ignored = { readOnly: [...readOnly, ...Object.keys(derived.schemas)], optional: toleratedFields };
  const creation = bodyReader({ ...changes, name: streamName } as Record<string, TSchema>, ignored);
  const change = bodyReader(changes, ignored);
  const answer = answering(kit);
  const shown = streamSchema(fields, derived);
  const places = streamPlaces(kit);
  return new Elysia()
    .use(hlsRoutes(kit))
    .use(listRoutes(kit))
    .use(timelineRoute(kit))
    .use(refusedRoute(kit))
    .post(
      '/api/stream',
      once(async ({ request, principal, id, isRepeat, caller }) => {
        const body = (await creation.read(request)) as StreamBody;
        // First: preparing its fields may create resources of other plugins.
        if (!isRepeat || !(await kit.resources.get(stream.kind, id))) {
          const make = () => create(body, { principal, id, kit }).catch(unlessThere);
          await places.making(principal.accountId, make);
        }
        return answer(id, { caller, principal, status: 201 });
      }),
      says('Creates a stream. 201 with the stream.', {
        name: 'createStream',
        body: creation,
        answers: { 201: json(shown, 'The stream.') },
        faults: ['stream.too_many', ...fields.faults],
      }),
    )
    .get(
      '/api/stream/:id',
      keyed(({ request, params: { id = '' }, principal }) =>
        answer(id, { caller: kit.caller(request), principal }),
      ),
      says('One stream or session.', {
        name: 'getStream',
        answers: { 200: json(shown, 'The stream or session.') },
        faults: ['stream.not_found'],
      }),
    )
    .patch(
      '/api/stream/:id',
      keyed(async ({ request, params, principal }) => {
        const document = await parent(principal, { id: params.id, kit });
        const body = (await change.read(request)) as StreamBody;
        if (fields.isAudited(body)) markAudited(request);
        await changeStream(document, { body, principal, kit });
        return noContent();
      }),
      says('Changes the fields that the body names. 204.', {
        name: 'changeStream',
        body: change,
        answers: { 204: nothing },
        faults: [...setFieldsFaults, ...fields.faults],
      }),
    )
    .delete(
      '/api/stream/:id',
      keyed(async ({ params, principal }) => {
        await remove(await parent(principal, { id: params.id, kit }), kit);
        places.gone(principal.accountId);
        return noContent();
      }),
      says('Deletes a stream and ends its broadcast. 204.', {
        name: 'deleteStream',
        answers: { 204: nothing },
        faults: setFieldsFaults,
      }),
    )
    .use(broadcastRoutes(kit));
}

/** How many streams each account may have. */
function streamPlaces(kit: StreamsKit): Quota {
  const { clock, config, resources } = kit;
  return quota({
    clock,
    most: config.maxStreams,
    count: (account) => resources.count(stream.kind, { account, where: { role: 'parent' } }),
    full: () => tooManyStreams(config.maxStreams),
    limit: { name: 'streams', kit },
  });
}

/** Answers with a stream or session of the account as it is now. Fault `stream.not_found` (404). */
function answering(kit: StreamsKit) {
  const present = presenter(kit);
  return async (
    id: string,
    { status = 200, caller, principal }: Reader & { readonly status?: number },
  ): Promise<Response> => {
    const document = await owned(principal, { id, kit });
    return Response.json(await present(document, { caller, principal }), { status });
  };
}

const rotationBody = bodyReader({ streamKey: Type.Optional(ownKeySchema) });

/** What is done to the broadcast of a stream and to its key. */
function broadcastRoutes(kit: StreamsKit): AnyElysia {
  const { keyed, once } = keyedRoutes(kit);
  const answer = answering(kit);
  const shown = streamSchema(kit.resources.fields(stream), kit.resources.derived(stream));
  return new Elysia()
    .delete(
      '/api/stream/:id/terminate',
      keyed(async ({ params, principal }) => {
        const last = await lastFigures(await parent(principal, { id: params.id, kit }), kit);
        await kit.actors.ask(broadcast, params.id, { type: 'terminate', ...last }).catch(unlessRefused);
        return noContent();
      }),
      says('Ends the broadcast and the session. 204, also when nothing is being broadcast.', {
        name: 'terminateStream',
        answers: { 204: nothing },
        faults: setFieldsFaults,
      }),
    )
    .post(
      '/api/stream/:id/rotate-key',
      once(
        async ({ request, params, principal, caller, id: attempt }) => {
          const document = await parent(principal, { id: params.id, kit });
          const { id, account } = document;
          const { streamKey: own } = await rotationBody.read(request);
          if (own !== undefined) await claimKey(own, { streamId: id, account, kit });
          const streamKey = own ?? newStreamKey();
          const rotation = { type: 'rotateKey', streamKey, ...(await lastFigures(document, kit)) } as const;
          await kit.actors
            .ask(broadcast, id, rotation, { cause: `rotate-key/${attempt}` })
            .catch(deletedMeanwhile(id));
          return answer(id, { caller, principal });
        },
        { isAudited: true },
      ),
      says('Gives the stream a new key; the old one stops working at once. 200 with the stream.', {
        name: 'rotateStreamKey',
        body: rotationBody,
        answers: { 200: json(shown, 'The stream with its new key.') },
        faults: [...setFieldsFaults, 'stream.key_taken'],
      }),
    );
}

/**
 * Changes what the body names; an empty body changes nothing. Throws the Faults of the fields that other plugins own.
 */
export async function changeStream(
  document: StreamDocument,
  options: { body: StreamBody; principal: Principal; kit: StreamsKit },
): Promise<void> {
  const { body, principal, kit } = options;
  if (Object.keys(body).length === 0) return;
  const { name, suspended, holdSeconds, userTags } = body;
  const fields = await kit.resources.fields(stream).named(body, { principal, stored: document.fields });
  const change = {
    type: 'change' as const,
    changes: {
      ...(name !== undefined && { name }),
      ...(suspended !== undefined && { suspended }),
      ...(holdSeconds !== undefined && { holdSeconds }),
      ...(userTags !== undefined && { userTags }),
      fields,
    },
  };
  await kit.actors.ask(broadcast, document.id, change).catch(deletedMeanwhile(document.id));
}

/** What a client may set, checked against the schema. */
export interface StreamBody extends Record<string, unknown> {
  readonly name?: string;
  readonly suspended?: boolean;
  readonly holdSeconds?: number;
  readonly userTags?: Record<string, unknown>;
}

async function create(
  body: StreamBody,
  { principal, id, kit }: { principal: Principal; id: string; kit: StreamsKit },
): Promise<void> {
  const settings: StreamSettings = {
    id,
    account: principal.accountId,
    name: body.name ?? '',
    streamKey: newStreamKey(),
    playbackId: newPlaybackId(),
    createdAt: kit.clock.now(),
    createdByTokenName: principal.keyName,
    suspended: body.suspended ?? false,
    holdSeconds: body.holdSeconds ?? null,
    userTags: body.userTags ?? {},
    fields: await kit.resources.fields(stream).initial(body, { principal }),
  };
  await kit.actors.spawn(broadcast, id, settings);
}

async function remove(document: StreamDocument, kit: StreamsKit): Promise<void> {
  const { id } = document;
  const last = await lastFigures(document, kit);
  await kit.actors.ask(broadcast, id, { type: 'delete', ...last }).catch((error: unknown) => {
    if (!hasCode(error, 'actor.not_found')) throw error;
  });
}

/**
 * Of the running publish, for a command that ends the session: up to date when it runs on this node, up to a second old otherwise.
 * The connection reports its own after that, when there may be another session or none.
 */
async function lastFigures(
  document: StreamDocument,
  kit: StreamsKit,
): Promise<{ token?: string; figures?: MediaFigures }> {
  const { token } = document;
  if (token === null) return {};
  const live = kit.use(services.media).figures(token);
  if (live) return { token, figures: publishFigures(live) };
  const { figures } = await readLive(document, kit);
  return figures?.token === token ? { token, figures: publishFigures(figures) } : {};
}

function noContent(): Response {
  return new Response(null, { status: 204 });
}

/** Ids are random: only an earlier attempt of the same request can have made it. */
function unlessThere(error: unknown): void {
  if (!hasCode(error, 'actor.exists')) throw error;
}
