import { expect, test } from 'vitest';
import { EventPlaylist } from '../../../runtime/media/dvr/event-playlist.ts';
import type { WrittenRecording } from '../../../runtime/media/recording/feed.ts';
import { applyDelta } from '../delta.ts';
import { parseSegmentPlaylist } from '../event-checker.ts';
import { takeOf } from './kit.ts';

function playlistOf(take: WrittenRecording, options = {}) {
  const first = { sequence: 0, discontinuities: 0, init: 0 };
  return new EventPlaylist(take, { prefix: 'abc', first, chunk: 4, most: 1000, ...options });
}

test('letter by letter', async () => {
  const { take } = takeOf(4, [2]);
  const playlist = playlistOf(take);
  playlist.advance(4);
  expect(await playlist.whole(4).text()).toBe(
    [
      '#EXTM3U',
      '#EXT-X-VERSION:9',
      '#EXT-X-TARGETDURATION:4',
      '#EXT-X-PLAYLIST-TYPE:EVENT',
      '#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=24.0',
      '#EXT-X-MEDIA-SEQUENCE:0',
      '#EXT-X-DISCONTINUITY-SEQUENCE:0',
      '#EXT-X-MAP:URI="abc_dvrinit0.mp4"',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:00:00.000Z',
      '#EXTINF:2.00000,',
      'abc_dvr0.mp4',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:00:02.000Z',
      '#EXTINF:2.00000,',
      'abc_dvr1.mp4',
      '#EXT-X-DISCONTINUITY',
      '#EXT-X-MAP:URI="abc_dvrinit1.mp4"',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:00:09.000Z',
      '#EXTINF:2.00000,',
      'abc_dvr2.mp4',
      '#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:00:11.000Z',
      '#EXTINF:2.00000,',
      'abc_dvr3.mp4',
      '',
    ].join('\n'),
  );
  expect(playlist.multivariant('dvr.m3u8')).toBe(
    '#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=2000000,' +
      'CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=30.000\ndvr.m3u8\n',
  );
});

test('a segment more costs its own lines, however many there are', async () => {
  const { take, looked } = takeOf(21_600);
  const playlist = playlistOf(take, { chunk: 256, most: 50_000 });
  let turns = 0;
  for (; playlist.isFarBehind; turns += 1) playlist.advance(4);
  expect(turns).toBe(Math.ceil(21_600 / 256) - 1);
  playlist.advance(4);
  expect(playlist.count).toBe(21_600);
  expect(parseSegmentPlaylist(await playlist.whole(4).text()).segments).toHaveLength(21_600);
  const before = looked();
  for (let more = 1; more <= 100; more += 1) {
    take.count += 1;
    playlist.advance(4);
    // The same for all who ask.
    expect(playlist.whole(4)).toBe(playlist.whole(4));
  }
  expect(looked() - before).toBeLessThan(100 * 10);
  expect(parseSegmentPlaylist(await playlist.whole(4).text()).segments).toHaveLength(21_700);
});

test('a delta update has the end alone, and with what was before it is the whole, byte for byte', async () => {
  const { take } = takeOf(40, [15, 36]);
  const playlist = playlistOf(take);
  let before = '';
  let updates = 0;
  for (; take.count < 90; take.count += 1) {
    while (playlist.count < take.count) playlist.advance(4);
    const whole = await playlist.whole(4).text();
    const delta = playlist.delta(4);
    if (before !== '' && delta !== undefined) {
      updates += 1;
      expect(applyDelta(before, delta)).toBe(whole);
      expect(parseSegmentPlaylist(whole).segments.length - (delta.match(/#EXTINF/g)?.length ?? 0)).toBe(
        take.count - 12,
      );
    }
    before = whole;
  }
  expect(updates).toBe(49);
  const short = playlistOf(takeOf(12).take, { chunk: 100 });
  short.advance(4);
  expect(short.delta(4)).toBe(undefined);
});

test('beyond the most that is listed the oldest go, and it is no EVENT any more', async () => {
  const { take } = takeOf(1, [2, 9]);
  const playlist = playlistOf(take, { most: 16 });
  let last = parseSegmentPlaylist(await text());
  for (; take.count < 40; take.count += 1) {
    const now = parseSegmentPlaylist(await text());
    expect(now.segments.length).toBeGreaterThanOrEqual(Math.min(16, take.count));
    expect(now.segments.length).toBeLessThan(16 + 2 * 4);
    expect(now.type).toBe(now.sequence === 0 ? 'EVENT' : undefined);
    // Whatever both list is the same.
    for (const segment of now.segments) {
      const known = last.segments.find(({ sequence }) => sequence === segment.sequence);
      if (known) expect(segment).toEqual(known);
    }
    last = now;
  }
  expect(last.sequence).toBeGreaterThan(16);
  expect(last.discontinuitySequence).toBe(2);
  const whole = await text();
  expect(applyDelta(whole, playlist.delta(4) ?? '')).toBe(whole);

  async function text(): Promise<string> {
    playlist.advance(4);
    return playlist.whole(4).text();
  }
});

test('the target duration is that of the live playlist, or the longest segment', () => {
  const { take } = takeOf(3);
  const long = {
    ...take,
    segment: (number: number) => ({ ...take.segment(number), duration: number === 1 ? 6.4 : 2 }),
  };
  const playlist = playlistOf(long);
  playlist.advance(4);
  return expect(playlist.whole(4).text()).resolves.toContain('#EXT-X-TARGETDURATION:6\n');
});

test('CODECS names what any of its segments has; those of the newest alone when there are too many', () => {
  const codecs = (count: number) => {
    const { take } = takeOf(count, [1, 2, 3, 4, 5, 6, 7].slice(0, count - 1));
    const inits = take.inits.map((one, index) => ({ ...one, codecs: [`avc1.64000${index}`, 'mp4a.40.2'] }));
    const playlist = playlistOf({ ...take, count, inits, segment: take.segment }, { chunk: 10 });
    playlist.advance(4);
    return /CODECS="([^"]*)"/.exec(playlist.multivariant('dvr.m3u8'))?.[1];
  };
  expect(codecs(4)).toBe('avc1.640000,mp4a.40.2,avc1.640001,avc1.640002,avc1.640003');
  expect(codecs(8)).toBe('avc1.640007,mp4a.40.2');
});
