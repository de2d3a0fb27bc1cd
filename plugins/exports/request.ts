import { type AnyElysia, Elysia } from 'elysia';
import { object } from '../../core/base/schema.ts';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { idempotent } from '../../core/http/idempotency.ts';
import { json } from '../../core/http/operation.ts';
import { assetNotFound, assetNotReady, assets } from '../assets/contract.ts';
import { taskSchema, tasks } from '../tasks/contract.ts';
import { askedBy, checkExport, exportBody } from './body.ts';
import type { ExportsKit } from './config.ts';

/** `POST /api/asset/:id/export`: a task that brings the file of an asset elsewhere. */
export function routes(kit: ExportsKit): AnyElysia {
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  return new Elysia().post(
    '/api/asset/:id/export',
    async ({ request, params: { id: assetId } }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id }) => {
          const { accountId: account, keyName } = principal;
          const asset = await kit.use(assets).find(assetId);
          // Before the body: what a stranger sends to another account's asset is answered 404, whatever it is.
          if (asset?.account !== account) throw assetNotFound(assetId);
          const body = await exportBody.read(request);
          checkExport(body, kit);
          if (asset.status !== 'ready') throw assetNotReady(asset);
          const { params, secret } = askedBy(body);
          await kit.use(tasks).spawn({
            ...{ id, account, type: 'export', name: asset.name, inputAssetId: assetId, params, secret },
            createdByTokenName: keyName,
          });
          return Response.json({ task: await kit.use(tasks).show(id) }, { status: 201 });
        },
      });
    },
    says(
      'Exports the file of an asset to IPFS or to a URL. 201 with the task, which shows progress and result.',
      {
        name: 'exportAsset',
        body: exportBody,
        answers: { 201: json(answerSchema, 'The task, which goes on by itself.') },
        faults: ['asset.not_found', 'asset.not_ready', 'task.too_many'],
      },
    ),
  );
}

const answerSchema = object({ task: taskSchema });
