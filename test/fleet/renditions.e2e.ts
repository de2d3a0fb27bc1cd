import { describe, expect, test } from 'vitest';
import { apiClient } from '../e2e/harness/api.ts';
import { readHls } from '../e2e/harness/ffmpeg.ts';
import { lasting } from '../e2e/harness/wait.ts';
import { broadcast } from '../kit/publisher/broadcast.ts';
import { compare } from '../renditions/alignment.ts';
import { paintedClip } from '../renditions/painted-clip.ts';
import { gapsIn, shownNumbers } from '../renditions/shown-numbers.ts';
import { follow, offers } from '../renditions/variants.ts';
import { lacksEngines, threeNodes } from './three-nodes.ts';

/** Two nodes that decide and answer, and one that takes broadcasts and encodes. */
describe.skipIf(await lacksEngines())('three nodes', () => {
  const fleet = threeNodes();

  test('renditions are made where the broadcast is, and watched through every node', async () => {
    const clip = await paintedClip({ width: 640, height: 360, bFrames: 2, seconds: 60 });
    const api = apiClient(fleet().node('a').url, { key: fleet().key });
    const profiles = [{ name: '240p', width: 426, height: 240, bitrate: 500_000, fps: 0 }];
    const stream = await api.createStream({ name: 'ladder', profiles });
    const { rtmpPort } = fleet().node('media');
    const encoder = broadcast({ url: `rtmp://127.0.0.1:${rtmpPort}/live/${stream.streamKey}`, clip });
    try {
      await encoder.started;
      const on = (id: string, file: string) =>
        `${fleet().node(id).url}/hls/${stream.playbackId}/${file}.m3u8`;
      for (const id of ['a', 'b', 'media'])
        await offers(on(id, 'index'), { names: ['source', 'r1'], within: 60_000 });
      await using source = follow(on('a', 'source'), { name: 'source' });
      await using rendition = follow(on('b', 'r1'), { name: 'r1' });
      await lasting(14_000);
      for (const { name, problems, refusals } of [source, rendition])
        expect([name, problems.slice(0, 2), refusals.slice(0, 2)]).toEqual([name, [], []]);
      const { differences, duration } = compare(source.segments, rendition.segments);
      expect(differences.slice(0, 5)).toEqual([]);
      expect(duration).toBeGreaterThan(6);
      expect(gapsIn(await shownNumbers([...rendition.segments.values()]), { of: clip.frames })).toEqual([]);
      const read = await readHls(on('a', 'r1'), { seconds: 4 });
      expect(read.errors).toEqual([]);
      expect(read.frames).toBeGreaterThan(90);
    } finally {
      await encoder.stop({ clean: true });
    }
  }, 180_000);
});
