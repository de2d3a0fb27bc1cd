import { type AnyElysia, bodyReader, Elysia, json, object, optional, says, Type } from '../../sdk/plugin.ts';
import { type Api, data, type MuxCall, muxRoutes, notFound, segment } from './api.ts';
import type { NativeAsset } from './asset.ts';
import { fieldsOf } from './assets.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { announceUpload } from './events.ts';
import type { MuxFields } from './fields.ts';
import { pageParameters, rowsOf } from './paging.ts';
import { newPlaybackIds, policyFor } from './playback-ids.ts';
import { newAssetSettings, policiesIn } from './settings.ts';
import { presentUpload, uploadSchema } from './upload.ts';

const creation = bodyReader({
  cors_origin: optional.string({ maxLength: 2048 }),
  new_asset_settings: Type.Optional(newAssetSettings),
  test: optional.boolean(),
  timeout: optional.integer({ minimum: 60, maximum: 604_800 }),
});
const one = json(object({ data: uploadSchema }), 'The upload.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  ...{ name, credentials: ['basic'] as const, answers: { [status]: answer }, faults: keyedFaults },
});

/** A task of our API that brings the file of an upload. Its id is the id of the upload. */
interface UploadTask {
  readonly id: string;
  readonly type: string;
  readonly outputAssetId: string;
  readonly status: { readonly phase: string; readonly errorMessage?: string };
}

const statuses: Readonly<Record<string, string>> = {
  completed: 'asset_created',
  failed: 'errored',
  cancelled: 'cancelled',
};

/** `/video/v1/uploads`. */
export function uploadRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/uploads`;
  const keyed = muxRoutes(kit);
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call)),
      says('Creates a direct upload.', { ...said('createMuxUpload', one, 201), body: creation }),
    )
    .get(
      base,
      keyed(async ({ request, api }) => {
        const filters = encodeURIComponent(JSON.stringify([{ id: 'type', value: 'upload' }]));
        const tasks = await rowsOf<UploadTask>(request, { api, path: `/api/task?filters=${filters}` });
        return data(await Promise.all(tasks.map((task) => shown(task, api))));
      }),
      says('Lists direct uploads, newest first.', {
        ...said('listMuxUploads', json(object({ data: Type.Array(uploadSchema) }))),
        query: pageParameters,
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async ({ api, params }) => data(await shown(await taskOf(params.id, api), api))),
      says('A direct upload.', said('getMuxUpload', one)),
    )
    .put(
      `${base}/:id/cancel`,
      keyed((call) => cancel(call, kit)),
      says('Cancels a direct upload.', said('cancelMuxUpload', one)),
    );
}

async function create({ request, api }: MuxCall): Promise<Response> {
  const { cors_origin: corsOrigin, new_asset_settings: settings = {}, test } = await creation.read(request);
  const playbackIds = newPlaybackIds(policiesIn(settings));
  const mux: MuxFields = {
    ...{ playbackIds, ...fieldsOf({ ...settings, ...(test && { test }) }) },
    ...(Object.keys(settings).length > 0 && { newAssetSettings: settings }),
    ...(corsOrigin !== undefined && { upload: { corsOrigin } }),
  };
  const made = await api.ask<{ url: string; asset: NativeAsset; task: UploadTask }>(
    'POST',
    '/api/asset/request-upload',
    { name: settings.meta?.title || 'Upload', playbackPolicy: policyFor(playbackIds), mux },
  );
  return data(presentUpload(made.asset, { status: 'waiting', url: made.url }), { status: 201 });
}

async function taskOf(id: string | undefined, api: Api): Promise<UploadTask> {
  const task = await api.ask<UploadTask>('GET', `/api/task/${segment(id)}`);
  if (task.type !== 'upload') throw notFound('upload');
  return task;
}

async function shown(task: UploadTask, api: Api): Promise<Record<string, unknown>> {
  const status = statuses[task.status.phase] ?? 'waiting';
  const path = `/api/asset/${segment(task.outputAssetId)}`;
  // The asset of an upload may have been deleted since.
  const asset = await api.ask<NativeAsset>('GET', path).catch(() => undefined);
  const { errorMessage } = task.status;
  const known = {
    id: task.outputAssetId,
    ...asset,
    ...(errorMessage !== undefined && { statusMessage: errorMessage }),
  };
  return presentUpload(known, { status });
}

async function cancel({ api, params, principal }: MuxCall, kit: MuxKit): Promise<Response> {
  const task = await taskOf(params.id, api);
  const path = `/api/asset/${segment(task.outputAssetId)}`;
  const { mux = {} } = await api.ask<NativeAsset>('GET', path);
  const { upload = {} } = mux;
  // Said before: the failure of its asset that follows is no error.
  await api.ask('PATCH', path, { mux: { ...mux, upload: { ...upload, isCancelled: true } } });
  await api.ask('POST', `/api/task/${segment(params.id)}/cancel`).catch(async (error: unknown) => {
    await api.ask('PATCH', path, { mux: { ...mux, upload } });
    throw error;
  });
  const cancelled = await shown(await taskOf(params.id, api), api);
  await announceUpload(
    { type: 'video.upload.cancelled', account: principal.accountId, upload: cancelled },
    kit,
  );
  return data(cancelled);
}
