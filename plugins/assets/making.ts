import { hasCode } from '../../core/fault.ts';
import { newPlaybackId } from '../../core/ids.ts';
import { asset } from './asset.ts';
import type { AssetFile, AssetReference, Assets } from './contract.ts';
import { type AssetDocument, assetOf, folderOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { assetRow, watchedRow } from './lookup.ts';

/** Assets, for the plugins that make them. */
export function making(kit: AssetsKit): Assets {
  const { actors, resources, clock } = kit;
  return {
    async begin({ id, account, name, source, createdByTokenName = null }) {
      const settings = {
        ...{ id, account, name, source, createdByTokenName },
        playbackId: resources.nameBeside(id, newPlaybackId),
        userTags: {},
        createdAt: clock.now(),
      };
      // Also of one that was deleted: whoever begins it again has not heard of that yet.
      await actors.spawn(asset, id, settings, { cause: `asset/${id}` }).catch((error: unknown) => {
        if (!hasCode(error, 'actor.exists')) throw error;
      });
    },
    async ready(id, file) {
      checkPlace(id, file);
      try {
        const { value } = await actors.ask(asset, id, { type: 'ready', file });
        return isKept(value) ? 'ok' : 'gone';
      } catch (error) {
        if (hasCode(error, 'actor.not_found')) return 'gone';
        throw error;
      }
    },
    async fail(id, message) {
      await actors.ask(asset, id, { type: 'fail', message }).catch((error: unknown) => {
        // Its file has come, or it was deleted.
        if (!hasCode(error, 'actor.not_possible') && !hasCode(error, 'actor.not_found')) throw error;
      });
    },
    async find(id) {
      const row = await assetRow(id, kit);
      return row && referenceOf(assetOf(row));
    },
    async findByPlaybackId(playbackId) {
      const row = await watchedRow(playbackId, kit);
      return row && { ...referenceOf(assetOf(row)), id: row.id };
    },
  };
}

/** A file elsewhere would not be erased with its asset. */
function checkPlace(id: string, { video, head, index }: AssetFile): void {
  for (const blob of [video, head, index]) {
    if (blob && !blob.key.startsWith(folderOf(id)))
      throw new RangeError(`${blob.key} is not below ${folderOf(id)}, where the blobs of asset ${id} belong`);
  }
}

function isKept(value: unknown): boolean {
  return typeof value === 'object';
}

function referenceOf({ status, account, playbackId, file }: AssetDocument): AssetReference {
  return { status, account, playbackId, ...(file && { file }) };
}
