import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../../core/http/http.ts';
import { idSchema, json, nothing, storeFaults } from '../../../core/http/operation.ts';
import { openly, publicPreflightAge, readableByAll } from '../../../core/http/public-access.ts';
import type { AssetsKit } from '../kit.ts';
import { shownAsset } from '../shown.ts';
import { uploader } from './put.ts';
import { uploading } from './uploading.ts';
import type { UploadUrls } from './url.ts';

/** `PUT /upload/{assetId}?expires=…&signature=…`: the file of an asset, from whoever has the URL. */
export function putRoute(kit: AssetsKit, { urls }: { urls: UploadUrls }): AnyElysia {
  const shown = shownAsset(kit);
  const upload = uploader(kit, kit.use(uploading));
  return new Elysia()
    .put(
      '/upload/:assetId',
      ({ request, params: { assetId } }) =>
        openly(async () => {
          const by = await urls.check(assetId, new URL(request.url).searchParams);
          return Response.json(
            await shown.present(await upload(request, { assetId, by }), kit.caller(request)),
          );
        }),
      {
        // Elysia would read a body whole, by what its type claims to be.
        parse: 'none',
        ...says(
          'Takes the file of an asset, whatever its content type. 200 with the asset when it is accepted.',
          {
            name: 'upload',
            isOpen: true,
            path: { assetId: idSchema },
            query: {
              expires: Type.String({ isRequired: true, examples: ['1767268800'] }),
              key: Type.String({
                description: 'Id of the API key that asked for it.',
                examples: idSchema.examples,
              }),
              signature: Type.String({ isRequired: true, examples: ['6Xk…'] }),
            },
            file: ['video/mp4'],
            answers: { 200: json(shown.schema, 'The asset, ready.') },
            faults: [
              ...[
                'upload.altered',
                'upload.expired',
                'upload.revoked',
                'upload.accepted',
                'upload.cancelled',
                'upload.busy',
              ],
              ...['upload.refused', 'upload.too_many', 'server.busy', 'asset.not_found'],
              ...['intake.too_large', 'intake.broken', 'intake.silent', 'intake.slow', 'intake.full'],
              'intake.unavailable',
              ...['conversion.refused', 'conversion.unavailable'],
              ...['inspection.unavailable', 'blobs.unavailable', 'blobs.full', 'blobs.denied', 'blobs.busy'],
              ...['blobs.closed', 'blobs.too_large', 'blobs.wrong_length'],
              ...storeFaults,
            ],
          },
        ),
      },
    )
    .options(
      '/upload/:assetId',
      preflight,
      says('Tells a browser that pages of every origin may upload here.', {
        name: 'preflightUpload',
        isOpen: true,
        path: { assetId: idSchema },
        answers: { 204: nothing },
      }),
    );
}

function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...readableByAll,
      'access-control-allow-methods': 'PUT, OPTIONS',
      'access-control-allow-headers': 'Content-Type, *',
      'access-control-max-age': String(publicPreflightAge),
    },
  });
}
