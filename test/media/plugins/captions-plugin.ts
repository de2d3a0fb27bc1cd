import {
  definePlugin,
  type Kit,
  type MediaSubscriber,
  offer,
  type PublishedBroadcast,
  textTracks,
} from 'millrace/plugin';

/** Says the number of each segment for a second, from its first picture on; live, and in every film each five seconds. */
export default definePlugin({
  id: 'captions',
  summary: 'captions of which a test knows when they are to be seen',
  contract: 3,
  media: (broadcast, kit) => captioned(broadcast, kit),
  offers: [
    offer(textTracks, () => () => [
      { id: 'en', name: 'English', language: 'en', isDefault: true, vtt: async () => filmText },
    ]),
  ],
});

function captioned(broadcast: PublishedBroadcast, kit: Kit): MediaSubscriber {
  const track = broadcast.textTrack({ name: 'English', language: 'en', isDefault: true });
  const seen = { inits: 0, parts: 0, partsTime: 0, video: 0, audio: 0, keys: 0, bytes: 0 };
  const configs: string[] = [];
  let segments = 0;
  return {
    begin() {
      seen.inits += 1;
    },
    part(_, { time, duration, startsSegment }) {
      seen.parts += 1;
      seen.partsTime += duration;
      if (!startsSegment) return;
      segments += 1;
      track.cue({ start: time, end: time + 1000, text: `segment ${segments}` });
    },
    configure({ track, codec }) {
      configs.push(`${track} ${codec}`);
    },
    sample({ track, isKey, bytes }) {
      seen[track] += 1;
      seen.bytes += bytes.length;
      if (track === 'video' && isKey) seen.keys += 1;
    },
    end() {
      kit.log.info('captions saw', { ...seen, configs, segments, account: broadcast.account });
    },
  };
}

const filmText = Array.from({ length: 12 }, (_, n) => {
  const from = `00:${String(n * 5).padStart(2, '0')}`;
  return `${from}.000 --> ${from}.900\nsecond ${n * 5}\n\n`;
}).reduce((text, cue) => text + cue, 'WEBVTT\n\n');
