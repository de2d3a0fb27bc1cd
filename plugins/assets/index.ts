import { Elysia } from 'elysia';
import { exampleId } from '../../core/base/ids.ts';
import { documentBytes, storedKinds, usages } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { vod } from '../../core/vod/answer.ts';
import { FilmTexts } from '../../core/vod/film-texts.ts';
import { textTracks } from '../../core/vod/text-tracks.ts';
import { playables, playedFacts } from '../playback/contract.ts';
import { taskKinds, tasks } from '../tasks/contract.ts';
import { asset, eraseEffect } from './asset/asset.ts';
import { assetKind, assetOf } from './asset/document.ts';
import { fileReactions } from './asset/follow.ts';
import { making } from './asset/making.ts';
import { retaining } from './asset/retention.ts';
import { assetPlaces, routes } from './asset/routes.ts';
import { sweeping } from './asset/sweep.ts';
import { assetPlayable, playedAsset } from './asset/video.ts';
import { type AssetsKit, config } from './config.ts';
import { assetResource, assets, bytesOf, filmFiles, films } from './contract.ts';
import { importFaults } from './imports/faults.ts';
import { importKind } from './imports/request.ts';
import { rangedNodeRoutes } from './ranges/put.ts';
import { tusNodeRoutes } from './tus/routes.ts';
import { TusUploads } from './tus/uploads.ts';
import { uploadFaults } from './uploads/faults.ts';
import { uploadKind } from './uploads/request.ts';
import { uploadTries } from './uploads/tries.ts';
import { uploading } from './uploads/uploading.ts';

/** Of events, as an example. */
const payload = {
  asset: { id: exampleId, name: 'Example', status: 'ready', playbackId: '0'.repeat(16) },
};

/** Video files of an account, and everything that makes one. */
export default definePlugin({
  id: 'assets',
  summary: 'video files: uploads, imports, transcodes and recordings',
  config,
  needs: [
    ...[assets, authenticator, films, tasks, uploading],
    ...[services.converter, services.inspector, services.intake, services.secrets],
  ],
  provides: [assets, films, uploading],
  resources: [assetResource],
  offers: [
    ...[offer(playables, assetPlayable), offer(playedFacts, playedAsset)],
    ...[offer(taskKinds, uploadKind), offer(taskKinds, importKind)],
    offer(storedKinds, () => ({ kind: assetKind, bytes: storedOf })),
    offer(usages, ({ resources }: AssetsKit) => ({
      name: 'assets',
      used: (account) => resources.count(assetKind, { account }),
    })),
  ],
  actors: [asset],
  effects: { 'asset.erase': eraseEffect },
  duties: { sweep: sweeping, retention: retaining },
  emits: {
    'asset.created': { meaning: 'An asset was created; its file has not arrived yet.', payload },
    'asset.updated': {
      meaning: 'The name or user tags of an asset were changed, or its file was replaced.',
      payload,
    },
    'asset.ready': { meaning: 'The file of an asset is available.', payload },
    'asset.failed': { meaning: 'An asset gets no file; `statusMessage` gives the reason.', payload },
    'asset.deleted': { meaning: 'An asset was deleted.', payload },
  },
  faults: {
    'asset.not_found': { status: 404, meaning: 'There is no asset of this id in your account.' },
    'asset.not_ready': { status: 409, meaning: 'The asset has no file yet, or has failed.' },
    'asset.too_many': {
      status: 409,
      meaning: 'The account has the maximum number of assets (plugins.assets.maxPerAccount).',
    },
    ...uploadFaults,
    ...importFaults,
    'asset.no_file': { status: 404, meaning: 'There is no file of an asset at this URL.' },
  },
  reactions: fileReactions,
  routes,
  nodeRoutes: (kit) => new Elysia().use(tusNodeRoutes(kit)).use(rangedNodeRoutes(kit)),
  start(kit) {
    kit.provide(assets, making(kit, { places: assetPlaces(kit) }));
    const { blobs, clock } = kit;
    const texts = new FilmTexts({
      ...{ blobs, clock, sources: kit.offered(textTracks) },
      onTrouble: (message, fields) => kit.log.warn(message, fields),
    });
    const made = vod({
      ...{ blobs, texts },
      bytes: kit.config.playbackMemory * 1_048_576,
      files: kit.offered(filmFiles),
    });
    kit.provide(films, made);
    kit.metrics.reading('millrace_vod_playlists_bytes', {
      help: 'Memory that playlists and indexes of assets and recordings take.',
      read: () => made.bytes,
    });
    const tries = uploadTries(kit);
    const tus = new TusUploads(kit, { tries });
    kit.provide(uploading, { tries, tus });
    return tus.begin();
  },
});

/** Its document and its files. */
function storedOf(row: StoredResource): number {
  const { file } = assetOf(row);
  return documentBytes(row) + (file ? bytesOf(file) : 0);
}
