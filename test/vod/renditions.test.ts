import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { vod } from '../../core/vod/answer.ts';
import { Films } from '../../core/vod/films.ts';
import { mediaPlaylist, mostBytes } from '../../core/vod/media-playlist.ts';
import { readSegmentIndex } from '../../core/vod/segment-index.ts';
import type { AssetFile } from '../../plugins/assets/contract.ts';
import { besideSource } from '../../runtime/media/recording/file/beside-source.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { avc, givenFilm, indexOf, wall } from './film.ts';

const { signal } = new AbortController();
const small = { codecs: ['avc1.42c01e', 'mp4a.40.2'], width: 426, height: 240, frameRate: 30 };

/** A rendition beside a source of `count` segments, which has those that `has` says, a byte shorter than those of the source. */
function beside(source: Uint8Array, has: (number: number) => boolean) {
  const whole = readSegmentIndex(source);
  const own = Array.from({ length: whole.count }, (_, number) => number).filter(has);
  const segments = own.map((number, place) => {
    const segment = whole.segment(number);
    return { ...segment, at: 30 + place * 50, size: 40, init: 0, isDiscontinuity: place === 0 };
  });
  return besideSource(whole, { inits: [{ at: 4, size: 10, ...small }], segments });
}

const twoRuns = (number: number) => ({
  isDiscontinuity: number === 0 || number === 4,
  init: number < 4 ? 0 : 1,
  wallStart: wall + number * 2000 + (number < 4 ? 0 : 60_000),
});
const twoInits = [8, 600].map((at) => ({ at, size: 20, ...avc }));

it('the playlist of a rendition names files of the source in its holes, and its seams where the source has them', async () => {
  const { index } = beside(indexOf(8, twoRuns, twoInits), (number) => number !== 2 && number !== 4);
  const text = Buffer.from(await mediaPlaylist(readSegmentIndex(index), { signal, variant: 3 })).toString();
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#EXTINF') && !line.startsWith('#EXT-X-PRO'));
  expect(lines.slice(5)).toEqual([
    ...['#EXT-X-MAP:URI="r3init0.mp4"', 'r3seg0.mp4', 'r3seg1.mp4'],
    ...['#EXT-X-MAP:URI="init0.mp4"', 'seg2.mp4', '#EXT-X-MAP:URI="r3init0.mp4"', 'r3seg3.mp4'],
    ...['#EXT-X-DISCONTINUITY', '#EXT-X-MAP:URI="init1.mp4"', 'seg4.mp4'],
    ...['#EXT-X-MAP:URI="r3init0.mp4"', 'r3seg5.mp4', 'r3seg6.mp4', 'r3seg7.mp4', '#EXT-X-ENDLIST', ''],
  ]);
  const source = await mediaPlaylist(readSegmentIndex(indexOf(8, twoRuns, twoInits)), { signal });
  const told = (playlist: ReturnType<typeof parseSegmentPlaylist>) =>
    playlist.segments.map(({ duration, wall: at, discontinuities }) => [duration, at, discontinuities]);
  expect(told(parseSegmentPlaylist(text, { borrows: true }))).toEqual(
    told(parseSegmentPlaylist(Buffer.from(source).toString())),
  );
});

it('a rendition is put where its source is, by when segments begin and how long they last', () => {
  const source = indexOf(6);
  const whole = readSegmentIndex(source);
  const shown = (change: (number: number) => object, numbers = [0, 1, 2, 3, 4, 5]) => {
    const segments = numbers.map((number, place) => ({
      ...whole.segment(number),
      at: 1000 + place,
      ...change(number),
    }));
    const { index, share } = besideSource(whole, { inits: [{ at: 4, size: 10, ...small }], segments });
    const made = readSegmentIndex(index);
    const text = Array.from({ length: 6 }, (_, n) =>
      made.inits[made.segment(n).init].ofSource === undefined ? 'r' : 's',
    );
    expect(share).toBeCloseTo(text.filter((one) => one === 'r').length / 6);
    return text.join('');
  };
  expect(shown(() => ({}))).toBe('rrrrrr');
  expect(shown(() => ({ wallStart: Number.NaN }))).toBe('ssssss');
  expect(shown((n) => (n === 2 ? { duration: 1.5 } : {}))).toBe('rrsrrr');
  expect(shown((n) => (n === 2 ? { duration: 2.019 } : {}))).toBe('rrrrrr');
  expect(shown((n) => (n === 2 ? { wallStart: wall + 4001 } : {}))).toBe('rrsrrr');
  // What is not in order is damaged: nothing is shown twice or back and forth.
  expect(shown(() => ({}), [3, 1, 2])).toBe('srrsss');
  expect(shown(() => ({}), [0, 1, 1, 1, 5])).toBe('rrsssr');
  expect(shown(() => ({}), [])).toBe('ssssss');
});

it('the playlist of a rendition of a day fits what is reserved for it', async () => {
  // Every second segment is borrowed: a map for each.
  const holed = beside(indexOf(43_200), (number) => number % 2 === 0);
  const index = readSegmentIndex(holed.index);
  const playlist = await mediaPlaylist(index, { signal, variant: 50 });
  expect(playlist.length).toBeLessThan(mostBytes(index));
  expect(holed.share).toBe(0.5);
});

