import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { object } from '../../core/base/schema.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json } from '../../core/http/operation.ts';
import { undecided } from '../../core/plugin/decide.ts';
import {
  type AssetFile,
  type AssetReference,
  assetNotFound,
  assetNotReady,
  assets,
} from '../assets/contract.ts';
import { type TaskKind, type TaskResult, taskSchema, tasks } from '../tasks/contract.ts';
import {
  askedBy,
  type CustomParams,
  type CustomSecret,
  checkExport,
  type ExportBody,
  exportBody,
  type IpfsParams,
  type IpfsSecret,
} from './body.ts';
import type { ExportsKit } from './config.ts';
import { ipfsDriver } from './ipfs/driver.ts';
import { exportToIpfs } from './to-ipfs.ts';
import { exportToUrl } from './to-url.ts';

/** `POST /api/asset/:id/export`: a task that brings the file of an asset elsewhere. */
export function routes(kit: ExportsKit): AnyElysia {
  const { once } = keyedRoutes(kit);
  return new Elysia().post(
    '/api/asset/:id/export',
    once(async ({ request, params: { id: assetId }, principal, id }) => {
      const { accountId: account, keyName } = principal;
      const asset = await kit.use(assets).find(assetId);
      // Before the body: what a stranger sends to another account's asset is answered 404, whatever it is.
      if (asset?.account !== account) throw assetNotFound(assetId);
      const body = await exportBody.read(request);
      checkExport(body, { ...kit, owner: account });
      if (asset.status !== 'ready' || !asset.file) throw assetNotReady(asset);
      await checkPermission(body, { asset, file: asset.file, kit });
      const { params, secret } = askedBy(body);
      await kit.use(tasks).spawn({
        ...{ id, account, type: 'export', name: asset.name, inputAssetId: assetId, params, secret },
        createdByTokenName: keyName,
      });
      return Response.json({ task: await kit.use(tasks).show(id) }, { status: 201 });
    }),
    says(
      'Exports the file of an asset to IPFS or to a URL. 201 with the task, which shows progress and result.',
      {
        name: 'exportAsset',
        body: exportBody,
        answers: { 201: json(answerSchema, 'The task, which goes on by itself.') },
        faults: [
          'asset.not_found',
          'asset.not_ready',
          'task.too_many',
          'export.refused',
          'decision.unavailable',
        ],
      },
    ),
  );
}

/** Asks the plugins that decide. Faults `export.refused` (403) with their reason, `decision.unavailable` (503). */
async function checkPermission(
  { custom }: ExportBody,
  { asset, file, kit }: { asset: AssetReference; file: AssetFile; kit: ExportsKit },
): Promise<void> {
  const { id: assetId, account, name } = asset;
  const to = custom ? ({ to: 'url', host: new URL(custom.url).host } as const) : ({ to: 'ipfs' } as const);
  const { video, spec } = file;
  const refusal = await kit.decide.export?.({ account, assetId, name, ...to, size: video.size, spec });
  if (!refusal) return;
  if (refusal.isFailure) throw undecided();
  kit.log.info('a plugin refused an export', { asset: assetId, by: refusal.plugin, reason: refusal.reason });
  throw new Fault('export.refused', { status: 403, message: refusal.reason });
}

const answerSchema = object({ task: taskSchema });

/** Tasks of the type `export`. A repeat sends the file again: it is the same, and so is its CID. */
export function exportKind(kit: ExportsKit): TaskKind {
  return {
    type: 'export',
    async renew(task) {
      if (!(await kit.use(assets).inputOf(task)))
        throw new Fault('task.not_possible', { status: 409, message: gone });
      return {};
    },
    async run(work): Promise<TaskResult> {
      const video = (await kit.use(assets).inputOf(work))?.video;
      const assetId = work.inputAssetId;
      if (!video || assetId === null) return { outcome: 'failed', message: gone };
      // As `askedBy` made them.
      const { custom, ipfs } = work.params as { custom?: CustomParams; ipfs?: IpfsParams };
      const secret = work.secret as { custom?: CustomSecret; ipfs?: IpfsSecret };
      if (custom && secret.custom) {
        return exportToUrl({ ...secret.custom, method: custom.method }, { work, video, kit });
      }
      const credentials = secret.ipfs?.pinning;
      const driver = ipfsDriver(kit, { assetId, ...(credentials && { credentials }) });
      return exportToIpfs(video, { work, driver, metadata: ipfs?.erc1155Metadata });
    },
  };
}

const gone = 'The asset of this export was deleted.';
