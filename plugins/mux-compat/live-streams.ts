import {
  type AnyElysia,
  bodyReader,
  Elysia,
  json,
  nothing,
  object,
  oneOf,
  optional,
  says,
  streams,
  Type,
} from '../../sdk/plugin.ts';
import { type Api, data, invalid, type MuxCall, muxRoutes, noContent, segment } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { announce } from './events.ts';
import type { MuxFields } from './fields.ts';
import { liveStreamSchema, type NativeStream, presentLiveStream, streamOf } from './live-stream.ts';
import { pageParameters, rowsOf } from './paging.ts';
import { dropPlaybackIds, inTurn, newPlaybackIds, policyFor, storePlaybackIds } from './playback-ids.ts';
import {
  maxEntries,
  metaField,
  newAssetSettings,
  passthroughSchema,
  playbackFields,
  policiesIn,
} from './settings.ts';
import { checkPush, dropPushes, pushesOf, targetOf, targetSchema } from './simulcast.ts';

const anything = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 50 });
const changeable = {
  latency_mode: Type.Optional(oneOf(['low', 'reduced', 'standard'])),
  max_continuous_duration: optional.integer({ minimum: 60, maximum: 43_200 }),
  reconnect_window: optional.integer({ minimum: 0, maximum: 1800 }),
  passthrough: passthroughSchema,
  meta: metaField,
  new_asset_settings: Type.Optional(newAssetSettings),
  reconnect_slate_url: optional.string({ maxLength: 2048 }),
  use_slate_for_standard_latency: optional.boolean(),
};
const creation = bodyReader({
  ...changeable,
  ...playbackFields,
  ...{ low_latency: optional.boolean(), reduced_latency: optional.boolean(), audio_only: optional.boolean() },
  test: optional.boolean(),
  simulcast_targets: Type.Optional(Type.Array(targetSchema, { maxItems: maxEntries })),
  ...{ embedded_subtitles: Type.Optional(Type.Array(anything, { maxItems: 4 })) },
  generated_subtitles: Type.Optional(Type.Array(anything, { maxItems: 4 })),
});
const change = bodyReader(changeable);

const one = json(object({ data: liveStreamSchema }), 'The live stream.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  name,
  credentials: ['basic'] as const,
  answers: { [status]: answer },
  faults: keyedFaults,
});

/** `/video/v1/live-streams`. */
export function liveStreamRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/live-streams`;
  const keyed = muxRoutes(kit);
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call, kit)),
      says('Creates a live stream.', { ...said('createMuxLiveStream', one, 201), body: creation }),
    )
    .get(
      base,
      keyed((call) => list(call, kit)),
      says('Lists live streams, newest first.', {
        ...said('listMuxLiveStreams', json(object({ data: Type.Array(liveStreamSchema) }))),
        query: {
          ...pageParameters,
          status: oneOf(['active', 'idle', 'disabled']),
          stream_key: Type.String({ description: 'Not possible here.' }),
        },
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async ({ api, params }) => data(await shown(await streamOf(api, params.id), { kit, api }))),
      says('A live stream.', said('getMuxLiveStream', one)),
    )
    .patch(
      `${base}/:id`,
      keyed((call) => update(call, kit)),
      says('Changes a live stream.', { ...said('updateMuxLiveStream', one), body: change }),
    )
    .delete(
      `${base}/:id`,
      keyed((call) => remove(call, kit)),
      says('Deletes a live stream. Its assets stay.', said('deleteMuxLiveStream', nothing, 204)),
    )
    .post(
      `${base}/:id/reset-stream-key`,
      keyed(async ({ api, params }) => {
        await api.ask('POST', `/api/stream/${segment(params.id)}/rotate-key`);
        return data(await shown(await streamOf(api, params.id), { kit, api }), { status: 201 });
      }),
      says('Gives a live stream another stream key.', said('resetMuxStreamKey', one, 201)),
    )
    .use(switches(kit));
}

/** What is done to a live stream by a word in its path. */
function switches(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/live-streams/:id`;
  const keyed = muxRoutes(kit);
  const suspend = (suspended: boolean) =>
    keyed(async ({ api, params, principal }) => {
      await api.ask('PATCH', `/api/stream/${segment(params.id)}`, { suspended });
      const type = `video.live_stream.${suspended ? 'disabled' : 'enabled'}` as const;
      await announce({ type, account: principal.accountId, stream: await streamOf(api, params.id) }, kit);
      return noContent();
    });
  return new Elysia()
    .put(
      `${base}/complete`,
      keyed(async ({ api, params }) => {
        await api.ask('DELETE', `/api/stream/${segment(params.id)}/terminate`);
        return noContent();
      }),
      says(
        'Ends the broadcast of a live stream and finishes its asset.',
        said('completeMuxLiveStream', nothing, 204),
      ),
    )
    .put(
      `${base}/disable`,
      suspend(true),
      says('Ends its broadcast and refuses new ones.', said('disableMuxLiveStream', nothing, 204)),
    )
    .put(
      `${base}/enable`,
      suspend(false),
      says('Lets it broadcast again.', said('enableMuxLiveStream', nothing, 204)),
    );
}