/** A film with two renditions, the second of which lacks its first segment. */
async function given() {
  const blobs = modelBlobs();
  const film = await givenFilm(blobs, { id: 'a' });
  const renditions = [];
  for (const [number, has] of [() => true, (segment: number) => segment > 0].entries()) {
    const { index, variant } = beside(indexOf(5), has);
    const key = `assets/a/r${number}`;
    const bytes = Buffer.alloc(400, number + 1);
    await blobs.put(`${key}.mp4`, bytes);
    await blobs.put(`${key}.bin`, index);
    const video = { key: `${key}.mp4`, size: 400, md5: 'x', sha256: String(number + 1).repeat(64) };
    renditions.push({ name: `${number}`, video, index: { key: `${key}.bin`, size: index.length }, variant });
  }
  const file: AssetFile = { ...film, renditions };
  const reads: string[] = [];
  const counted: Parameters<typeof vod>[0]['blobs'] = {
    get(key, options) {
      reads.push(key);
      return blobs.get(key, options);
    },
  };
  const films = vod({ blobs: counted, bytes: 1 << 20 });
  const ask = async (name: string, headers = {}) => {
    const request = new Request(`http://x/${name}`, { headers });
    const answer = await films.answer(file, { name, request });
    return (
      answer && { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.bytes()) }
    );
  };
  return { film, file, films, ask, reads, counted };
}

it('a film names its renditions behind itself, and reads nothing of them for that', async () => {
  const { ask, reads, film } = await given();
  const text = (await ask('index.m3u8'))?.bytes.toString() ?? '';
  expect(text.split('\n').slice(2)).toEqual([
    '#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1000001,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=30.000',
    'source.m3u8',
    '#EXT-X-STREAM-INF:BANDWIDTH=160,AVERAGE-BANDWIDTH=160,CODECS="avc1.42c01e,mp4a.40.2",RESOLUTION=426x240,FRAME-RATE=30.000',
    'r1.m3u8',
    // It must be able to play what it borrows, and says its own size and rate.
    '#EXT-X-STREAM-INF:BANDWIDTH=160,AVERAGE-BANDWIDTH=160,CODECS="avc1.42c01e,mp4a.40.2,avc1.64001f",RESOLUTION=426x240,FRAME-RATE=30.000',
    'r2.m3u8',
    '',
  ]);
  expect(reads).toEqual([film.index.key]);
});

it('serves the files of renditions from theirs, borrowed ones under the name of the source alone, and no others', async () => {
  const { ask } = await given();
  expect((await ask('r1seg1.mp4'))?.bytes).toEqual(Buffer.alloc(40, 1));
  expect((await ask('r2seg1.mp4'))?.bytes).toEqual(Buffer.alloc(40, 2));
  expect((await ask('r2init0.mp4'))?.bytes).toEqual(Buffer.alloc(10, 2));
  expect((await ask('r1seg0.mp4'))?.status).toBe(200);
  for (const name of [
    'r2seg0.mp4',
    'r2init1.mp4',
    'r1init1.mp4',
    'r1seg5.mp4',
    'r3.m3u8',
    'r3seg0.mp4',
    'r51.m3u8',
  ])
    expect([name, await ask(name)]).toEqual([name, undefined]);
  const packed = await ask('r2.m3u8', { 'accept-encoding': 'gzip' });
  expect(gunzipSync(packed?.bytes as Buffer)).toEqual((await ask('r2.m3u8'))?.bytes);
});

it('gives each file of them a tag of its own', async () => {
  const { ask, film, films } = await given();
  const names = ['index', 'source', 'r1', 'r2'].map((name) => `${name}.m3u8`);
  const all = [...names, 'seg1.mp4', 'r1seg1.mp4', 'r2seg1.mp4', 'init0.mp4', 'r1init0.mp4'];
  const tags = await Promise.all(all.map(async (name) => (await ask(name))?.headers.get('etag')));
  expect(new Set(tags).size).toBe(all.length);
  // A film that got renditions is another playlist.
  const request = new Request('http://x/index.m3u8');
  const plain = await films.answer(film, { name: 'index.m3u8', request });
  expect(tags).not.toContain(plain?.headers.get('etag'));
});

it('counts the indexes and playlists of renditions against the same memory', async () => {
  const { file, counted } = await given();
  const films = new Films({ blobs: counted, bytes: 1 << 20 });
  const [first, second] = (file.renditions ?? []).map(({ video, index }) => ({ video, index }));
  const sizeOf = async (film: typeof first, variant: number) => {
    const made = await films.playlist(film, { signal, variant });
    return made ? made.plain.length + made.gzip.length : 0;
  };
  const one = await sizeOf(first, 1);
  const other = await sizeOf(second, 2);
  expect(one * other).toBeGreaterThan(0);
  expect(films.bytes).toBe(first.index.size + second.index.size + one + other);
});
