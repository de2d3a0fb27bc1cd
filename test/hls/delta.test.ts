import { expect, test } from 'vitest';
import { answersReload, PlaylistChecker, parsePlaylist } from './checker.ts';
import { applyDelta } from './delta.ts';
import { AVC_240P, Feed, play, send, sendHeaders, videoHeader } from './feed.ts';

/** A feed with a window that delta updates make sense for. */
function long(window = 60) {
  const feed = new Feed({ window });
  const publisher = feed.attach();
  sendHeaders(publisher.sink);
  return { feed, publisher };
}

test('a delta update and the playlist before it are the whole playlist, byte for byte', async () => {
  const { feed, publisher } = long();
  const checker = new PlaylistChecker();
  let before = '';
  let updates = 0;
  let shorter = 0;
  const after = async () => {
    if (!feed.output.isPlayable) return;
    const whole = await feed.text('source.m3u8');
    if (whole === before) return;
    const delta = await feed.text('source.m3u8', '_HLS_skip=YES');
    if (delta.includes('#EXT-X-SKIP:')) {
      updates += 1;
      expect(applyDelta(before, delta)).toBe(whole);
      if (delta.length < whole.length * 0.75) shorter += 1;
    } else expect(delta).toBe(whole);
    checker.see(delta);
    before = whole;
  };
  await play(feed, publisher.sink, { seconds: 50, after });
  // Another init and a discontinuity run through the skipped part, and out of the list.
  send(publisher.sink, 9, 50_000, videoHeader(AVC_240P));
  await play(feed, publisher.sink, { seconds: 30, from: 50_000, after });
  feed.output.detach(publisher.grant.token);
  await after();
  const second = feed.attach();
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 80, after });
  expect(updates).toBeGreaterThan(300);
  expect(shorter).toBeGreaterThan(200);
  const { segments, discontinuitySequence } = parsePlaylist(before);
  expect(discontinuitySequence + new Set(segments.map((segment) => segment.discontinuities)).size).toBe(3);
});

test('what is skipped lies before the boundary of six target durations, and no less is left', async () => {
  const { feed, publisher } = long();
  await play(feed, publisher.sink, { seconds: 24.2 });
  const boundary = 'CAN-SKIP-UNTIL=24.0,';
  expect(await feed.text('source.m3u8')).toContain(boundary);
  expect(await feed.text('source.m3u8', '_HLS_skip=YES')).not.toContain('EXT-X-SKIP');
  await play(feed, publisher.sink, { seconds: 16, from: 24_200 });
  const whole = parsePlaylist(await feed.text('source.m3u8'));
  const delta = await feed.text('source.m3u8', '_HLS_skip=YES');
  const count = Number(/SKIPPED-SEGMENTS=(\d+)/.exec(delta)?.[1]);
  const lasts = (from: number) =>
    [...whole.segments.slice(from), ...whole.open.parts].reduce((sum, { duration }) => sum + duration, 0);
  expect(lasts(count)).toBeGreaterThanOrEqual(24);
  expect(lasts(count + 1)).toBeLessThan(24);
  expect(delta.match(/^#EXT-X-VERSION:9$/m)).not.toBeNull();
});

test('v2 is the same, another value is the whole playlist; it goes together with blocking', async () => {
  const { feed, publisher } = long();
  await play(feed, publisher.sink, { seconds: 40 });
  const whole = await feed.text('source.m3u8');
  const delta = await feed.text('source.m3u8', '_HLS_skip=YES');
  expect(await feed.text('source.m3u8', '_HLS_skip=v2')).toBe(delta);
  for (const query of [
    '_HLS_skip=',
    '_HLS_skip=yes',
    '_HLS_skip=v3',
    '_HLS_skip=NO',
    '_HLS_report=x&_HLS_push=0',
  ])
    expect(await feed.text('source.m3u8', query)).toBe(whole);
  const { open } = parsePlaylist(whole);
  const query = `_HLS_msn=${open.sequence}&_HLS_part=${open.parts.length}&_HLS_skip=YES`;
  const reload = feed.text('source.m3u8', query);
  await play(feed, publisher.sink, { seconds: 0.5, from: 40_000 });
  const next = await reload;
  expect(next).toContain('#EXT-X-SKIP:');
  const merged = parsePlaylist(applyDelta(whole, next));
  expect(answersReload(merged, { msn: open.sequence, part: open.parts.length })).toBe(true);
});

test('a window too short for it does not offer it', async () => {
  for (const window of [12, 25]) {
    const { feed, publisher } = long(window);
    await play(feed, publisher.sink, { seconds: 60 });
    const whole = await feed.text('source.m3u8');
    expect(whole).not.toContain('CAN-SKIP-UNTIL');
    expect(await feed.text('source.m3u8', '_HLS_skip=YES')).toBe(whole);
  }
});
