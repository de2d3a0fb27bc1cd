import { expect, test } from 'vitest';
import { parsePlaylist } from './checker.ts';
import { Feed, HEVC_360P, play, send, sendHeaders } from './feed.ts';
import { Viewer } from './viewer.ts';

/** Its first publish; players come from one that another process had. */
const afterRestart = { mediaSequence: 400, discontinuitySequence: 3, isReturn: true };
const NONE = new Uint8Array();
const now = async (feed: Feed) => parsePlaylist(await feed.text('source.m3u8'));

test('a return within hold begins with an ordinary segment whose parts are listed', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const after = () => viewer.look();
  for (let turn = 0; turn < 3; turn += 1) {
    const publisher = feed.attach({ discontinuitySequence: turn, isReturn: turn > 0 });
    sendHeaders(publisher.sink);
    await play(feed, publisher.sink, { seconds: 7, after });
    // The last one is taken over.
    if (turn < 1) feed.output.detach(publisher.grant.token);
    feed.clock.advance(2000);
  }
  const firsts = viewer.segments.filter(
    ({ discontinuities }, i, all) => discontinuities !== all[i - 1]?.discontinuities,
  );
  const said = firsts.map(({ duration, isGap }) => [duration.toFixed(2), isGap]);
  expect(said).toEqual([
    ['0.27', false],
    ['2.00', false],
    ['2.00', false],
  ]);
  const { segments } = await now(feed);
  expect(segments.find(({ discontinuities }) => discontinuities === 2)?.parts).toHaveLength(6);
});

test('a takeover before anything is listed, and a publish after idle, begin with the short segment', async () => {
  for (const isTaken of [false, true]) {
    const feed = new Feed();
    if (isTaken) sendHeaders(feed.attach().sink);
    const { sink } = feed.attach({ discontinuitySequence: 5 });
    sendHeaders(sink);
    await play(feed, sink, { seconds: 3 });
    const { segments, discontinuitySequence } = await now(feed);
    expect(segments[0]).toMatchObject({ isGap: false, parts: [] });
    expect(segments[0].duration).toBeCloseTo(0.267, 2);
    expect(discontinuitySequence).toBe(5);
  }
});

test('after a restart a gap and a discontinuity stand in front of the first segment, an ordinary one', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const publisher = feed.attach({ ...afterRestart, targetDuration: 6 });
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds: 1.9, after: () => viewer.look() });
  // A gap alone is nothing to play.
  expect([feed.output.isPlayable, publisher.playable]).toEqual([false, 0]);
  expect((await feed.output.serve('source.m3u8')).status).toBe(404);
  await play(feed, publisher.sink, { seconds: 4.3, from: 2000, after: () => viewer.look() });
  expect([feed.output.isPlayable, publisher.playable]).toEqual([true, 1]);

  const { segments, sequence, discontinuitySequence } = await now(feed);
  expect([sequence, discontinuitySequence]).toEqual([400, 2]);
  const [gap, first] = segments;
  expect(gap).toMatchObject({ isGap: true, duration: 6, discontinuities: 2, parts: [] });
  expect(first).toMatchObject({ isGap: false, sequence: 401, discontinuities: 3 });
  expect(first.duration).toBeGreaterThan(1.8);
  expect(first.parts.length).toBeGreaterThan(4);
  expect((gap.wall ?? 0) + 6000).toBe(first.wall);
  // There is no media of it.
  for (const uri of [gap.uri, gap.uri.replace('_seg400', '_part400.0')])
    expect([uri, (await feed.output.serve(uri)).status]).toEqual([uri, 404]);
  // Whoever waits for what the former process would have made next is answered with what there is.
  const reload = feed.output.serve('source.m3u8', new URLSearchParams('_HLS_msn=107&_HLS_part=2'));
  expect(reload).toBeInstanceOf(Response);
});

test('the gap leaves the list like any segment, and its number never comes back', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const publisher = feed.attach(afterRestart);
  sendHeaders(publisher.sink);
  await play(feed, publisher.sink, { seconds: 11, after: () => viewer.look() });
  expect((await now(feed)).segments[0].isGap).toBe(true);
  await play(feed, publisher.sink, { seconds: 4, from: 11_000, after: () => viewer.look() });
  const later = await now(feed);
  expect([later.segments[0].isGap, later.discontinuitySequence]).toEqual([false, 2]);
  await play(feed, publisher.sink, { seconds: 9, from: 15_000, after: () => viewer.look() });
  const last = await now(feed);
  expect(last.discontinuitySequence).toBe(3);
  expect(last.segments.every(({ isGap }) => !isGap)).toBe(true);
  expect(feed.output.reached.discontinuitySequence).toBe(4);
  expect((await feed.output.serve(viewer.segments[0].uri)).status).toBe(404);
});

