import { expect, test } from 'vitest';
import { outputDefaults } from '../../runtime/media/live/config.ts';
import { issues } from '../../runtime/media/live/issues.ts';
import { BufferPool } from '../../runtime/media/live/pool.ts';
import { Slabs } from '../../runtime/media/live/slabs.ts';
import { LiveWindow } from '../../runtime/media/live/window.ts';
import { readFragments } from './boxes.ts';
import { PlaylistChecker, parsePlaylist } from './checker.ts';
import { AVC_240P, AVC_360P, Feed, frame, play, send, sendHeaders } from './feed.ts';
import { Viewer } from './viewer.ts';

test('a window that is full ends the publish, and all it lists can be fetched', async () => {
  for (let windowBytes = 60_000; windowBytes < 160_000; windowBytes += 9000) {
    const feed = new Feed({ windowBytes });
    const { sink, fatal } = feed.attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 12, gop: 45 });
    expect(fatal).toHaveLength(1);
    const { segments } = parsePlaylist(await feed.text('source.m3u8'));
    for (const { uri, duration } of segments) {
      expect(duration).toBeGreaterThan(0);
      expect((await feed.bytes(uri)).length).toBeGreaterThan(0);
    }
    expect(await feed.text('index.m3u8')).not.toContain('NaN');
  }
});

test('a gap and a change of settings with nothing in them leave no empty segment', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  const checker = new PlaylistChecker();
  for (let turn = 0; turn < 20; turn += 1) {
    send(sink, 9, turn * 5000, frame({ isKey: true }));
    feed.clock.advance(5000);
    if (feed.output.isPlayable) checker.see(await feed.text('source.m3u8'));
  }
  await play(feed, sink, { seconds: 3, from: 200_000 });
  for (const { duration } of checker.see(await feed.text('source.m3u8')).segments)
    expect(duration).toBeGreaterThanOrEqual(0.25);
});

test('viewers cannot fill the window: fetching every part late costs the publish nothing', async () => {
  const plain = new Feed();
  const first = plain.attach();
  sendHeaders(first.sink);
  let most = 0;
  const measure = () => {
    if (plain.output.isPlayable) void plain.output.serve('source.m3u8');
    most = Math.max(most, plain.output.bytes);
  };
  await play(plain, first.sink, { seconds: 40, after: measure });

  const feed = new Feed({ windowBytes: Math.round(most * 1.3) });
  const { sink, fatal } = feed.attach();
  sendHeaders(sink);
  const names = new Set<string>();
  const note = async () => {
    if (!feed.output.isPlayable) return;
    const { segments, open } = parsePlaylist(await feed.text('source.m3u8'));
    for (const { parts } of [...segments, open]) for (const { uri } of parts) names.add(uri);
  };
  await play(feed, sink, { seconds: 20, after: note });
  for (const name of names) await (await feed.output.serve(name)).arrayBuffer();
  expect(feed.output.bytes).toBeLessThanOrEqual(most * 1.1);
  await play(feed, sink, { seconds: 20, from: 20_000 });
  expect(fatal).toEqual([]);
});

test('what a playlist has counted to is behind all it has listed', async () => {
  const feed = new Feed();
  for (let turn = 0; turn < 3; turn += 1) {
    const { sink, grant } = feed.attach();
    sendHeaders(sink);
    await play(feed, sink, { seconds: 3 });
    feed.output.detach(grant.token);
  }
  const { segments } = parsePlaylist(await feed.text('source.m3u8'));
  const last = segments[segments.length - 1];
  const pictures = readFragments(await feed.bytes(last.uri))
    .flatMap(({ runs }) => runs)
    .findLast(({ track }) => track === 1);
  expect(feed.output.reached).toEqual({
    mediaSequence: last.sequence + 1,
    discontinuitySequence: last.discontinuities + 1,
    end: (pictures?.end ?? 0) / 90,
  });
});

test('who waits while an encoder has only just come back is told what there is, not an error', async () => {
  const feed = new Feed();
  const first = feed.attach();
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 5 });
  feed.output.detach(first.grant.token);
  const next = parsePlaylist(await feed.text('source.m3u8')).segments.at(-1)?.sequence ?? 0;
  const reload = feed.output.serve('source.m3u8', new URLSearchParams(`_HLS_msn=${next + 1}`));
  feed.clock.advance(7900);
  feed.attach();
  feed.clock.advance(200);
  expect((await reload).status).toBe(200);
});

test('media that comes faster than time passes is an issue', async () => {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 10 });
  expect(sink.figures().issues).toEqual([]);
  for (let index = 0; index < 1800; index += 1)
    send(sink, 9, 10_000 + index * 33, frame({ isKey: index % 60 === 0 }));
  expect(sink.figures().issues).toContain(issues.tooFast);
});

test('a segment of one part keeps it when the segment before leaves the list', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const { sink } = feed.attach();
  sendHeaders(sink, { audio: new Uint8Array() });
  // Segments of 0.47, 0.47, and then 2.35 s: 11.75 s are behind the second when the first leaves.
  await play(feed, sink, { seconds: 16, fps: 1 / 0.47, gop: 1, audio: false, after: () => viewer.look() });
  expect(viewer.segments.length).toBeGreaterThan(6);
});

test('a part that was listed stays when its segment must end with it', async () => {
  const feed = new Feed({ windowBytes: 200_000 });
  const viewer = new Viewer(feed);
  const { sink, fatal } = feed.attach();
  const after = () => viewer.look();
  sink.onMetadata(['onMetaData', { width: 640 }]);
  sendHeaders(sink, { video: AVC_360P, audio: new Uint8Array() });
  await play(feed, sink, { seconds: 1, audio: false, after });
  // Behind a discontinuity, so that its first segment could be taken for the first of a publish.
  sendHeaders(sink, { video: AVC_240P, audio: new Uint8Array() });
  await play(feed, sink, { seconds: 0.5, from: 1000, audio: false, after });
  for (let time = 1500; fatal.length === 0; time += 33)
    send(sink, 9, time, frame({ isKey: false, size: 60_000 }));
  await viewer.look();
  expect(viewer.segments.at(-1)?.parts).toHaveLength(1);
});

test('the target duration holds for what EXTINF says', () => {
  const { clock } = new Feed();
  const window = new LiveWindow({
    clock,
    pool: new BufferPool({ limit: 0 }),
    slabs: new Slabs(),
    config: outputDefaults,
  });
  window.begin({ bytes: new Uint8Array(1), codecs: [], width: 1, height: 1, frameRate: 1 });
  // Adds up to 6.499999999999996.
  for (let part = 0; part < 65; part += 1)
    window.addPart({ runs: [], duration: 0.1, isIndependent: true, time: 0, wallStart: 0 });
  expect(window.open?.duration.toFixed(5)).toBe('6.50000');
  expect(window.targetDuration).toBe(7);
});
