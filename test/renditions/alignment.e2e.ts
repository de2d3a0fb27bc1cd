/** Renditions of every kind of source beside their source: the same segments, parts, times, key frames, sound and pictures. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { lasting } from '../e2e/harness/wait.ts';
import { type AlignmentOptions, compare } from './alignment.ts';
import { namesOf, onAir, type Profile, renditionIssues, twoProfiles } from './on-air.ts';
import { type PaintedOptions, paintedClip } from './painted-clip.ts';
import { commonTime, gapsIn, shownNumbers, strangers } from './shown-numbers.ts';
import { follow, variantsOf } from './variants.ts';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

interface Lane extends AlignmentOptions {
  /** How long it is followed. */
  readonly seconds?: number;
  readonly name: string;
  readonly clip: PaintedOptions;
  readonly profiles?: readonly Profile[];
  /** Sizes of the renditions. */
  readonly sizes: readonly string[];
  /** Numbers go on by so many; undefined: as those of the source do, whatever that is. */
  readonly step?: number;
  readonly hasSound?: false;
}

const small = { width: 640, height: 360 };
const smallProfiles = twoProfiles.map((profile, n) => ({
  ...profile,
  width: [426, 320][n],
  height: [240, 180][n],
}));
const smallSizes = ['426x240', '320x180'];

const lanes: Lane[] = [
  { name: '720p30', clip: {}, seconds: 24, sizes: ['854x480', '426x240'], step: 1 },
  {
    name: 'B-frames, and a key frame every 0.7 s',
    clip: { ...small, bFrames: 3, gop: 21 },
    ...{ profiles: smallProfiles, sizes: smallSizes, step: 1 },
  },
  {
    name: 'a key frame every 10 s',
    clip: { ...small, bFrames: 2, gop: 300 },
    // The first segment, of a quarter of a second, lists no parts, so it is not counted.
    seconds: 32,
    ...{ profiles: smallProfiles, sizes: smallSizes, step: 1 },
  },
  {
    name: '60 fps, of which renditions have 30',
    clip: { ...small, fps: 60 },
    profiles: smallProfiles.map((profile) => ({ ...profile, fps: 30 })),
    ...{ sizes: smallSizes, step: 2, hasFewer: true },
  },
  {
    name: 'pictures that come unevenly, with B-frames',
    // Two of ten are left out, the others come up to 13 ms early or late.
    clip: {
      ...small,
      bFrames: 2,
      filter: "settb=1/1000,setpts='(N+0.4*sin(N*1.7))/30/TB',select='lt(mod(n,10),8)'",
    },
    ...{ profiles: smallProfiles, sizes: smallSizes, isUneven: true },
  },
  {
    name: 'H.265 with B-frames, by Enhanced RTMP',
    // Its groups are open: behind each key frame come pictures that are shown before it.
    clip: { ...small, codec: 'h265', bFrames: 2 },
    ...{ profiles: smallProfiles, sizes: smallSizes, step: 1, isUneven: true },
  },
  { name: 'portrait', clip: { width: 720, height: 1280 }, sizes: ['270x480', '136x240'] },
  {
    name: 'smaller than the profiles: as large as it came',
    clip: { width: 320, height: 180 },
    // Of which a rendition has the part of its size, and numbers are to be read.
    profiles: twoProfiles.map((profile) => ({ ...profile, bitrate: 8 * profile.bitrate })),
    ...{ sizes: ['320x180', '320x180'], step: 1 },
  },
  {
    name: 'no sound',
    clip: { ...small, hasSound: false },
    ...{ profiles: smallProfiles, sizes: smallSizes, step: 1, hasSound: false },
  },
];

test(
  '720p30: aligned with the source in playlists, boxes, sound and pictures',
  () => align(lanes[0]),
  240_000,
);

// Side by side: each has an encoder, a transcoder, and decoders that look at what came.
const together = [
  [1, 2, 4],
  [3, 5],
  [6, 7, 8],
].map((numbers) => {
  const own = numbers.map((n) => lanes[n]);
  return { names: own.map(({ name }) => name).join('; '), own };
});
test.each(together)(
  '$names: aligned with the source in playlists, boxes, sound and pictures',
  async ({ own }) => {
    await Promise.all(own.map(align));
  },
  240_000,
);

async function align(lane: Lane): Promise<void> {
  const { profiles = twoProfiles, isUneven = false, seconds = 18 } = lane;
  const clip = await paintedClip({ ...lane.clip, seconds: seconds + 20 });
  await using live = await onAir(server, { name: lane.name, clip, profiles });
  const variants = await variantsOf(live.url);
  expect(variants.map(({ name }) => name)).toEqual(namesOf(2));
  expect(variants.slice(1).map(({ resolution }) => resolution)).toEqual(lane.sizes);
  const bandwidths = profiles.map(({ bitrate }) => bitrate);
  for (const [n, { bandwidth, codecs }] of variants.slice(1).entries()) {
    expect(bandwidth).toBeLessThan(2 * bandwidths[n] + 300_000);
    expect(codecs[0]).toMatch(/^avc1\./);
    expect(codecs.slice(1)).toEqual(variants[0].codecs.slice(1));
  }

  await using source = follow(live.mediaUrl('source'), { name: 'source', isUneven });
  await using first = follow(live.mediaUrl('r1'), { name: 'r1', isUneven });
  await using second = follow(live.mediaUrl('r2'), { name: 'r2', isUneven });
  await lasting(seconds * 1000);
  for (const { name, problems, refusals } of [source, first, second])
    expect([name, problems.slice(0, 2), refusals.slice(0, 2)]).toEqual([name, [], []]);

  const shownBySource = await shownNumbers([...source.segments.values()]);
  if (lane.step !== undefined) expect(gapsIn(shownBySource, { of: clip.frames })).toEqual([]);
  for (const rendition of [first, second]) {
    const { differences, ...counts } = compare(source.segments, rendition.segments, lane);
    expect([rendition.name, differences.slice(0, 5)]).toEqual([rendition.name, []]);
    // The newest segments of a rendition may be still to come.
    expect(counts.duration).toBeGreaterThan(seconds - 10);
    expect(counts.parts).toBeGreaterThan(counts.segments * 2);
    expect(counts.sounds > 0).toBe(lane.hasSound ?? true);
    const { tracks } = [...rendition.segments.values()][0];
    const n = rendition === first ? 0 : 1;
    // It is shown in the exact shape of the source, coded in an even number of pixels.
    const [width, height] = lane.sizes[n].split('x').map(Number);
    expect(Math.abs(tracks[0].width - width)).toBeLessThanOrEqual(1);
    expect(tracks[0].height).toBe(height);

    const shown = await shownNumbers([...rendition.segments.values()]);
    // 136 pixels of width are too few for 16 squares.
    if (lane.sizes[n] === '136x240') continue;
    if (lane.step !== undefined) expect(gapsIn(shown, { of: clip.frames, step: lane.step })).toEqual([]);
    expect(strangers(shownBySource, shown).slice(0, 5)).toEqual([]);
    if (!lane.hasFewer) {
      const theirs = commonTime(shownBySource, shown);
      expect(theirs.length).toBeGreaterThan(100);
      expect(commonTime(shown, shownBySource)).toHaveLength(theirs.length);
    }
  }
  expect(await renditionIssues(server, live.stream.id)).toEqual([]);
}