test('a return within hold after a restart adds one discontinuity, and no other gap', async () => {
  const feed = new Feed({ window: 40 });
  const viewer = new Viewer(feed);
  for (let turn = 0; turn < 2; turn += 1) {
    const numbers = { ...afterRestart, discontinuitySequence: 3 + turn };
    const publisher = feed.attach(numbers);
    sendHeaders(publisher.sink);
    await play(feed, publisher.sink, { seconds: 5, after: () => viewer.look() });
    feed.output.detach(publisher.grant.token);
    await viewer.look();
    feed.clock.advance(3000);
  }
  expect(viewer.segments.filter(({ isGap }) => isGap)).toHaveLength(1);
  expect([...new Set(viewer.segments.map(({ discontinuities }) => discontinuities))]).toEqual([2, 3, 4]);
});

test('an encoder that goes before anything new is listed: the next one comes behind a gap all the same', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  for (const seconds of [0, 0.1, 1, 5]) {
    const publisher = feed.attach(afterRestart);
    sendHeaders(publisher.sink);
    await play(feed, publisher.sink, { seconds, after: () => viewer.look() });
    feed.output.detach(publisher.grant.token);
    feed.clock.advance(1000);
  }
  await viewer.look();
  expect(viewer.segments[0].isGap).toBe(true);
  expect(viewer.segments.filter(({ isGap }) => isGap)).toHaveLength(1);
  expect(viewer.segments[1].discontinuities).toBe(viewer.segments[0].discontinuities + 1);
});

test.each([
  ['sound alone', { video: NONE }],
  ['picture alone', { audio: NONE }],
])('%s: the same', async (_, headers) => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const { sink } = feed.attach(afterRestart);
  sendHeaders(sink, headers);
  const tracks = { video: !('video' in headers), audio: !('audio' in headers) };
  await play(feed, sink, { seconds: 9, ...tracks, after: () => viewer.look() });
  const [gap, first] = viewer.segments;
  expect([gap.isGap, first.isGap, first.discontinuities - gap.discontinuities]).toEqual([true, false, 1]);
  expect(first.duration).toBeGreaterThan(1.9);
});

test('H.265: the same', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const { sink } = feed.attach(afterRestart);
  const tag = (type: number, isKey: boolean, body: Uint8Array) =>
    Uint8Array.of((isKey ? 0x90 : 0xa0) | type, 0x68, 0x76, 0x63, 0x31, ...body);
  send(sink, 9, 0, tag(0, true, HEVC_360P));
  for (let i = 0; i < 200; i += 1) {
    const isKey = i % 60 === 0;
    // IDR_W_RADL or TRAIL_R, and 10 bytes of it.
    const nal = Uint8Array.of(0, 0, 0, 12, isKey ? 0x26 : 0x02, 1, ...new Uint8Array(10).fill(9));
    send(sink, 9, Math.round((i * 1000) / 30), tag(3, isKey, nal));
    feed.clock.advance(1000 / 30);
    await viewer.look();
  }
  expect(viewer.segments.map(({ isGap, duration }) => (isGap ? 'gap' : duration.toFixed(1)))).toEqual([
    'gap',
    '2.0',
    '2.0',
    '2.0',
  ]);
});

test('who waits after a restart does not wait for a key frame that is far away', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const publisher = feed.attach(afterRestart);
  sendHeaders(publisher.sink);
  let playableAt = 0;
  await play(feed, publisher.sink, {
    seconds: 25,
    gop: 300,
    after: () => {
      if (publisher.playable > 0) playableAt ||= feed.clock.now();
      return viewer.look();
    },
  });
  const durations = viewer.segments.map(({ duration }) => duration);
  expect(durations[1]).toBeCloseTo(4, 1);
  expect(durations[2]).toBeCloseTo(6, 1);
  expect(durations[3]).toBeCloseTo(10, 1);
  expect(playableAt).toBeGreaterThan(0);
  expect(publisher.sink.figures().issues).toEqual([]);
});

test('the sound of each part reaches the end of its pictures, without B-frames too', async () => {
  const feed = new Feed();
  const viewer = new Viewer(feed);
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, { seconds: 9, after: () => viewer.look() });
  // hls.js 1.7 that has fetched a segment whole goes on with parts only behind one that is buffered to its end.
  for (const { sequence } of viewer.segments.slice(1)) {
    const [picture, sound] = [1, 2].map((track) =>
      viewer.runs.filter((run) => run.sequence === sequence && run.track === track).at(-1),
    );
    expect((sound?.end ?? 0) / 48_000).toBeGreaterThanOrEqual((picture?.end ?? 0) / 90_000 - 0.0005);
  }
});
