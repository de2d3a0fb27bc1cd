import { expect, test } from 'vitest';
import { type PlayOptions, play, sendHeaders } from '../../hls/feed.ts';
import { expectAligned } from './aligned.ts';
import { broadcast, picturesOf, profileOf, settled, TWO } from './kit.ts';

/** Composition time of the nth picture that is decoded, ms: two B-frames between the others, in GOPs of `gop`. */
function bFrames(gop: number, options: { isOpen?: boolean; fps?: number } = {}) {
  const { isOpen = false, fps = 30 } = options;
  return (index: number): number => {
    const nth = index % gop;
    const first = index - nth;
    // An open GOP begins with the key frame, then come the two that are shown before it.
    const lead = isOpen && first > 0 ? 2 : 0;
    let place: number;
    if (nth === 0) place = lead;
    else if (nth <= lead) place = nth - 1;
    else {
      const inGroup = (nth - lead - 1) % 3;
      const group = nth - lead - 1 - inGroup;
      const size = Math.min(3, gop - lead - 1 - group);
      // The last of the group is decoded first; what an open GOP shows before the next key frame comes with that.
      place = lead + group + (inGroup === 0 ? size : inGroup);
    }
    const shown = first + place;
    return Math.round(((shown + 1 + (isOpen ? 2 : 0)) * 1000) / fps) - Math.round((index * 1000) / fps);
  };
}

const sources: [string, Omit<PlayOptions, 'seconds'>, { isUneven?: boolean }][] = [
  ['no B-frames', {}, {}],
  ['B-frames', { cts: bFrames(60) }, {}],
  ['B-frames, key frames every second', { cts: bFrames(30), gop: 30 }, {}],
  ['B-frames and key frames that are no multiple of parts', { cts: bFrames(47), gop: 47 }, {}],
  ['B-frames, 25 a second, 44.1 kHz', { cts: bFrames(50, { fps: 25 }), gop: 50, fps: 25, rate: 44_100 }, {}],
  ['no sound', { audio: false, cts: bFrames(60) }, {}],
  ['each a key frame', { gop: 1 }, {}],
  ['one picture a second', { fps: 1, gop: 2 }, { isUneven: true }],
  [
    'times that jitter',
    { stamp: (time, type) => time + (type === 9 ? (time * 7919) % 23 : 0) },
    { isUneven: true },
  ],
];

test.each(sources)(
  'renditions have the segments, parts, times and sound of the source: %s',
  async (_, how, { isUneven }) => {
    const { feed, maker, source, renditions, attach, look } = broadcast({ isUneven });
    const { sink, grant } = attach();
    sendHeaders(sink, how.audio === false ? { audio: new Uint8Array() } : {});
    if (how.audio === false) sink.onMetadata(['onMetaData', { width: 640 }]);
    await play(feed, sink, { seconds: 16, ...how, after: look });
    feed.output.detach(grant.token);
    await look();
    expect(maker.errors).toEqual([]);
    expect(maker.runs).toHaveLength(1);
    for (const rendition of renditions) {
      expect(rendition.segments.map(({ sequence }) => sequence)).toEqual(
        source.segments.map(({ sequence }) => sequence),
      );
      expectAligned(rendition, source);
    }
    expect(renditions[0].segments.length).toBeGreaterThan(5);
    expect(maker.ladder.lag).toBe(0);
    // Nothing is fed twice here, and each part tells its pictures where the part before has ended.
    const { fed } = maker;
    expect(fed.reduce((sum, { count }) => sum + count, 0)).toBe(source.samples(1).length);
    for (const [index, { start }] of fed.slice(1).entries()) expect(start).toBe(fed[index].end);
  },
);

test('an open GOP: pictures before the key frame are at the end of the segment before', async () => {
  const { feed, maker, source, renditions, attach, look } = broadcast();
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 16, cts: bFrames(60, { isOpen: true }), after: look });
  feed.output.detach(grant.token);
  await look();
  expect(maker.errors).toEqual([]);
  for (const rendition of renditions) {
    expectAligned(rendition, source, { isEach: false });
    const begun = rendition.segments.slice(2);
    expect(begun.length).toBeGreaterThan(3);
    for (const { sequence } of begun) {
      const [first] = picturesOf(rendition, sequence);
      const key = picturesOf(source, sequence).find(({ isKey }) => isKey);
      expect(first).toMatchObject({ isKey: true, shown: key?.shown });
    }
  }
});

