import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import { fileRoute } from '../../../core/http/file-route.ts';
import { type PlayGate, playGate } from '../../../core/http/play-gate.ts';
import { preflight, saysPreflight } from '../../../core/http/public-access.ts';
import type { PlaySubject } from '../../../core/plugin/decide.ts';
import { typeOf } from '../../../core/ports/blobs.ts';
import { findByName } from '../../../core/vod/aliases.ts';
import { filmRoute } from '../../../core/vod/route.ts';
import type { FilmIdentity } from '../../../core/vod/text-tracks.ts';
import {
  type Found,
  neverReady,
  notReady,
  type Playable,
  type PlayedFacts,
  playbackAliases,
} from '../../playback/contract.ts';
import type { AssetsKit } from '../config.ts';
import { assetResource, films, type Original } from '../contract.ts';
import { type AssetDocument, assetOf, assetRow, isPlaybackId, watchedRow } from './document.ts';
import { linksOf } from './present.ts';

/** `/asset/{playbackId}/…`: the file of an asset and its playback, for everyone who knows its URL. */
export function videoRoutes(kit: AssetsKit): AnyElysia {
  const gate = playGate(kit);
  const watched = watchedByName(kit);
  return new Elysia()
    .use(downloadRoutes(kit, { gate, watched }))
    .use(
      filmRoute('/asset', {
        name: 'getAssetPlayback',
        summary:
          'Playback of an asset: `index.m3u8` is the playlist, if the asset has a `playbackUrl`; `source.mp4` is the film as one file with its index in front. No key is needed.',
        id: { name: 'playbackId', schema: playbackId },
        faults: ['asset.no_file'],
        async find(playbackId) {
          const document = await watched(playbackId);
          if (!document?.file) return undefined;
          const film = { ...document.file, identity: identityOf(document) };
          return { film, subject: subjectOf(document) };
        },
        absent: noFile,
        films: kit.use(films),
        gate,
      }),
    )
    .options('/asset/*', preflight, saysPreflight('preflightAsset'));
}

/** The file of an asset, and the one that it was made of. */
function downloadRoutes(
  kit: AssetsKit,
  { gate, watched }: { gate: PlayGate | undefined; watched: Watched },
): AnyElysia {
  const found = async (playbackId: string, { request, name }: { request: Request; name: string }) => {
    const document = await watched(playbackId);
    if (!document?.file) throw noFile;
    const terms = await gate?.admit(request, { ...subjectOf(document), what: 'download', file: name });
    return { ...document, file: document.file, terms };
  };
  const common = {
    ...{ path: { playbackId }, faults: ['asset.no_file', 'server.busy'], gone: () => noFile },
    ...{ blobs: kit.blobs, gate },
  };
  return new Elysia()
    .use(
      fileRoute('/asset/:playbackId/video', {
        ...common,
        name: 'getAssetVideo',
        summary: 'The file of an asset. No key is needed.',
        types: ['video/mp4'],
        async find({ playbackId }, request) {
          const { file, fileAt, name, terms } = await found(playbackId, { request, name: 'video' });
          const { video } = file;
          return {
            pieces: [{ key: video.key, from: 0, to: video.size }],
            etag: video.sha256,
            // A file that is made again has another time and another tag.
            ...{ modified: fileAt, terms },
            type: typeOf(video.key),
            name,
            ending: 'mp4',
          };
        },
      }),
    )
    .use(
      fileRoute('/asset/:playbackId/original', {
        ...common,
        name: 'getAssetOriginal',
        summary: 'The uploaded file of an asset that was converted to mp4. No key is needed.',
        types: [...new Set(Object.values(formats).map(({ type }) => type))],
        async find({ playbackId }, request) {
          const { file, fileAt, name, terms } = await found(playbackId, { request, name: 'original' });
          const { original } = file;
          if (!original) throw noFile;
          return {
            pieces: [{ key: original.key, from: 0, to: original.size }],
            etag: original.sha256,
            ...{ modified: fileAt, terms },
            name,
            ...formats[original.format],
          };
        },
      }),
    );
}

/** The asset with this playback id, or one that an alias stands for. */
type Watched = (name: string) => Promise<AssetDocument | undefined>;

function watchedByName(kit: AssetsKit): Watched {
  const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  return (name) =>
    byName(name, async (playbackId) => {
      const row = await watchedRow(playbackId, kit);
      return row && assetOf(row);
    });
}

function subjectOf(document: AssetDocument): PlaySubject {
  return { kind: 'asset', ...identityOf(document) };
}

function identityOf({ id: assetId, account, playbackId, source }: AssetDocument): FilmIdentity {
  const ofSession = source.type === 'recording' ? { sessionId: source.sessionId } : {};
  return { assetId, account, playbackId, ...ofSession };
}

/** Only media types of films: a browser must not run anything in them as a page or a script. */
const formats: Readonly<Record<Original['format'], { type: string; ending: string }>> = {
  mp4: { type: 'video/mp4', ending: 'mp4' },
  mov: { type: 'video/quicktime', ending: 'mov' },
  matroska: { type: 'video/x-matroska', ending: 'mkv' },
  mpegts: { type: 'video/mp2t', ending: 'ts' },
  mpeg: { type: 'video/mpeg', ending: 'mpg' },
  flv: { type: 'video/x-flv', ending: 'flv' },
  avi: { type: 'video/x-msvideo', ending: 'avi' },
};

const playbackId = Type.String({ examples: ['6pukxh2m0ydr9h3q'] });

const noFile = new Fault('asset.no_file', {
  status: 404,
  message: 'There is no file of an asset at this URL.',
});

/** Assets, by id or playback id. */
export function assetPlayable(kit: AssetsKit): Playable {
  return {
    async find(id, { baseUrl }) {
      const row = await (isPlaybackId(id) ? watchedRow(id, kit) : assetRow(id, kit));
      return row && infoOf(assetOf(row), baseUrl);
    },
  };
}

/** What is stored of an asset that is played, also as a recording. */
export function playedAsset(kit: AssetsKit): (subject: PlaySubject) => Promise<PlayedFacts | undefined> {
  const shown = kit.resources.fields(assetResource);
  return async ({ kind, assetId }) => {
    const row = kind === 'live' || !assetId ? undefined : await assetRow(assetId, kit);
    const document = row && assetOf(row);
    return document && { names: [document.playbackId], fields: shown.present(document.fields ?? {}) };
  };
}

function infoOf(document: AssetDocument, baseUrl: string): Found {
  const { playbackId, file, status } = document;
  if (!file) throw status === 'failed' ? neverReady : notReady;
  const { playbackUrl, fastUrl, downloadUrl } = linksOf({ playbackId, file }, baseUrl);
  const hls = { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl' };
  const mp4 = { hrn: 'MP4', type: 'html5/video/mp4', url: fastUrl ?? downloadUrl };
  const source = playbackUrl === undefined ? [mp4] : [{ ...hls, url: playbackUrl }, mp4];
  return { subject: subjectOf(document), type: 'vod', meta: { live: 0, source } };
}