async function create({ request, principal, api }: MuxCall, kit: MuxKit): Promise<Response> {
  const given = await creation.read(request);
  const playbackIds = newPlaybackIds(policiesIn(given));
  policiesIn(given.new_asset_settings ?? {});
  const targets = (given.simulcast_targets ?? []).map((target) => ({ ...target, push: checkPush(target) }));
  const stream = await api.ask<NativeStream>('POST', '/api/stream', {
    name: given.meta?.title || 'Live stream',
    record: true,
    playbackPolicy: policyFor(playbackIds),
    ...(given.reconnect_window !== undefined && { holdSeconds: given.reconnect_window }),
    ...(targets.length > 0 && {
      multistream: { targets: targets.map(({ push, url }) => targetOf({ push, url })) },
    }),
    mux: { playbackIds, ...settingsIn(given), ...(given.test && { test: true }) } satisfies MuxFields,
  });
  const { id, playbackId } = stream;
  const account = principal.accountId;
  await storePlaybackIds({ type: 'live_stream', object: id, playbackId, account, ids: playbackIds }, kit);
  if (targets.length > 0) {
    // In the order of the request.
    const ids = stream.multistream?.targets.map((target) => target.id) ?? [];
    const simulcast = targets.map(({ url, passthrough }, index) => ({
      id: ids[index] ?? '',
      url,
      ...(passthrough && { passthrough }),
    }));
    await api.ask('PATCH', `/api/stream/${id}`, { mux: { ...stream.mux, simulcast } });
  }
  const made = targets.length > 0 ? await streamOf(api, id) : stream;
  await announce({ type: 'video.live_stream.created', account, stream: made }, kit);
  return data(await shown(made, { kit, api, isNew: true }), { status: 201 });
}

/** What a body says that our API has no word for. */
function settingsIn(given: {
  readonly passthrough?: string;
  readonly meta?: MuxFields['meta'];
  readonly new_asset_settings?: MuxFields['newAssetSettings'];
}): Pick<MuxFields, 'passthrough' | 'meta' | 'newAssetSettings'> {
  const { passthrough, meta, new_asset_settings: newAssetSettings } = given;
  return {
    ...(passthrough !== undefined && { passthrough }),
    ...(meta !== undefined && { meta }),
    ...(newAssetSettings !== undefined && { newAssetSettings }),
  };
}

const filters: Readonly<Record<string, readonly object[]>> = {
  active: [{ id: 'isActive', value: true }],
  idle: [
    { id: 'isActive', value: false },
    { id: 'suspended', value: false },
  ],
  disabled: [{ id: 'suspended', value: true }],
};

async function list({ request, api }: MuxCall, kit: MuxKit): Promise<Response> {
  const query = new URL(request.url).searchParams;
  if (query.has('stream_key')) throw invalid('stream_key: lists cannot be filtered by it here');
  const status = query.get('status');
  const wanted = status === null ? [] : Object.hasOwn(filters, status) ? filters[status] : undefined;
  if (!wanted) throw invalid('status: expected active, idle or disabled');
  const path = `/api/stream?streamsonly=1${wanted.length > 0 ? `&filters=${encodeURIComponent(JSON.stringify(wanted))}` : ''}`;
  const rows = await rowsOf<NativeStream>(request, { api, path });
  return data(await Promise.all(rows.map((row) => shown(row, { kit }))));
}

async function update({ request, params, principal, api }: MuxCall, kit: MuxKit): Promise<Response> {
  const given = await change.read(request);
  policiesIn(given.new_asset_settings ?? {});
  return inTurn(params.id ?? '', async () => {
    const { mux = {} } = await streamOf(api, params.id);
    const next = settingsIn(given);
    const newAssetSettings = { ...mux.newAssetSettings, ...next.newAssetSettings };
    await api.ask('PATCH', `/api/stream/${segment(params.id)}`, {
      ...(given.meta?.title && { name: given.meta.title }),
      ...(given.reconnect_window !== undefined && { holdSeconds: given.reconnect_window }),
      mux: { ...mux, ...next, ...(Object.keys(newAssetSettings).length > 0 && { newAssetSettings }) },
    });
    const stream = await streamOf(api, params.id);
    await announce({ type: 'video.live_stream.updated', account: principal.accountId, stream }, kit);
    return data(await shown(stream, { kit, api }));
  });
}

async function remove({ params, principal, api }: MuxCall, kit: MuxKit): Promise<Response> {
  const stream = await streamOf(api, params.id);
  const { accountId: account } = principal;
  await api.ask('DELETE', `/api/stream/${segment(params.id)}`);
  const ids = (stream.mux?.playbackIds ?? []).flatMap(({ id }) => id ?? []);
  await dropPlaybackIds(ids, { account, resources: kit.resources });
  await dropPushes(stream.id, kit);
  const { streamKey: _, ...gone } = stream;
  await announce(
    { type: 'video.live_stream.deleted', account, stream: { ...gone, isActive: false }, isGone: true },
    kit,
  );
  return noContent();
}

/** How many sessions `recent_asset_ids` shows. */
const recent = 10;

/** A stream with what its session and its pushes add. `api`: its recent assets too. */
async function shown(
  stream: NativeStream,
  { kit, api, isNew }: { kit: MuxKit; api?: Api; isNew?: boolean },
): Promise<Record<string, unknown>> {
  if (isNew) return presentLiveStream(stream);
  const [current, pushes, sessions] = await Promise.all([
    stream.isActive ? kit.use(streams).current(stream.id) : undefined,
    stream.mux?.simulcast?.length ? pushesOf(stream.id, kit) : undefined,
    api?.page<{ id: string }>(`/api/stream/${stream.id}/sessions?record=1&limit=${recent}`),
  ]);
  const recentSessions = sessions?.rows.map(({ id }) => id).reverse();
  return presentLiveStream(stream, {
    sessionId: current?.sessionId,
    ...(pushes && { pushes }),
    ...(recentSessions && { recentSessions }),
  });
}
