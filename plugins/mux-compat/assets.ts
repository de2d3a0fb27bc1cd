import {
  type AnyElysia,
  bodyReader,
  Elysia,
  Fault,
  hasCode,
  json,
  nothing,
  object,
  oneOf,
  optional,
  says,
  Type,
} from '../../sdk/plugin.ts';
import { type Api, data, invalid, type MuxCall, muxRoutes, noContent, segment } from './api.ts';
import { assetSchema, type NativeAsset, presentAsset } from './asset.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import type { MuxFields } from './fields.ts';
import { inputInfo, inputInfoSchema } from './input-info.ts';
import { liveAssetOf, presentLiveAsset } from './live-asset.ts';
import { recordingAssetId } from './live-stream.ts';
import { limitOf, pageOf, pageParameters, rowsOf } from './paging.ts';
import { inTurn, newPlaybackIds, policyFor } from './playback-ids.ts';
import { assetFields, inputFields, metaField, passthroughSchema, policiesIn } from './settings.ts';

const creation = bodyReader({ ...assetFields, ...inputFields });
const change = bodyReader({ passthrough: passthroughSchema, meta: metaField });
const masterAccess = bodyReader({ master_access: oneOf(['none', 'temporary']) });
const one = json(object({ data: assetSchema }), 'The asset.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  name,
  credentials: ['basic'] as const,
  answers: { [status]: answer },
  faults: keyedFaults,
});

