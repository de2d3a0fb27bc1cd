import { services } from '../../../core/plugin/services.ts';
import type { StreamsKit } from '../config.ts';
import { notLive } from '../faults.ts';
import { playlistLocations } from './playlist-locations.ts';
import { type EdgeProxy, returnWait, serveHere } from './proxy.ts';

/** A single node has no other to ask: a playlist of a broadcast that is expected back waits for it here. */
export function singleNode(kit: StreamsKit): EdgeProxy {
  const media = kit.use(services.media);
  const locations = playlistLocations(kit);
  let waiting = 0;
  return {
    async serve(viewer) {
      const { playbackId, file, signal } = viewer;
      const mayWait = playlists.test(`${playbackId}/${file}`) && waiting < kit.config.maxWaitingViewers;
      if (!mayWait || !(await locations.find(playbackId)).isActive) throw notLive();
      waiting += 1;
      try {
        await media.appears(playbackId, { timeout: returnWait, signal });
      } finally {
        waiting -= 1;
      }
      return serveHere(media, viewer);
    },
  };
}

const playlists = /^[0-9a-z]{16}\/[0-9a-z_.]{1,64}\.m3u8$/;
