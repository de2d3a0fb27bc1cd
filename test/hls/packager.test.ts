import { expect, test } from 'vitest';
import { issues } from '../../runtime/media/live/issues.ts';
import { readInit } from './boxes.ts';
import {
  AAC_44100_MONO,
  AVC_240P,
  audioHeader,
  Feed,
  frame,
  HEVC_360P,
  play,
  send,
  sendHeaders,
  sound,
  videoHeader,
} from './feed.ts';
import { keepToTheLetter, partTargets } from './part-lengths.ts';
import { Viewer } from './viewer.ts';

const NONE = new Uint8Array();
const code = (text: string) => [...text].map((char) => char.charCodeAt(0));

async function watched(feed: Feed) {
  const viewer = new Viewer(feed);
  return { viewer, after: () => viewer.look() };
}

test('a publish is playable after one part, then has 2 s segments of whole frames', async () => {
  const feed = new Feed();
  const { viewer, after } = await watched(feed);
  const { sink, ...publisher } = feed.attach();
  let playableAt = 0;
  const began = feed.clock.now();
  sendHeaders(sink);
  await play(feed, sink, {
    seconds: 20,
    cts: (i) => [66, 133, 33, 0][i % 4],
    after: async () => {
      if (feed.output.isPlayable && playableAt === 0) playableAt = feed.clock.now() - began;
      await after();
    },
  });
  feed.output.detach(publisher.grant.token);
  await viewer.look();
  expect(playableAt).toBeGreaterThan(250);
  expect(playableAt).toBeLessThan(400);
  const durations = viewer.segments.map((segment) => segment.duration);
  expect(durations[0]).toBeCloseTo(0.267, 2);
  expect(durations[1]).toBeCloseTo(1.733, 2);
  expect(durations.slice(2).every((duration) => Math.abs(duration - 2) < 0.01)).toBe(true);
  expect(viewer.samples(1)).toHaveLength(600);
  expect(viewer.samples(2)).toHaveLength(938);
  expect(
    viewer
      .samples(1)
      .map((sample) => sample.cts)
      .slice(0, 4),
  ).toEqual([5940, 11970, 2970, 0]);
  expect(viewer.samples(1).filter((sample) => sample.isSync)).toHaveLength(10);
  expect(new Set(viewer.samples(2).map((sample) => sample.duration))).toEqual(new Set([1024]));
  expect(viewer.segments[0].sequence).toBe(100);
  expect(viewer.checker.last?.sequence).toBeGreaterThan(100);
  expect(viewer.checker.last?.partTarget).toBe(0.35);
  expect(viewer.checker.last?.target).toBe(4);
  expect(feed.output.figures()).toMatchObject({ issues: [], segments: viewer.segments.length });
  expect(feed.output.figures()?.duration).toBeCloseTo(20, 1);
  // Every frame once and in order, told by the byte each is filled with: 0 and then 1, 2, ...
  expect(viewer.runs.filter((run) => run.track === 1)[0].samples[0].first).toBe(0x65);
});

test.each([
  [60, 60],
  [50, 100],
  [25, 50],
  [24, 48],
  [23.976, 72],
  [15, 30],
  [12, 24],
  [10, 300],
  [8, 16],
  [5, 10],
  [2, 4],
])('%d frames per second, a key frame every %d', async (fps, gop) => {
  const feed = new Feed();
  const { viewer, after } = await watched(feed);
  const publisher = feed.attach();
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds: 65, fps, gop, after });
  feed.output.detach('t1');
  await viewer.look();
  const frames = Math.ceil(65 * fps);
  expect(Math.abs(viewer.samples(1).length - frames)).toBeLessThanOrEqual(Math.ceil(0.3 * fps));
  expect(viewer.checker.last?.partTarget).toBeLessThanOrEqual(fps >= 10 ? 0.351 : 0.6);
});

test.each(partTargets)('parts of %d s keep to the letter at usual frame rates', async (partTarget) => {
  for (const fps of [59.94, 30, 23.976]) await keepToTheLetter(partTarget, fps);
});

