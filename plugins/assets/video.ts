import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/fault.ts';
import { fileRoute } from '../../core/file-route.ts';
import { typeOf } from '../../core/ports/blobs.ts';
import { preflight, saysPreflight } from '../../core/public-access.ts';
import { assetKind, assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';

/** `/asset/{playbackId}/video`: the file of an asset, for everyone who knows its URL. */
export function videoRoutes({ resources, blobs }: AssetsKit): AnyElysia {
  return new Elysia()
    .use(
      fileRoute('/asset/:playbackId/video', {
        name: 'getAssetVideo',
        summary: 'The file of an asset, for everyone.',
        types: ['video/mp4'],
        path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
        faults: ['asset.no_file'],
        async find({ playbackId }) {
          const row = playbackShape.test(playbackId)
            ? await resources.find(assetKind, 'playbackId', playbackId, { isBeside: true })
            : undefined;
          const document = row && assetOf(row);
          if (!document?.file) throw noFile();
          const { video } = document.file;
          return {
            pieces: [{ key: video.key, from: 0, to: video.size }],
            etag: video.sha256,
            // A file that is made again has another time, and another tag.
            modified: document.fileAt,
            type: typeOf(video.key),
            name: document.name,
            ending: 'mp4',
          };
        },
        gone: noFile,
        blobs,
      }),
    )
    .options('/asset/*', preflight, saysPreflight('preflightAsset'));
}

export const playbackShape = /^[0-9a-z]{16}$/;

function noFile(): Fault {
  return new Fault('asset.no_file', { status: 404, message: 'There is no file of an asset at this URL.' });
}
