import { expect, test } from 'vitest';
import { issues as texts } from '../../runtime/media/live/issues.ts';
import { Feed, type PlayOptions, type Publisher, play, sendHeaders } from './feed.ts';
import { Viewer } from './viewer.ts';

const HOUR = 3_600_000;

/** Plays with odd stamps; returns what a viewer got of it. */
async function odd(options: Partial<PlayOptions>): Promise<{
  viewer: Viewer;
  publisher: Publisher;
  issues: readonly string[];
  /** Seconds of picture and of sound, and how far their ends are apart. */
  picture: number;
  sound: number;
}> {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const publisher = feed.attach();
  sendHeaders(publisher.sink, options.video === false ? { video: new Uint8Array() } : {});
  await play(feed, publisher.sink, { seconds: 20, after: () => viewer.look(), ...options });
  feed.output.detach('t1');
  await viewer.look();
  const length = (track: number, timescale: number) =>
    viewer.samples(track).reduce((sum, sample) => sum + sample.duration, 0) / timescale;
  const issues = publisher.sink.figures().issues;
  return { viewer, publisher, issues, picture: length(1, 90_000), sound: length(2, 48_000) };
}

test('the 32-bit clock wraps without a trace', async () => {
  for (const from of [2 ** 32 - 7000, 2 ** 31 - 7000]) {
    const { viewer, issues, picture, sound } = await odd({ from });
    expect(issues).toEqual([]);
    expect(picture).toBeCloseTo(20, 1);
    expect(sound).toBeCloseTo(20, 1);
    expect(viewer.segments.at(-1)?.discontinuities).toBe(0);
  }
});

test.each([
  ['an hour ahead', (time: number) => (time > 9000 ? time + HOUR : time)],
  ['an hour back', (time: number) => (time > 9000 ? time : time + HOUR)],
  [
    'a minute back, sound later than picture',
    (time: number, type: number) => (time > (type === 9 ? 9000 : 9300) ? time : time + 60_000),
  ],
  ['back and forth', (time: number) => time + (Math.floor(time / 4000) % 2) * HOUR],
  [
    'one wild picture',
    (time: number, type: number) => (type === 9 && Math.abs(time - 9000) < 10 ? time + HOUR : time),
  ],
  ['two clocks an hour apart', (time: number, type: number) => (type === 9 ? time + HOUR : time)],
])('a clock that jumps %s goes on where it was', async (_name, stamp) => {
  const { viewer, issues, picture, sound, publisher } = await odd({ stamp });
  expect(issues).toEqual([texts.jumped]);
  expect(Math.abs(picture - 20)).toBeLessThan(0.4);
  expect(Math.abs(sound - 20)).toBeLessThan(0.4);
  expect(viewer.samples(1)).toHaveLength(600);
  expect(publisher.fatal).toEqual([]);
});

test('a clock that stands still is replaced by the time of arrival', async () => {
  const { viewer, issues, picture, sound } = await odd({ stamp: () => 0 });
  expect(issues).toEqual([texts.still]);
  expect(Math.abs(picture - 20)).toBeLessThan(0.7);
  expect(Math.abs(sound - picture)).toBeLessThan(0.7);
  expect(viewer.samples(1).length).toBeGreaterThan(590);
});

test('equal, coarse and shaking stamps lose no frame', async () => {
  const coarse = await odd({ stamp: (time) => Math.floor(time / 100) * 100 });
  expect(coarse.issues).toEqual([]);
  expect(coarse.viewer.samples(1)).toHaveLength(600);
  expect(coarse.viewer.samples(2)).toHaveLength(938);
  let turn = 0;
  const shaking = await odd({
    stamp: (time) => {
      turn += 1;
      return Math.max(0, time + ((turn * 37) % 30) - 15);
    },
  });
  expect(shaking.issues).toEqual([]);
  expect(shaking.viewer.samples(1)).toHaveLength(600);
});

test('sound that drifts against its clock is put right', async () => {
  const { picture, sound, issues } = await odd({
    stamp: (time, type) => (type === 8 ? Math.round(time * 1.02) : time),
  });
  expect(issues).toEqual([]);
  expect(Math.abs(sound - 20.4)).toBeLessThan(0.15);
  expect(picture).toBeCloseTo(20, 1);
});

test('a gap is not stretched over', async () => {
  for (const video of [true, false]) {
    const { viewer, picture, sound } = await odd({
      video,
      stamp: (time) => (time >= 8000 ? time + 5000 : time),
    });
    expect(viewer.segments.at(-1)?.discontinuities).toBe(1);
    const jump = viewer.segments.findIndex((segment) => segment.discontinuities === 1);
    const [before, after] = [viewer.segments[jump - 1], viewer.segments[jump]];
    const wall = (after.wall ?? 0) - (before.wall ?? 0) - before.duration * 1000;
    expect(Math.abs(wall - 5000)).toBeLessThan(60);
    if (video) expect(picture).toBeCloseTo(20, 1);
    expect(Math.abs(sound - 20)).toBeLessThan(0.1);
  }
});

test('sound that lags by seconds is neither dropped nor taken for gone', async () => {
  const { viewer, issues, sound } = await odd({
    from: 60_000,
    stamp: (time, type) => (type === 8 ? time - 6000 : time),
  });
  expect(issues).toEqual([]);
  expect(viewer.segments.at(-1)?.discontinuities).toBe(0);
  expect(sound).toBeGreaterThan(13);
});

test('a track that stops is left out, and taken back when it returns', async () => {
  for (const silent of ['audio', 'video'] as const) {
    const feed = new Feed();
    const viewer = new Viewer(feed);
    const { sink } = feed.attach();
    sendHeaders(sink);
    const after = () => viewer.look();
    await play(feed, sink, { seconds: 6, after });
    await play(feed, sink, { seconds: 10, from: 6000, [silent]: false, after });
    await play(feed, sink, { seconds: 10, from: 16_000, after });
    feed.output.detach('t1');
    await viewer.look();
    expect(sink.figures().issues).toEqual([silent === 'audio' ? texts.audioGone : texts.videoGone]);
    expect(viewer.segments.at(-1)?.discontinuities).toBe(2);
  }
});
