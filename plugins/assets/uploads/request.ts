import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import { userTagsSchema } from '../../../core/base/name.ts';
import { authenticate, authenticator } from '../../../core/http/auth.ts';
import { bodyReader } from '../../../core/http/body.ts';
import { says } from '../../../core/http/http.ts';
import { idempotent } from '../../../core/http/idempotency.ts';
import { json } from '../../../core/http/operation.ts';
import type { Quota } from '../../../core/http/quota.ts';
import { services } from '../../../core/plugin/services.ts';
import { type TaskKind, taskSchema, tasks } from '../../tasks/contract.ts';
import { assetOf, assetRow } from '../asset/document.ts';
import { making } from '../asset/making.ts';
import { assetName, type ShownAsset, shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { taskIdOf } from '../contract.ts';
import { type UploadUrls, uploadUrls } from './url.ts';

/** How long the URL of an upload may be used to begin one, ms. */
const urlLife = 12 * 3_600_000;

/** `POST /api/asset/request-upload`: an asset, its task, and where to send its file. */
export function requestRoute(
  kit: AssetsKit,
  { urls, places }: { urls: UploadUrls; places: Quota },
): AnyElysia {
  const { clock } = kit;
  const shown = shownAsset(kit);
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  const assets = making(kit);
  const body = bodyReader({ name: assetName, userTags: Type.Optional(userTagsSchema) }, shown);

  return new Elysia().post(
    '/api/asset/request-upload',
    async ({ request }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id, caller }) => {
          const { name, userTags } = await body.read(request);
          const { accountId: account, keyName, keyId } = principal;
          await places.admit(account);
          await kit.use(services.intake).checkRoom(0);
          const expires = clock.now() + urlLife;
          const taskId = taskIdOf(id);
          const by = { createdByTokenName: keyName };
          // The task first: one whose asset is missing ends by itself, an asset without a task would wait for ever.
          await kit.use(tasks).spawn({
            ...{ id: taskId, account, type: 'upload', name, outputAssetId: id, deadline: expires, ...by },
            lateMessage,
          });
          const source = { type: 'directUpload' } as const;
          await assets.begin({ id, account, name, source, ...(userTags && { userTags }), ...by });
          const row = await assetRow(id, kit);
          if (!row) throw new Fault('asset.not_found', { status: 404, message: 'The asset was deleted.' });
          return Response.json({
            url: await urls.make(id, { expires, caller, keyId }),
            tusEndpoint: await urls.makeTus(id, { expires, caller, keyId }),
            asset: await shown.present(assetOf(row), caller),
            task: await kit.use(tasks).show(taskId),
          });
        },
      });
    },
    says(
      'Begins an asset, and says where its file is to be sent, with PUT or by tus: for 12 h, by whoever has the URL.',
      {
        name: 'requestUpload',
        body,
        answers: { 200: json(answerSchema(shown), 'Where to send the file, its asset and its task.') },
        faults: ['asset.too_many', 'asset.not_found', 'task.too_many', 'intake.full', 'intake.unavailable'],
      },
    ),
  );
}

export const lateMessage = 'No file came before the upload URL expired.';

const answerSchema = ({ schema }: ShownAsset) =>
  Type.Object(
    {
      url: Type.String({
        description: 'Takes a PUT of the file, without a key, from pages of every origin.',
        examples: [
          'https://video.example.com/upload/1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1?expires=1767268800&signature=6Xk…',
        ],
      }),
      tusEndpoint: Type.String({
        description: 'The same for tus 1.0.0 clients, which can go on where they were cut off.',
        examples: [
          'https://video.example.com/upload/1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1/tus?expires=1767268800&signature=pQ0…',
        ],
      }),
      asset: schema,
      task: taskSchema,
    },
    { additionalProperties: false },
  );

/** How uploads are tried again: the asset waits once more, and there is a new URL for its file. */
export function uploadKind(kit: AssetsKit): TaskKind {
  const urls = uploadUrls(kit);
  return {
    type: 'upload',
    async renew({ outputAssetId }, { caller, keyId }) {
      const isThere = outputAssetId !== null && (await making(kit).awaitAnew(outputAssetId));
      if (!isThere) {
        const message = 'The asset of this upload was deleted, or has its file: there is nothing to retry.';
        throw new Fault('task.not_possible', { status: 409, message });
      }
      const deadline = kit.clock.now() + urlLife;
      const given = { expires: deadline, caller, keyId };
      const url = await urls.make(outputAssetId, given);
      return { deadline, params: { url, tusEndpoint: await urls.makeTus(outputAssetId, given) } };
    },
  };
}