test.each([
  [15, 0.5],
  [10, 1 / 3],
  [2, 1 / 15],
  [1, 1 / 30],
])('%i pictures a second of 30: parts without any are joined', async (fps, share) => {
  const profiles = [TWO[0], profileOf('slow', { fps })];
  const { feed, maker, source, renditions, attach, look } = broadcast({ profiles, isUneven: true });
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 16, cts: bFrames(60), after: look });
  feed.output.detach(grant.token);
  await look();
  expect(maker.errors).toEqual([]);
  const [each, slow] = renditions;
  expectAligned(each, source);
  expectAligned(slow, source, { isEach: false });
  expect(slow.segments).toHaveLength(source.segments.length);
  expect(slow.samples(1).length / each.samples(1).length).toBeCloseTo(share, 1);
  if (fps === 1) expect(slow.segments[3].parts.map(({ duration }) => duration)).toEqual([0.667, 1, 0.333]);
  const index = await feed.text('index.m3u8');
  expect([...index.matchAll(/FRAME-RATE=([\d.]+)/g)].map(([, rate]) => rate)).toEqual([
    '30.000',
    '30.000',
    '25.000',
  ]);
});

test('a process that dies is followed by one that goes on, and nothing is missing', async () => {
  const { feed, maker, source, renditions, attach, look } = broadcast();
  const { sink, grant } = attach();
  sendHeaders(sink);
  const cts = bFrames(60);
  let messages = 0;
  await play(feed, sink, {
    seconds: 20,
    cts,
    after: async () => {
      messages += 1;
      // At every place of a segment, sooner or later.
      if (messages % 137 === 0) maker.kill();
      await look();
    },
  });
  feed.output.detach(grant.token);
  await look();
  expect(maker.errors).toEqual([]);
  expect(maker.runs.length).toBeGreaterThan(8);
  const begun = maker.runs.map(({ from }) => from).filter((from) => from !== undefined);
  expect(begun.length).toBeGreaterThan(5);
  for (const rendition of renditions) {
    expect(rendition.segments.map(({ sequence }) => sequence)).toEqual(
      source.segments.map(({ sequence }) => sequence),
    );
    expectAligned(rendition, source);
    // What a process begins with is a key frame, and its part says so.
    const keys = rendition.segments.flatMap(({ sequence }) =>
      picturesOf(rendition, sequence).filter((each) => each.isKey),
    );
    for (const from of begun) {
      const next = picturesAll(rendition, source).find((shown) => shown >= from * 90_000 - 0.5);
      expect(keys.map(({ shown }) => shown)).toContain(next);
    }
  }
});

function picturesAll(
  rendition: Parameters<typeof picturesOf>[0],
  source: Parameters<typeof picturesOf>[0],
): number[] {
  return source.segments.flatMap(({ sequence }) => picturesOf(rendition, sequence).map(({ shown }) => shown));
}

test('a decoder that drops pictures costs those pictures and nothing else', async () => {
  const { feed, maker, source, renditions, attach, look } = broadcast({ isUneven: true });
  // Whole parts among them, also the first of a segment but for its key frame.
  maker.change = { isBroken: (shown) => shown % 540_000 > 20_000 && shown % 540_000 < 70_000 };
  const { sink, grant } = attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 20, after: look });
  feed.output.detach(grant.token);
  await look();
  expect(maker.errors).toEqual([]);
  for (const rendition of renditions) {
    expect(rendition.segments).toHaveLength(source.segments.length);
    for (const { sequence, duration, wall } of rendition.segments)
      expect(source.segments.find((each) => each.sequence === sequence)).toMatchObject({ duration, wall });
    expect(rendition.samples(1).length).toBeLessThan(source.samples(1).length);
    expect(rendition.samples(1).length).toBeGreaterThan(source.samples(1).length * 0.85);
  }
});

test('parts are there as soon as their last picture has come, and not before', async () => {
  const { feed, maker, attach, look } = broadcast();
  maker.change = { delay: 0 };
  const { sink } = attach();
  sendHeaders(sink);
  let most = 0;
  await play(feed, sink, {
    seconds: 8,
    after: async () => {
      await look();
      most = Math.max(most, maker.ladder.lag);
    },
  });
  expect(most).toBe(0);
  maker.isHeld = true;
  await play(feed, sink, { seconds: 1.5, from: 8000, after: look });
  expect(maker.ladder.lag).toBeGreaterThan(1000);
  maker.isHeld = false;
  maker.wake();
  await settled();
  expect(maker.ladder.lag).toBe(0);
});
