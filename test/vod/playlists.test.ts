import { expect, it } from 'vitest';
import { multivariantPlaylist, type Variant } from '../../core/hls/playlist.ts';
import { parseFileName } from '../../core/vod/file-name.ts';
import { mediaPlaylist, mostBytes } from '../../core/vod/media-playlist.ts';
import { readSegmentIndex, variantOf } from '../../core/vod/segment-index.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { avc, indexOf, wall } from './film.ts';

const { signal } = new AbortController();
const render = async (bytes: Uint8Array) =>
  Buffer.from(await mediaPlaylist(readSegmentIndex(bytes), { signal })).toString();

it('lists every segment with its init, its length and its date', async () => {
  const text = await render(indexOf(3, (number) => ({ duration: number === 2 ? 0.4 : 2.00004 })));
  expect(text).toBe(
    [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      '#EXT-X-TARGETDURATION:2',
      '#EXT-X-PLAYLIST-TYPE:VOD',
      '#EXT-X-MEDIA-SEQUENCE:0',
      '#EXT-X-MAP:URI="init0.mp4"',
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z',
      '#EXTINF:2.00004,\nseg0.mp4',
      '#EXTINF:2.00004,\nseg1.mp4',
      '#EXTINF:0.40000,\nseg2.mp4',
      '#EXT-X-ENDLIST\n',
    ].join('\n'),
  );
});

it('says where a run ends, with a map where the init is another one, and a date behind each', async () => {
  const inits = [8, 500].map((at) => ({ at, size: 20, ...avc }));
  const text = await render(
    indexOf(
      6,
      (number) => ({
        isDiscontinuity: number % 2 === 0,
        init: number < 4 ? 0 : 1,
        wallStart: wall + number * 2000 + (number >= 2 ? 60_000 : 0),
      }),
      inits,
    ),
  );
  const { segments } = parseSegmentPlaylist(text);
  expect(segments.map(({ discontinuities, map }) => [discontinuities, map])).toEqual([
    [0, 'init0.mp4'],
    [0, 'init0.mp4'],
    [1, 'init0.mp4'],
    [1, 'init0.mp4'],
    [2, 'init1.mp4'],
    [2, 'init1.mp4'],
  ]);
  expect(segments.map((segment) => (segment.wall as number) - wall)).toEqual([
    0, 2000, 64_000, 66_000, 68_000, 70_000,
  ]);
  expect(text.match(/PROGRAM-DATE-TIME/g)?.length).toBe(3);
});

it('keeps dates within 50 ms of what was, however long a drift goes on', async () => {
  const at = (number: number) => wall + number * 2003.7;
  const text = await render(indexOf(1000, (number) => ({ wallStart: at(number) })));
  const { segments } = parseSegmentPlaylist(text);
  for (const segment of segments)
    expect(Math.abs((segment.wall as number) - at(segment.sequence))).toBeLessThan(51);
  expect(text.match(/PROGRAM-DATE-TIME/g)?.length).toBeLessThan(100);
});

it.each([
  [2.4, 2],
  [2.5, 3],
  // Written as 2.50000, which players round up.
  [2.499_998, 3],
  [0.3, 1],
  [10.7, 11],
])('of segments of up to %d s the target is %i', async (duration, target) => {
  const text = await render(indexOf(3, (number) => (number === 1 ? { duration } : { duration: 0.2 })));
  expect(parseSegmentPlaylist(text).target).toBe(target);
});

it('writes a day in many turns of the event loop, in no more bytes than were reserved', async () => {
  const index = readSegmentIndex(
    indexOf(43_200, (number) => ({ isDiscontinuity: number % 100 === 0, wallStart: wall + number * 9000 })),
  );
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const bytes = await mediaPlaylist(index, { signal });
  isDone = true;
  expect(turns).toBeGreaterThan(80);
  expect(bytes.length).toBeLessThan(mostBytes(index));
  expect(parseSegmentPlaylist(Buffer.from(bytes).toString()).segments.length).toBe(43_200);
});

it('is no longer written when nobody wants it', async () => {
  const index = readSegmentIndex(indexOf(10_000));
  const gone = new AbortController();
  const playlist = mediaPlaylist(index, { signal: gone.signal });
  gone.abort(new Error('gone'));
  await expect(playlist).rejects.toThrow('gone');
});

const listed = (variant: Variant) => multivariantPlaylist([{ variant, uri: 'source.m3u8' }], { version: 7 });

it('has one variant, with all codecs that come and the largest picture', () => {
  const inits = [
    { at: 0, size: 1, ...avc },
    { at: 0, size: 1, codecs: ['mp4a.40.2'] },
    { at: 0, size: 1, codecs: ['avc1.640028'], width: 1920, height: 1080, frameRate: 29.97 },
    { at: 0, size: 1, ...avc },
  ];
  const { bandwidth } = readSegmentIndex(indexOf(1));
  expect(listed(variantOf({ inits, bandwidth })).split('\n')).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1000001,' +
      'CODECS="avc1.64001f,mp4a.40.2,avc1.640028",RESOLUTION=1920x1080,FRAME-RATE=30.000',
    'source.m3u8',
    '',
  ]);
  const sound = [{ at: 0, size: 1, codecs: ['mp4a.40.2'] }];
  expect(listed(variantOf({ inits: sound, bandwidth: { average: 0, peak: 0 } }))).toContain(
    '#EXT-X-STREAM-INF:BANDWIDTH=1,AVERAGE-BANDWIDTH=1,CODECS="mp4a.40.2"\n',
  );
});

it.each([
  ['index.m3u8', { type: 'multivariant' }],
  ['source.m3u8', { type: 'media', variant: 0 }],
  ['r1.m3u8', { type: 'media', variant: 1 }],
  ['r50.m3u8', { type: 'media', variant: 50 }],
  ['r2seg7.mp4', { type: 'segment', number: 7, variant: 2 }],
  ['r3init0.mp4', { type: 'init', number: 0, variant: 3 }],
  ['source.mp4', { type: 'whole' }],
  ['seg0.mp4', { type: 'segment', number: 0, variant: 0 }],
  ['seg43199.mp4', { type: 'segment', number: 43_199, variant: 0 }],
  ['init2.mp4', { type: 'init', number: 2, variant: 0 }],
])('a film has %s', (name, meaning) => {
  expect(parseFileName(name)).toEqual(meaning);
});

it.each([
  ...['', 'seg.mp4', 'seg01.mp4', 'seg-1.mp4', 'seg1e3.mp4', 'seg1.mp4 ', 'Seg1.mp4', 'seg9999999999.mp4'],
  ...[
    'init0.m3u8',
    '../index.m3u8',
    'index.m3u8/',
    'seg1.m4s',
    'video.mp4',
    '__proto__',
    'r0.m3u8',
    'r01.m3u8',
    'r1000.m3u8',
    'r.m3u8',
    'r0seg1.mp4',
    'r1source.mp4',
    'r1seg01.mp4',
    'seg1.mp4\n',
  ],
])('a film has no %j', (name) => {
  expect(parseFileName(name)).toBeUndefined();
});
