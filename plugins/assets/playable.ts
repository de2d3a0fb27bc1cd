import type { Playable, PlaybackInfo } from '../playback/contract.ts';
import { type AssetDocument, assetKind, assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { downloadUrl } from './present.ts';
import { playbackShape } from './video.ts';

/** Assets whose file is there, by id or playback id. */
export function assetPlayable({ resources, deployment: { publicUrl } }: AssetsKit): Playable {
  return {
    async find(id) {
      const row = playbackShape.test(id)
        ? await resources.find(assetKind, 'playbackId', id, { isBeside: true })
        : await resources.get(assetKind, id, { isBeside: true });
      const document = row && assetOf(row);
      return document?.file ? infoOf(document, publicUrl) : undefined;
    },
  };
}

function infoOf({ playbackId }: AssetDocument, publicUrl: string): PlaybackInfo {
  return {
    type: 'vod',
    meta: {
      live: 0,
      source: [{ hrn: 'MP4', type: 'html5/video/mp4', url: downloadUrl(playbackId, publicUrl) }],
    },
  };
}
