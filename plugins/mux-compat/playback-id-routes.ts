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
  Type,
} from '../../sdk/plugin.ts';
import { type Api, data, invalid, type MuxCall, muxRoutes, noContent, notFound, segment } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import type { MuxFields } from './fields.ts';
import { playbackIdSchema } from './live-stream.ts';
import {
  dropPlaybackIds,
  inTurn,
  maxPlaybackIds,
  newId,
  type PlaybackIdRow,
  playbackIdsOf,
  policyFor,
  storePlaybackIds,
  subjectFinder,
} from './playback-ids.ts';
import { policyOf, policySchema } from './settings.ts';

const creation = bodyReader({
  policy: Type.Optional(policySchema),
  drm_configuration_id: optional.string({ maxLength: 255 }),
});
const one = json(object({ data: playbackIdSchema }), 'The playback id.');
const foundSchema = object({
  id: Type.String(),
  policy: oneOf(['public', 'signed']),
  object: object({ id: Type.String(), type: oneOf(['asset', 'live_stream']) }),
});

/** A stream or an asset as our API shows it. */
interface Played {
  readonly id: string;
  readonly playbackId: string;
  readonly playbackPolicy?: { readonly type: string } | null;
  readonly mux?: MuxFields;
}

type ObjectType = PlaybackIdRow['type'];
const paths = {
  live_stream: { folder: 'live-streams', native: 'stream', query: '?streamsonly=1', name: 'LiveStream' },
  asset: { folder: 'assets', native: 'asset', query: '', name: 'Asset' },
} as const;

/** Playback ids of live streams and assets, and what a playback id is of. */
export function playbackIdRoutes(kit: MuxKit): AnyElysia {
  const keyed = muxRoutes(kit);
  const find = subjectFinder(kit);
  return new Elysia()
    .use(idsOf('live_stream', kit))
    .use(idsOf('asset', kit))
    .get(
      `${kit.config.path}/video/v1/playback-ids/:id`,
      keyed(async ({ request, params, api }) => {
        const { id = '' } = params;
        const subject = await find(id, request);
        const type = subject?.streamId !== undefined && subject.kind === 'live' ? 'live_stream' : 'asset';
        const objectId = type === 'live_stream' ? subject?.streamId : subject?.assetId;
        if (objectId === undefined) throw notFound('playback id');
        // Whose it is, our own API says.
        const known = entry(await get(type, { api, id: objectId }), id);
        return data({ ...known, object: { id: objectId, type } });
      }),
      says('What a playback id is of.', {
        name: 'getMuxPlaybackId',
        credentials: ['basic'],
        path: { id: Type.String() },
        answers: { 200: json(object({ data: foundSchema }), 'The playback id.') },
        faults: [...keyedFaults, 'playback.not_ready', 'playback.failed'],
      }),
    );
}

function idsOf(type: ObjectType, kit: MuxKit): AnyElysia {
  const { folder, name } = paths[type];
  const base = `${kit.config.path}/video/v1/${folder}/:id/playback-ids`;
  const keyed = muxRoutes(kit);
  const said = (word: string, answers: Record<number, typeof one>) => ({
    ...{ name: `${word}Mux${name}PlaybackId`, credentials: ['basic'] as const, answers, faults: keyedFaults },
  });
  return new Elysia()
    .post(
      base,
      keyed((call) => create(type, { call, kit })),
      says('Creates a playback id.', { ...said('create', { 201: one }), body: creation }),
    )
    .get(
      `${base}/:playbackId`,
      keyed(async ({ api, params }) =>
        data(entry(await get(type, { api, id: params.id }), params.playbackId ?? '')),
      ),
      says('A playback id.', said('get', { 200: one })),
    )
    .delete(
      `${base}/:playbackId`,
      keyed((call) => remove(type, { call, kit })),
      says('Deletes a playback id.', said('delete', { 204: nothing })),
    );
}

function pathTo(type: ObjectType, id: string | undefined): string {
  return `/api/${paths[type].native}/${segment(id)}`;
}

function get(type: ObjectType, { api, id }: { api: Api; id: string | undefined }): Promise<Played> {
  return api.ask<Played>('GET', `${pathTo(type, id)}${paths[type].query}`);
}

function entry(of: Played, id: string) {
  const known = playbackIdsOf(of).find((one) => one.id === id);
  if (!known) throw notFound('playback id');
  return known;
}

interface Change {
  readonly call: MuxCall;
  readonly kit: MuxKit;
}

async function create(
  type: ObjectType,
  { call: { request, params, api, principal }, kit }: Change,
): Promise<Response> {
  const policy = policyOf((await creation.read(request)).policy ?? 'public');
  return inTurn(params.id ?? '', async () => {
    const of = await get(type, { api, id: params.id });
    const ids = playbackIdsOf(of);
    if (ids.length >= maxPlaybackIds) throw invalid(`there are at most ${maxPlaybackIds} playback ids`);
    const known = { id: ids.some(({ id }) => id === of.playbackId) ? newId() : of.playbackId, policy };
    const next = [...ids, known];
    const account = principal.accountId;
    // Its policy first: until then an id of a signed film would be public.
    await store(type, { api, of, ids: next });
    await storePlaybackIds({ type, object: of.id, playbackId: of.playbackId, account, ids: [known] }, kit);
    return data(known, { status: 201 });
  });
}

async function remove(
  type: ObjectType,
  { call: { params, api, principal }, kit }: Change,
): Promise<Response> {
  return inTurn(params.id ?? '', async () => {
    const of = await get(type, { api, id: params.id });
    const { id } = entry(of, params.playbackId ?? '');
    await store(type, { api, of, ids: playbackIdsOf(of).filter((one) => one.id !== id) });
    await dropPlaybackIds([id], { account: principal.accountId, resources: kit.resources });
    return noContent();
  });
}

async function store(
  type: ObjectType,
  {
    api,
    of,
    ids,
  }: { api: Api; of: Played; ids: readonly { readonly id: string; readonly policy: 'public' | 'signed' }[] },
): Promise<void> {
  const playbackIds = ids.map(({ id, policy }) => (id === of.playbackId ? { policy } : { id, policy }));
  await api.ask('PATCH', pathTo(type, of.id), {
    playbackPolicy: policyFor(ids),
    mux: { ...of.mux, playbackIds },
  });
}