test('the multivariant playlist gives the frame rate of HEVC that only its header knows', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  const hvc1 = code('hvc1');
  send(sink, 9, 0, Uint8Array.from([0x90, ...hvc1, ...HEVC_360P]));
  for (let i = 0; i < 90; i += 1) {
    const kind = i % 60 === 0 ? 0x93 : 0xa3;
    send(sink, 9, Math.round((i * 1000) / 30), Uint8Array.from([kind, ...hvc1, 0, 0, 0, 3, 38, 1, i]));
    feed.clock.advance(33);
  }
  expect(await feed.text('index.m3u8')).toContain(
    'CODECS="hvc1.1.6.L63.90",RESOLUTION=640x360,FRAME-RATE=30.000',
  );
});

test('sound alone, picture alone', async () => {
  for (const kind of ['audio', 'video'] as const) {
    const feed = new Feed();
    const { viewer, after } = await watched(feed);
    const publisher = feed.attach();
    sendHeaders(publisher.sink, kind === 'audio' ? { video: NONE } : { audio: NONE });
    await play(feed, publisher.sink, {
      seconds: 30,
      video: kind === 'video',
      audio: kind === 'audio',
      after,
    });
    feed.output.detach('t1');
    await viewer.look();
    const map = viewer.fetched.get(viewer.segments[0].map) ?? NONE;
    expect(readInit(map)).toHaveLength(1);
    expect(viewer.segments.length).toBeGreaterThan(10);
    expect(viewer.segments.slice(2, -1).every(({ duration }) => duration >= 2 && duration < 2.4)).toBe(true);
    const codecs =
      kind === 'audio' ? 'CODECS="mp4a.40.2"\n' : 'CODECS="avc1.64001e",RESOLUTION=640x360,FRAME-RATE=30.000';
    expect(await feed.text('index.m3u8')).toContain(codecs);
  }
});

test('what the encoder announces is not waited for', async () => {
  const feed = new Feed();
  const { sink, ...publisher } = feed.attach();
  sink.onMetadata(['@setDataFrame', 'onMetaData', { videocodecid: 7, width: 640, framerate: 30 }]);
  sendHeaders(sink, { audio: NONE });
  await play(feed, sink, { seconds: 0.4, audio: false });
  expect(feed.output.isPlayable).toBe(true);
  expect(publisher.fatal).toEqual([]);
});

test('a second track that comes late begins behind a discontinuity', async () => {
  const feed = new Feed();
  const { viewer, after } = await watched(feed);
  const { sink } = feed.attach();
  sendHeaders(sink, { audio: NONE });
  await play(feed, sink, { seconds: 5, audio: false, after });
  send(sink, 8, 5000, audioHeader(AAC_44100_MONO));
  await play(feed, sink, { seconds: 10, rate: 44_100, from: 5000, after });
  feed.output.detach('t1');
  await viewer.look();
  const maps = [...new Set(viewer.segments.map((segment) => segment.map))];
  expect(
    maps.map((map) => readInit(viewer.fetched.get(map) ?? NONE).map((track) => track.timescale)),
  ).toEqual([[90_000], [90_000, 44_100]]);
  expect(viewer.segments.at(-1)?.discontinuities).toBe(1);

  const other = new Feed();
  const second = await watched(other);
  const late = other.attach();
  sendHeaders(late.sink, { video: NONE });
  await play(other, late.sink, { seconds: 5, video: false, after: second.after });
  send(late.sink, 9, 5000, videoHeader(AVC_240P));
  await play(other, late.sink, { seconds: 10, from: 5000, after: second.after });
  other.output.detach('t1');
  await second.viewer.look();
  expect(second.viewer.segments.at(-1)?.discontinuities).toBe(1);
  expect(second.viewer.samples(1)).toHaveLength(300);
});

