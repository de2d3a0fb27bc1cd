import { expect, test } from 'vitest';
import { AAC_48000_STEREO, Feed, play, sendHeaders } from './feed.ts';

const vitalsOf = (feed: Feed) => {
  const vitals = feed.output.vitals();
  if (!vitals) throw new Error('nothing was published');
  return vitals;
};

test('frames, key frames and steps are counted as they come', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  expect(vitalsOf(feed)).toMatchObject({ frames: 0, keyFrames: 0, keyTime: -1, codecs: [] });
  sink.onMetadata([{ videocodecid: 7, audiocodecid: 10, framerate: 30 }]);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 9, gop: 120 });
  const vitals = vitalsOf(feed);
  expect(vitals).toMatchObject({
    frameRate: 30,
    expectsVideo: true,
    expectsAudio: true,
    frames: 270,
    keyFrames: 3,
  });
  expect(vitals).toMatchObject({ keyInterval: 4000, gapTime: 0, late: 0 });
  expect(vitals.stepTime / 269).toBeCloseTo(33.33, 1);
  expect(vitals.videoTime - vitals.keyTime).toBe(967);
  expect(vitals.jitter).toBeLessThan(2);
  expect(Math.abs(vitals.soundLead)).toBeLessThan(40);
  expect(vitals.codecs).toEqual(['avc1.64001e', 'mp4a.40.2']);
});

test('holes in the media are counted, of the picture and of the sound', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  const later = (time: number) => (time >= 3000 ? time + 900 : time);
  await play(feed, sink, { seconds: 6, stamp: later });
  const { gapTime } = vitalsOf(feed);
  expect(gapTime).toBeGreaterThan(1700);
  expect(gapTime).toBeLessThan(2000);
});

test('a jump of the clock that was mended is no hole', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6, stamp: (time) => (time >= 3000 ? time + 3_600_000 : time) });
  expect(vitalsOf(feed)).toMatchObject({ gapTime: 0, late: 0 });
  expect(feed.output.figures()?.issues).toHaveLength(1);
});

test('a stall shows as jitter and as late messages, and passes', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 5 });
  // For 3 s nothing, then the media goes on where it was: all of it is 3 s late.
  feed.clock.advance(3000);
  await play(feed, sink, { seconds: 0.5, from: 5000 });
  const stalled = vitalsOf(feed);
  expect(stalled.jitter).toBeGreaterThan(2900);
  expect(stalled.jitter).toBeLessThan(3100);
  expect(stalled.late).toBe(15);
  await play(feed, sink, { seconds: 6, from: 5500 });
  expect(vitalsOf(feed).jitter).toBeLessThan(5);
});

test('sound alone is measured by itself', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink, { video: new Uint8Array(), audio: AAC_48000_STEREO });
  await play(feed, sink, { seconds: 5, video: false });
  expect(vitalsOf(feed)).toMatchObject({
    frames: 0,
    videoAt: 0,
    videoTime: -1,
    gapTime: 0,
    codecs: ['mp4a.40.2'],
  });
  expect(vitalsOf(feed).audioAt).toBeGreaterThan(feed.clock.now() - 100);
});

test('after the publisher has gone its last counters can still be read', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  feed.output.detach('t1');
  expect(vitalsOf(feed).frames).toBe(90);
});
