import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { userTagsSchema } from '../../../core/base/name.ts';
import { object } from '../../../core/base/schema.ts';
import { bodyReader } from '../../../core/http/body.ts';
import { says } from '../../../core/http/http.ts';
import { keyedRoutes } from '../../../core/http/keyed.ts';
import { json } from '../../../core/http/operation.ts';
import type { TaskKind } from '../../tasks/contract.ts';
import { assetName, shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { type Assets, assetResource, assets, orderFaults } from '../contract.ts';
import { type UploadUrls, uploadUrls } from './url.ts';

/** How long an upload can be begun with a URL, ms. */
const urlLife = 12 * 3_600_000;

/** `POST /api/asset/request-upload`: an asset, its task, and where to send its file. */
export function requestRoute(kit: AssetsKit, { urls }: { urls: UploadUrls }): AnyElysia {
  const made = kit.use(assets);
  const { once } = keyedRoutes(kit);
  const shown = shownAsset(kit);
  const fields = kit.resources.fields(assetResource);
  const own = { name: assetName, userTags: Type.Optional(userTagsSchema) };
  const body = bodyReader({ ...own, ...shown.extended } as typeof own, shown);

  return new Elysia().post(
    '/api/asset/request-upload',
    once(async ({ request, principal, id, caller }) => {
      const given = await body.read(request);
      const { name, userTags } = given;
      const values = await fields.initial(given, { principal });
      const { accountId: account, keyName: createdByTokenName, keyId } = principal;
      const expires = kit.clock.now() + urlLife;
      const source = { type: 'directUpload' } as const;
      const ordered = await made.order(
        {
          ...{ id, account, name, source, userTags, createdByTokenName, deadline: expires, lateMessage },
          fields: values,
        },
        caller,
      );
      return Response.json({
        url: await urls.make({ what: 'PUT', assetId: id }, { expires, caller, keyId }),
        tusEndpoint: await urls.make({ what: 'TUS', assetId: id }, { expires, caller, keyId }),
        ...ordered,
      });
    }),
    says(
      'Creates an asset and returns URLs for the upload of its file, by PUT or tus. They are valid for 12 h and need no key.',
      {
        name: 'requestUpload',
        body,
        answers: { 200: json(answerSchema(made), 'Where to send the file, its asset and its task.') },
        faults: [...orderFaults, ...fields.faults],
      },
    ),
  );
}

const lateMessage = 'No file came before the upload URL expired.';

const answerSchema = ({ ordered }: Assets) =>
  object({
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
    ...ordered,
  });

/** How an upload is retried: its asset waits again, and there is a new URL for the file. */
export function uploadKind(kit: AssetsKit): TaskKind {
  const urls = uploadUrls(kit);
  return {
    type: 'upload',
    async renew(task, { caller, keyId }) {
      const id = await kit.use(assets).renew(task);
      const deadline = kit.clock.now() + urlLife;
      const given = { expires: deadline, caller, keyId };
      const url = await urls.make({ what: 'PUT', assetId: id }, given);
      return { deadline, params: { url, tusEndpoint: await urls.make({ what: 'TUS', assetId: id }, given) } };
    },
  };
}