test('a changed header begins another init, the same one again does nothing', async () => {
  const feed = new Feed();
  const { viewer, after } = await watched(feed);
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 7, after });
  sendHeaders(sink);
  await play(feed, sink, { seconds: 6, from: 7000, after });
  send(sink, 9, 13_000, videoHeader(AVC_240P));
  await play(feed, sink, { seconds: 6, from: 13_000, after });
  send(sink, 8, 19_000, audioHeader(AAC_44100_MONO));
  await play(feed, sink, { seconds: 6, from: 19_000, rate: 44_100, after });
  feed.output.detach('t1');
  await viewer.look();
  const maps = [...new Set(viewer.segments.map((segment) => segment.map))];
  const inits = maps.map((map) => readInit(viewer.fetched.get(map) ?? NONE));
  expect(inits.map(([video, audio]) => [video.width, video.height, audio.timescale])).toEqual([
    [640, 360, 48_000],
    [322, 242, 48_000],
    [322, 242, 44_100],
  ]);
  expect(viewer.samples(1)).toHaveLength(750);
});

test('a picture header that cannot be read is an issue, not an end', async () => {
  const feed = new Feed();
  const { sink, ...publisher } = feed.attach();
  for (let length = 0; length < AVC_240P.length; length += 1) {
    send(sink, 9, 0, videoHeader(AVC_240P.slice(0, length)));
    send(sink, 9, 0, videoHeader(AVC_240P.map((byte, i) => (i === length ? byte ^ 0xff : byte))));
    send(sink, 8, 0, audioHeader(AVC_240P.slice(length)));
  }
  expect(publisher.fatal).toEqual([]);
  expect(feed.output.figures()?.issues.join()).toContain('The video header cannot be read');
  sendHeaders(sink);
  await play(feed, sink, { seconds: 3 });
  expect(feed.output.isPlayable).toBe(true);
});

const REFUSALS: [8 | 9, number[], string][] = [
  [
    9,
    [0x12, 0, 0, 0, 0, 0],
    'video codec Sorenson H.263 is not supported; use H.264, or AV1 or H.265 by Enhanced RTMP',
  ],
  [
    9,
    [0x90, ...code('vp09'), 0],
    'video codec VP9 is not supported; use H.264, or AV1 or H.265 by Enhanced RTMP',
  ],
  [
    9,
    [0x90, 1, 2, 0xff, 0x41, 0],
    'video codec ???A is not supported; use H.264, or AV1 or H.265 by Enhanced RTMP',
  ],
  [8, [0x2f, 1, 2, 3], 'audio codec MP3 is not supported; use AAC, or Opus by Enhanced RTMP'],
  [8, [0x90, ...code('fLaC'), 1], 'audio codec FLAC is not supported; use AAC, or Opus by Enhanced RTMP'],
];

test.each(REFUSALS)('type %d, a codec that cannot be passed on: %j', async (type, body, reason) => {
  const message = Uint8Array.from(body);
  // Nothing else was announced: it ends at once.
  const announced = new Feed();
  const alone = announced.attach();
  alone.sink.onMetadata(['onMetaData', type === 9 ? { videocodecid: 2 } : { audiocodecid: 2 }]);
  send(alone.sink, type, 0, message);
  send(alone.sink, type, 0, message);
  expect(alone.fatal).toEqual([reason]);
  expect(announced.output.figures()?.issues).toEqual([reason]);
  expect([alone.sink.video.length, alone.sink.audio.length]).toEqual([0, 0]);

  // Nothing was announced: the other track has 5 s.
  const silent = new Feed();
  const waiting = silent.attach();
  send(waiting.sink, type, 0, message);
  silent.clock.advance(4000);
  send(waiting.sink, type, 4000, message);
  expect(waiting.fatal).toEqual([]);
  silent.clock.advance(1001);
  send(waiting.sink, type, 5001, message);
  expect(waiting.fatal).toEqual([reason]);

  // The other track goes on without it.
  const feed = new Feed();
  const { sink, fatal } = feed.attach();
  const other = type === 9 ? { audio: true, video: false } : { audio: false, video: true };
  sendHeaders(sink, type === 9 ? { video: NONE } : { audio: NONE });
  await play(feed, sink, { seconds: 6, ...other, after: () => send(sink, type, 0, message) });
  expect(fatal).toEqual([]);
  expect(feed.output.isPlayable).toBe(true);
  expect(feed.output.figures()?.issues).toEqual([reason]);
  expect(await feed.text('index.m3u8')).toContain(type === 9 ? 'CODECS="mp4a.40.2"' : 'CODECS="avc1.64001e"');
});

