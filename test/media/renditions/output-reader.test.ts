import { expect, test } from 'vitest';
import { box, full, join, u32, u64 } from '../../../runtime/media/mp4/box.ts';
import { LadderBroken } from '../../../runtime/media/renditions/ladder.ts';
import { OutputReader } from '../../../runtime/media/renditions/live/output-reader.ts';
import { AVC_360P } from '../../hls/feed.ts';
import { outputFragment, outputHead, pictureBytes, recordsOf } from './process.ts';

/** What a reader found, of two tracks, cut as told. */
function read(bytes: Uint8Array, options: { cut?: number; tracks?: number } = {}) {
  const { cut = 1 << 20, tracks = 2 } = options;
  const pictures: { track: number; shown: number; isSync: boolean; bytes: string }[] = [];
  const sizes: string[] = [];
  const reader = new OutputReader(
    {
      onTracks: (told) =>
        sizes.push(...told.map(({ config }) => `${config.width}x${config.height} ${config.codec}`)),
      onPicture: (track, data, shown, isSync) =>
        pictures.push({ track, shown, isSync, bytes: Buffer.from(data).toString('hex') }),
    },
    { tracks },
  );
  for (let at = 0; at < bytes.length; at += cut) reader.take(bytes.subarray(at, at + cut));
  return { pictures, sizes };
}

const told = Array.from({ length: 12 }, (_, index) => {
  const rendition = index % 2;
  const shown = 2 ** 33 + (index >> 1) * 3000;
  const isKey = index < 2;
  return { rendition, shown, isKey, data: pictureBytes({ rendition, shown, isKey }) };
});
const fragments = told.map(({ rendition, shown, isKey, data }, index) =>
  outputFragment({ track: rendition + 1, time: shown, isKey, data }, { sequence: index + 1 }),
);
const expected = told.map(({ rendition, shown, isKey, data }) => ({
  track: rendition,
  shown,
  isSync: isKey,
  bytes: Buffer.from(data).toString('hex'),
}));
const whole = join([outputHead(recordsOf(2)), ...fragments]);

test.each([1, 2, 3, 7, 8, 9, 97, 1000, 1 << 20])('pictures of two tracks, in pieces of %i bytes', (cut) => {
  const { pictures, sizes } = read(whole, { cut });
  expect(pictures).toEqual(expected);
  expect(sizes).toEqual(['640x360 avc1.64001e', '322x242 avc1.42c00d']);
});

test('a fragment of several tracks and pictures, with all columns or none', () => {
  const [first, second, third] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5), Uint8Array.of(6)];
  const moof = (at: number) =>
    box(
      'moof',
      full('mfhd', 0, 0, u32(1)),
      box(
        'traf',
        full('tfhd', 0, 0x020000, u32(1)),
        full('tfdt', 0, 0, u32(5000)),
        // First flags, duration, size, composition offset below 0.
        full('trun', 1, 0xb05, u32(2, at, 0x02000000, 3000, 3, 0xffffff9c, 3000, 2, 100)),
      ),
      box(
        'traf',
        full('tfhd', 0, 0x02003a, u32(2, 1, 3000, 1, 0x01010000)),
        full('tfdt', 1, 0, u64(7000)),
        full('trun', 0, 1, u32(1, at + 5)),
      ),
    );
  const bytes = join([
    outputHead(recordsOf(2)),
    box('free', new Uint8Array(100)),
    moof(moof(0).length + 8),
    box('mdat', first, second, third),
    box('mfra', new Uint8Array(40)),
  ]);
  for (const cut of [1, 5, 1000]) {
    const { pictures } = read(bytes, { cut });
    expect(pictures).toEqual([
      { track: 0, shown: 4900, isSync: true, bytes: '010203' },
      // No flags of its own, nor any by default: a key frame, by 8.8.3.
      { track: 0, shown: 8100, isSync: true, bytes: '0405' },
      { track: 1, shown: 7000, isSync: false, bytes: '06' },
    ]);
  }
});

const head = outputHead(recordsOf(2));
const one = outputFragment({ track: 1, time: 0, isKey: true, data: new Uint8Array(50) }, { sequence: 1 });
const change = (bytes: Uint8Array, at: number, value: number) => {
  const copy = bytes.slice();
  new DataView(copy.buffer).setUint32(at, value);
  return copy;
};
/** Where a box of `one` begins. */
const at = (type: string) => Buffer.from(one).indexOf(type) - 4;

