import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import { type AssetFile, type Assets, assets } from '../../plugins/assets/contract.ts';

/** A plugin that makes assets as a test says, as recordings do. */
export function assetMaker(): { plugin: Plugin; readonly assets: Assets } {
  let made: Assets | undefined;
  const plugin = definePlugin({
    id: 'asset-maker',
    summary: 'makes the assets that a test names',
    needs: [assets],
    start(kit) {
      made = kit.use(assets);
      return undefined;
    },
  }) as unknown as Plugin;
  return {
    plugin,
    get assets() {
      if (!made) throw new Error('the maker of assets was not started');
      return made;
    },
  };
}

/** Stores the blobs of an asset: 1000 bytes of video, a head and an index. What describes them is made up. */
export async function storeFile(blobs: Blobs, id: string, name = 'source'): Promise<AssetFile> {
  const folder = `assets/${id}`;
  await blobs.put(`${folder}/${name}.mp4`, videoBytes);
  await blobs.put(`${folder}/${name}-head.mp4`, new Uint8Array(100));
  await blobs.put(`${folder}/${name}.idx`, new Uint8Array(16));
  return {
    video: { key: `${folder}/${name}.mp4`, size: 1000, md5: 'ab'.repeat(16), sha256: 'cd'.repeat(32) },
    head: { key: `${folder}/${name}-head.mp4`, size: 100, from: 40, to: 900 },
    index: { key: `${folder}/${name}.idx`, size: 16 },
    spec: {
      format: 'mp4',
      duration: 8.5,
      bitrate: 941,
      tracks: [
        { type: 'video', codec: 'h264', duration: 8.5, bitrate: 800, fps: 30, width: 640, height: 360 },
        { type: 'audio', codec: 'aac', duration: 8.5, bitrate: 141, channels: 2, sampleRate: 48_000 },
      ],
    },
  };
}

export const videoBytes = Uint8Array.from({ length: 1000 }, (_, index) => index % 251);