test('both tracks in codecs that cannot be passed on end the publish', () => {
  const feed = new Feed();
  const { sink, fatal } = feed.attach();
  send(sink, 8, 0, Uint8Array.from([0x2f, 1, 2, 3]));
  send(sink, 9, 0, Uint8Array.from([0x12, 0, 0, 0, 0, 0]));
  expect(fatal).toHaveLength(1);
});

test('frames without a sequence header are said, but not the few before a late one', () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  for (let i = 0; i < 250; i += 1) send(sink, 9, i * 33, frame({ isKey: i === 0 }));
  expect(feed.output.figures()?.issues).toEqual([]);
  send(sink, 9, 8250, frame({ isKey: true }));
  expect(feed.output.figures()?.issues).toEqual([issues.noVideoHeader]);
});

test('without key frames a segment is cut all the same, and the target grows once', async () => {
  const feed = new Feed();
  const { viewer, after } = await watched(feed);
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 70, gop: 0, after });
  expect(viewer.checker.last?.target).toBe(20);
  expect(viewer.segments.map((segment) => Math.round(segment.duration))).toEqual([0, 20, 20, 20]);
  expect(feed.output.figures()?.issues).toEqual([issues.cutWithoutKeyFrame]);
});

test('every issue says what was seen and what to do', () => {
  for (const issue of Object.values(issues)) {
    const text = typeof issue === 'string' ? issue : issue('this');
    expect(text).toMatch(/^[A-Z].*[.;] ?.*\b(Use|Check|Set|Restart|Keep|Lower|pace itself)\b.*\.$/);
  }
});

test('no key frame ever: the sound plays, and it is said; so it is of a picture alone', async () => {
  for (const audio of [true, false]) {
    const feed = new Feed();
    const { viewer, after } = await watched(feed);
    const { sink, fatal } = feed.attach();
    sendHeaders(sink, audio ? {} : { audio: NONE });
    for (let time = 0; time < 30_000; time += 20) {
      send(sink, 9, time, frame({ isKey: false }));
      if (audio) send(sink, 8, time, sound());
      feed.clock.advance(20);
      await after();
    }
    expect(fatal).toEqual([]);
    expect(feed.output.figures()?.issues).toEqual([issues.noKeyFrame]);
    expect(sink.video.length).toBe(0);
    expect(feed.output.isPlayable).toBe(audio);
    if (audio) expect(readInit(viewer.fetched.get(viewer.segments[0].map) ?? NONE)).toHaveLength(1);
  }
});

test('bounds: frames per part, bytes of a window, bytes of a segment', async () => {
  const flood = new Feed({ sampleLimit: 100 });
  const { sink, ...publisher } = flood.attach();
  sendHeaders(sink);
  for (let i = 0; i < 300 && publisher.fatal.length === 0; i += 1)
    send(sink, 9, 0, frame({ isKey: i === 0 }));
  expect(publisher.fatal).toEqual([issues.tooManyFrames]);

  const full = new Feed({ windowBytes: 200_000 });
  const second = full.attach();
  sendHeaders(second.sink);
  await play(full, second.sink, { seconds: 30 });
  expect(second.fatal).toEqual([issues.tooMuchData]);
  expect(full.output.bytes).toBeLessThanOrEqual(200_000);
  expect(full.output.isPlayable).toBe(true);

  const fat = new Feed({ segmentBytes: 100_000 });
  const { viewer, after } = await watched(fat);
  const third = fat.attach();
  sendHeaders(third.sink);
  await play(fat, third.sink, { seconds: 20, gop: 300, after });
  expect(viewer.segments.some((segment) => segment.duration < 9 && segment.duration > 3)).toBe(true);
  expect(fat.output.figures()?.issues).toHaveLength(1);
});
