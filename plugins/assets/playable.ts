import { neverReady, notReady, type Playable, type PlaybackInfo } from '../playback/contract.ts';
import { type AssetDocument, assetOf } from './document.ts';
import type { AssetsKit } from './kit.ts';
import { assetRow, isPlaybackId, watchedRow } from './lookup.ts';
import { linksOf } from './present.ts';

/** Assets, by id or playback id. */
export function assetPlayable(kit: AssetsKit): Playable {
  return {
    async find(id, { baseUrl }) {
      const row = await (isPlaybackId(id) ? watchedRow(id, kit) : assetRow(id, kit));
      return row && infoOf(assetOf(row), baseUrl);
    },
  };
}

function infoOf({ playbackId, file, status }: AssetDocument, baseUrl: string): PlaybackInfo {
  if (!file) throw status === 'failed' ? neverReady : notReady;
  const { playbackUrl, fastUrl, downloadUrl } = linksOf({ playbackId, file }, baseUrl);
  const hls = { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl' };
  const mp4 = { hrn: 'MP4', type: 'html5/video/mp4', url: fastUrl ?? downloadUrl };
  const source = playbackUrl === undefined ? [mp4] : [{ ...hls, url: playbackUrl }, mp4];
  return { type: 'vod', meta: { live: 0, source } };
}