/** `/video/v1/assets`. */
export function assetRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/assets`;
  const keyed = muxRoutes(kit);
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call)),
      says('Creates an asset from a URL.', { ...said('createMuxAsset', one, 201), body: creation }),
    )
    .get(
      base,
      keyed((call) => list(call, kit)),
      says('Lists assets, newest first.', {
        ...said(
          'listMuxAssets',
          json(
            object({
              data: Type.Array(assetSchema),
              next_cursor: optional.string({ description: 'Absent on the last page.' }),
            }),
          ),
        ),
        query: {
          ...pageParameters,
          cursor: Type.String({ description: '`next_cursor` of the page before.' }),
          live_stream_id: Type.String({ description: 'Assets of the broadcasts of a live stream.' }),
          upload_id: Type.String({ description: 'The asset of a direct upload.' }),
        },
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async (call) => data(await shown(call, kit))),
      says('An asset.', said('getMuxAsset', one)),
    )
    .patch(
      `${base}/:id`,
      keyed((call) => update(call)),
      says('Changes an asset.', { ...said('updateMuxAsset', one), body: change }),
    )
    .delete(
      `${base}/:id`,
      keyed(async ({ api, params }) => {
        await api.ask('DELETE', pathOf(params.id));
        return noContent();
      }),
      says('Deletes an asset.', said('deleteMuxAsset', nothing, 204)),
    )
    .get(
      `${base}/:id/input-info`,
      keyed(async ({ api, params }) => data(inputInfo(await api.ask<NativeAsset>('GET', pathOf(params.id))))),
      says(
        'What the file of an asset holds.',
        said('getMuxInputInfo', json(object({ data: inputInfoSchema }))),
      ),
    )
    .put(
      `${base}/:id/master-access`,
      keyed(async (call) => {
        const { master_access } = await masterAccess.read(call.request);
        await changeFields(call, (mux) => ({ ...mux, masterAccess: master_access }));
        return data(await shown(call, kit));
      }),
      says('Shows the address of the stored file, or hides it.', {
        ...said('updateMuxMasterAccess', one),
        body: masterAccess,
      }),
    );
}

function pathOf(id: string | undefined): string {
  return `/api/asset/${segment(id)}`;
}

async function create({ request, api }: MuxCall): Promise<Response> {
  const given = await creation.read(request);
  const url = urlIn(given);
  const playbackIds = newPlaybackIds(policiesIn(given));
  // What has other names than its own is found by them as soon as it is there: reactions to `asset.created` write them.
  const { asset } = await api.ask<{ asset: NativeAsset }>('POST', '/api/asset/import', {
    url,
    ...(given.meta?.title && { name: given.meta.title }),
    playbackPolicy: policyFor(playbackIds),
    mux: { playbackIds, ...fieldsOf(given) } satisfies MuxFields,
  });
  return data(presentAsset(asset), { status: 201 });
}

/** The film of the inputs. Fault `mux.invalid` for what cannot be made of them here. */
function urlIn({
  input,
  inputs = [],
}: {
  input?: string | readonly Input[];
  inputs?: readonly Input[];
}): string {
  const all: readonly Input[] = typeof input === 'string' ? [{ url: input }] : (input ?? inputs);
  const [film, ...others] = all;
  if (film?.url === undefined) throw invalid('inputs: expected one with a url');
  if (others.length > 0)
    throw invalid('inputs: this server takes one input; subtitles and further sound are not possible');
  if (film.overlay_settings ?? film.start_time ?? film.end_time ?? film.generated_subtitles)
    throw invalid('inputs: clips, overlays and generated subtitles are not possible here');
  return film.url;
}

interface Input {
  readonly url?: string;
  readonly overlay_settings?: unknown;
  readonly start_time?: number;
  readonly end_time?: number;
  readonly generated_subtitles?: unknown;
}

/** What a body says of an asset that our API has no word for. */
export function fieldsOf(given: {
  readonly passthrough?: string;
  readonly meta?: MuxFields['meta'];
  readonly test?: boolean;
  readonly master_access?: 'none' | 'temporary';
}): Pick<MuxFields, 'passthrough' | 'meta' | 'test' | 'masterAccess'> {
  const { passthrough, meta, test, master_access: access } = given;
  return {
    ...(passthrough !== undefined && { passthrough }),
    ...(meta !== undefined && { meta }),
    ...(test && { test }),
    ...(access !== undefined && { masterAccess: access }),
  };
}

async function list({ request, api, principal }: MuxCall, kit: MuxKit): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const upload = query.get('upload_id');
  if (upload !== null) {
    const { outputAssetId } = await api.ask<{ outputAssetId: string }>('GET', `/api/task/${segment(upload)}`);
    return data([await shownById(outputAssetId, { api, account: principal.accountId, kit })]);
  }
  const stream = query.get('live_stream_id');
  if (stream !== null) {
    const path = `/api/stream/${segment(stream)}/sessions?record=1`;
    const sessions = await rowsOf<{ id: string }>(request, { api, path });
    return data(await ofSessions(sessions, { api, account: principal.accountId, kit }));
  }
  if (query.has('page')) {
    pageOf(request);
    const rows = await rowsOf<NativeAsset>(request, { api, path: '/api/asset' });
    return data(rows.map((row) => presentAsset(row)));
  }
  const cursor = query.get('cursor');
  const asked = new URLSearchParams({ limit: String(limitOf(query)), ...(cursor && { cursor }) });
  const page = await api.page<NativeAsset>(`/api/asset?${asked}`).catch((error: unknown) => {
    throw hasCode(error, 'query.invalid')
      ? invalid('cursor: expected the next_cursor of the page before')
      : error;
  });
  return Response.json({
    data: page.rows.map((row) => presentAsset(row)),
    ...(page.cursor !== undefined && { next_cursor: page.cursor }),
  });
}

interface Looking {
  readonly api: Api;
  readonly account: string;
  readonly kit: MuxKit;
}

async function ofSessions(sessions: readonly { id: string }[], looking: Looking) {
  const found = await Promise.all(
    sessions.map(({ id }) =>
      shownById(recordingAssetId(id), looking).catch((error: unknown) => {
        if (error instanceof Fault && error.status === 404) return undefined;
        throw error;
      }),
    ),
  );
  return found.filter((one) => one !== undefined);
}

function shown({ api, params, principal }: MuxCall, kit: MuxKit): Promise<Record<string, unknown>> {
  return shownById(params.id ?? '', { api, account: principal.accountId, kit });
}

async function shownById(id: string, { api, account, kit }: Looking): Promise<Record<string, unknown>> {
  try {
    const asset = await api.ask<NativeAsset>('GET', pathOf(id));
    return presentAsset(asset, {
      progress: await progressOf(asset, api),
      masterUrl: await masterOf(asset, api),
    });
  } catch (error) {
    // A broadcast that is not over has no asset here. That its id is known is no leave: its stream is asked for.
    const live =
      hasCode(error, 'asset.not_found') && (await liveAssetOf(id, { account, resources: kit.resources }));
    if (!live) throw error;
    await api.ask('GET', `/api/stream/${live.streamId}`);
    return presentLiveAsset(live);
  }
}

/** Of the task that brings its file. */
async function progressOf({ id, status }: NativeAsset, api: Api): Promise<number | undefined> {
  if (status !== 'waiting') return undefined;
  const filters = encodeURIComponent(JSON.stringify([{ id: 'outputAssetId', value: id }]));
  const { rows } = await api.page<{ status: { progress?: number } }>(`/api/task?limit=1&filters=${filters}`);
  return rows[0]?.status.progress;
}

/** For an hour, whatever the policy asks of viewers. */
async function masterOf(
  { downloadUrl, mux, playbackId }: NativeAsset,
  api: Api,
): Promise<string | undefined> {
  if (mux?.masterAccess !== 'temporary' || downloadUrl === undefined) return undefined;
  const { token } = await api.ask<{ token: string }>('GET', `/api/playback/${segment(playbackId)}/token`);
  return `${downloadUrl}?${new URLSearchParams({ token })}`;
}

async function update(call: MuxCall): Promise<Response> {
  const { meta, passthrough } = await change.read(call.request);
  const asset = await changeFields(
    call,
    (mux) => ({
      ...mux,
      ...(passthrough !== undefined && { passthrough }),
      ...(meta && { meta: { ...mux.meta, ...meta } }),
    }),
    meta?.title ? { name: meta.title } : {},
  );
  return data(presentAsset(asset));
}

function changeFields(
  { api, params }: MuxCall,
  next: (mux: MuxFields) => MuxFields,
  more: { readonly name?: string } = {},
): Promise<NativeAsset> {
  return inTurn(params.id ?? '', async () => {
    const { mux = {} } = await api.ask<NativeAsset>('GET', pathOf(params.id));
    return api.ask<NativeAsset>('PATCH', pathOf(params.id), { ...more, mux: next(mux) });
  });
}
