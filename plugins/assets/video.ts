import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/fault.ts';
import { fileRoute } from '../../core/file-route.ts';
import { typeOf } from '../../core/ports/blobs.ts';
import { preflight, saysPreflight } from '../../core/public-access.ts';
import { filmRoute } from '../../core/vod/route.ts';
import { films } from './contract.ts';
import { assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { watchedRow } from './lookup.ts';

/** `/asset/{playbackId}/…`: the file of an asset and its playback, for everyone who knows its URL. */
export function videoRoutes(kit: AssetsKit): AnyElysia {
  const find = async (playbackId: string) => {
    const row = await watchedRow(playbackId, kit);
    return row && assetOf(row);
  };
  return new Elysia()
    .use(
      fileRoute('/asset/:playbackId/video', {
        name: 'getAssetVideo',
        summary: 'The file of an asset, for everyone.',
        types: ['video/mp4'],
        path: { playbackId },
        faults: ['asset.no_file'],
        async find({ playbackId }) {
          const document = await find(playbackId);
          if (!document?.file) throw noFile;
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
        gone: () => noFile,
        blobs: kit.blobs,
      }),
    )
    .use(
      filmRoute('/asset', {
        name: 'getAssetPlayback',
        summary:
          'Playback of an asset for everyone: `index.m3u8` is the playlist to open where the asset has a `playbackUrl`, `source.mp4` the film as one file that players begin at once.',
        id: { name: 'playbackId', schema: playbackId },
        faults: ['asset.no_file'],
        find: async (playbackId) => (await find(playbackId))?.file ?? undefined,
        absent: noFile,
        films: kit.use(films),
      }),
    )
    .options('/asset/*', preflight, saysPreflight('preflightAsset'));
}

const playbackId = Type.String({ examples: ['6pukxh2m0ydr9h3q'] });

const noFile = new Fault('asset.no_file', {
  status: 404,
  message: 'There is no file of an asset at this URL.',
});