const broken: [string, Uint8Array][] = [
  ['no box at all', new Uint8Array(64).fill(0x41)],
  ['a box of less than its head', u32(7, 0x66726565)],
  ['a moov of a gigabyte', u32(1 << 30, 0x6d6f6f76)],
  ['a moof beyond its limit', join([head, u32(70_000, 0x6d6f6f66)])],
  ['another box beyond its limit', join([head, u32(2 << 20, 0x66726565)])],
  ['a box of 64 bits', join([head, u32(1, 0x6d646174, 0, 100)])],
  ['a fragment before the moov', one],
  ['two moovs', join([head, head])],
  ['three tracks', outputHead(recordsOf(3))],
  ['one track', outputHead(recordsOf(1))],
  [
    'an avcC that is none',
    outputHead(recordsOf(2)).map((byte, i, all) => (isIn(all, i, AVC_360P) ? 0 : byte)),
  ],
  ['an mdat without a moof', join([head, box('mdat', new Uint8Array(9))])],
  ['a moof without an mdat', join([head, one.subarray(0, one.length - 58), one])],
  ['pictures beyond the mdat', join([head, change(one, at('mdat'), 40), new Uint8Array(40)])],
  ['pictures before the mdat', join([head, change(one, at('trun') + 16, 8)])],
  ['a place of data below 0', join([head, change(one, at('trun') + 16, 0xffffff00)])],
  ['more pictures than there are', join([head, change(one, at('trun') + 12, 5000)])],
  ['a track that is not there', join([head, change(one, at('tfhd') + 12, 3)])],
  ['track 0', join([head, change(one, at('tfhd') + 12, 0)])],
  ['a size of 0', join([head, change(one, at('tfhd') + 20, 0)])],
  ['a size beyond all', join([head, change(one, at('tfhd') + 20, 0x7fffffff)])],
  ['a base of its own', join([head, change(one, at('tfhd') + 8, 0x39)])],
  ['a time beyond all', join([head, change(one, at('tfdt') + 12, 0x7fffffff)])],
  ['a trun that is cut short', join([head, change(one, at('trun') + 8, 0xf05)])],
  ['a box in a box that is too long', join([head, change(one, at('traf'), 4000)])],
  ['a run before its head', join([head, change(one, at('tfhd') + 4, 0x66726565)])],
];

function isIn(all: Uint8Array, index: number, record: Uint8Array): boolean {
  const from = Buffer.from(all).indexOf(Buffer.from(record));
  return index >= from && index < from + record.length;
}

test.each(broken)('what cannot be read is said to be so: %s', (_, bytes) => {
  for (const cut of [1, 64, 1 << 20]) expect(() => read(bytes, { cut })).toThrow(LadderBroken);
});

test('another timescale is refused, and says which', () => {
  const bytes = outputHead(recordsOf(2));
  const mdhd = Buffer.from(bytes).indexOf('mdhd');
  expect(() => read(change(bytes, mdhd + 16, 12_800))).toThrow('12800 ticks');
});

test('bytes changed anywhere: read, or refused, and never anything else', () => {
  let seed = 3;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  let refused = 0;
  for (let round = 0; round < 3000; round += 1) {
    const copy = whole.slice();
    for (let i = random(6); i >= 0; i -= 1) {
      const place = random(round % 2 === 0 ? copy.length : head.length + 400);
      copy[place] = random(4) === 0 ? 255 : random(256);
    }
    try {
      const { pictures } = read(copy, { cut: 1 + random(500) });
      for (const { shown, track } of pictures) expect(Number.isSafeInteger(shown) && track < 2).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(LadderBroken);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(500);
});

test('what is not whole is not given', () => {
  for (const length of [head.length - 1, head.length + 50, whole.length - 1]) {
    const { pictures } = read(whole.subarray(0, length));
    expect(pictures).toEqual(expected.slice(0, pictures.length));
    expect(pictures.length).toBeLessThan(expected.length);
  }
});

test('its boxes are bounded', () => {
  const ftyp = box('ftyp', u32(0));
  expect(() => read(join([ftyp, join([u32(1_048_577), Buffer.from('moov')])]))).toThrow('moov');
  const many = box(
    'moof',
    box(
      'traf',
      full('tfhd', 0, 0x020000, u32(1)),
      full('tfdt', 1, 0, u64(0)),
      full('trun', 0, 1, u32(1025, 0)),
    ),
  );
  expect(() => read(join([head, many]))).toThrow('more than 1024 samples');
});
