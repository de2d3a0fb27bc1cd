import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { bytesOf } from '../../../core/base/config-fields.ts';
import { hasCode } from '../../../core/base/fault.ts';
import { uuid } from '../../../core/base/ids.ts';
import { authenticator } from '../../../core/http/auth.ts';
import { hold } from '../../../core/http/hold.ts';
import { says } from '../../../core/http/http.ts';
import { idSchema, json, nothing, storeFaults } from '../../../core/http/operation.ts';
import { openly, publicPreflightAge, readableByAll } from '../../../core/http/public-access.ts';
import { services } from '../../../core/plugin/services.ts';
import type { ReceivedFile } from '../../../core/ports/intake.ts';
import { tasks } from '../../tasks/contract.ts';
import { comeStage, isNormalised } from '../asset/accept.ts';
import type { AssetDocument } from '../asset/document.ts';
import { shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { fileTaskOf } from '../contract.ts';
import { asRanged, rangedFaults, rangedUploader } from '../ranges/put.ts';
import { accepted, cancelled, intakeFaults, revoked, stopping, storingFaults, tryFaults } from './faults.ts';
import { checkPermission, receiveBound } from './permission.ts';
import { leastPace, lengthOf, progressOf, type Try, type UploadTries } from './tries.ts';
import { uploading } from './uploading.ts';
import { type SignedFor, signedQuery, type UploadUrls } from './url.ts';

/** Receives the file of an asset in one request: writes it to disk, inspects it, stores it, and makes the asset ready. */
export function uploader(
  kit: AssetsKit,
  { tries }: { tries: UploadTries },
): (request: Request, to: { assetId: string; by: Pick<SignedFor, 'keyId'> }) => Promise<AssetDocument> {
  const { clock, config } = kit;
  const intake = kit.use(services.intake);
  const most = bytesOf(config.maxUploadSize);

  const attempt = async (
    request: Request,
    { of, by, account }: { of: Try; by: Pick<SignedFor, 'keyId'>; account: string },
  ): Promise<AssetDocument> => {
    const { taskId, workId } = of;
    const ending = new AbortController();
    const expected = lengthOf(request);
    const unwanted = () => ending.abort(cancelled);
    const stop = () => ending.abort(stopping);
    kit.signal.addEventListener('abort', stop);
    const unsubscribe = kit.use(authenticator).onRevoked(by, () => ending.abort(revoked));
    let file: ReceivedFile | undefined;
    const bound = await receiveBound(account, { most, kit });
    try {
      const watch = { taskId, workId, expected, to: comeStage(await isNormalised(kit)) };
      file = await intake.receive(request.body, {
        most: bound.most,
        ...(expected !== undefined && { expected }),
        least: leastPace(kit),
        signal: ending.signal,
        onBytes: progressOf(watch, { tasks: kit.use(tasks), clock, unwanted }),
      });
      unsubscribe();
      // All bytes are here: from now on it continues without the client.
      return await tries.take(file, { of, name: workId, signal: ending.signal });
    } catch (error) {
      throw hasCode(error, 'intake.too_large') ? await bound.instead(error) : error;
    } finally {
      unsubscribe();
      kit.signal.removeEventListener('abort', stop);
      await file?.discard();
    }
  };

  return async (request, { assetId, by }) => {
    const document = await tries.documentOf(assetId);
    if (document.status === 'ready') throw accepted;
    // Before anything is changed or read. A file that is too long gets another fault, later.
    const size = lengthOf(request);
    if ((size ?? 0) <= most) await intake.checkRoom(size ?? 0);
    const { account, name } = document;
    const asked = {
      account,
      assetId,
      name,
      source: { type: 'directUpload' },
      ...(size !== undefined && { size }),
    } as const;
    await checkPermission({ stage: 'request', ...asked }, kit);
    const of = { assetId, taskId: fileTaskOf(assetId, 'upload'), workId: uuid(), assetName: document.name };
    const release = tries.places.take(document.account);
    let letGo = () => {};
    try {
      await tries.begin(of);
      letGo = hold(request);
      try {
        await tries.awaitAnew(document);
        return await attempt(request, { of, by, account });
      } catch (error) {
        throw await tries.ended(error, of);
      }
    } finally {
      letGo();
      release();
    }
  };
}

/** `PUT /upload/{assetId}?expires=…&signature=…`: the file of an asset, from everyone who has the URL. */
export function putRoute(kit: AssetsKit, { urls }: { urls: UploadUrls }): AnyElysia {
  const shown = shownAsset(kit);
  const upload = uploader(kit, kit.use(uploading));
  const ranged = rangedUploader(kit);
  return new Elysia()
    .put(
      '/upload/:assetId',
      ({ request, params: { assetId } }) => {
        const checked = () => urls.check({ what: 'PUT', assetId }, new URL(request.url).searchParams);
        const present = async (asset: AssetDocument) =>
          Response.json(await shown.present(asset, kit.caller(request)));
        if (request.headers.has('content-range'))
          return asRanged({ assetId, kit }, async () => {
            const { expires } = await checked();
            const accepted = await ranged(request, { assetId, expires });
            return accepted instanceof Response ? accepted : present(accepted);
          });
        return openly(async () => present(await upload(request, { assetId, by: await checked() })));
      },
      {
        // Elysia would read the whole body, depending on its content type.
        parse: 'none',
        ...says(
          'Uploads the file of an asset, with any content type: as a whole, or in pieces with `Content-Range`, which survive a lost connection. 200 with the asset when the file is accepted.',
          {
            name: 'upload',
            isOpen: true,
            path: { assetId: idSchema },
            query: signedQuery,
            file: ['video/mp4'],
            headers: { 'Content-Range': contentRange },
            answers: {
              200: json(shown.schema, 'The asset, ready.'),
              308: {
                description: 'The file is not complete: send the next piece.',
                headers: { Range: arrivedRange },
              },
            },
            faults: [
              ...rangedFaults,
              ...['upload.altered', 'upload.expired', 'upload.revoked', ...tryFaults, 'asset.not_found'],
              ...['intake.too_large', ...intakeFaults, 'conversion.refused', 'conversion.unavailable'],
              ...[...storingFaults, ...storeFaults],
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

const contentRange = Type.String({
  description:
    'The body has these bytes of the file: `bytes <first>-<last>/<total>`. The first piece begins the file anew; every other one begins at the end of `Range` of the last answer, or before it. Without a body, `bytes */<total>` asks what has arrived.',
  examples: ['bytes 0-31457279/104857600'],
});
const arrivedRange = Type.String({
  description: 'What is on disk, whatever happens; absent: nothing. Errors have it too.',
  examples: ['bytes=0-31457279'],
});

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
