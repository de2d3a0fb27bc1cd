/** Files that lie: what each box of an mp4 may claim, and what is no mp4 at all. */
import {
  avc1,
  type Bytes,
  box,
  edts,
  emptyTrak,
  fileHead,
  film,
  fragmented,
  ftyp,
  full,
  join,
  mdat,
  moof,
  mp4a,
  mvhd,
  tables,
  text,
  trak,
  u32,
  vast,
} from './build.ts';

const most = 0xffffffff;
const plain = tables(fileHead);
/** What all of them were made of: it is taken. */
export const good = film(mvhd(), trak());

/** A film whose one track has another table. */
function withTable(name: keyof typeof plain | 'ctts' | 'stss' | 'co64' | 'stz2', bytes: Bytes): Bytes {
  return film(mvhd(), trak({ tables: Object.values({ ...plain, [name]: bytes }) }));
}

/** Files that are refused, and what their reason says. */
export const refused: readonly (readonly [name: string, bytes: Uint8Array, reason: RegExp])[] = [
  ['nothing', new Uint8Array(0), /^it is empty$/],
  ['four bytes', text('ftyp'), /does not begin with an ftyp box; expected an mp4/],
  ['a playlist', text('#EXTM3U\n#EXTINF:4,\nfile:///etc/passwd\n'), /an HLS playlist; expected an mp4/],
  ['ffconcat', text("ffconcat version 1.0\nfile '/etc/passwd'\n"), /concat; expected an mp4/],
  ['Matroska', Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3, 1, 0, 0, 0), /Matroska or WebM; expected an mp4/],
  [
    'what curl -F sends',
    text(`--------------------------d74496d6\r\nContent-Disposition: form-data`),
    /a form \(multipart/,
  ],
  ['FLV', text('FLV\x01\x05\0\0\0\x09'), /FLV; expected an mp4/],
  ['a transport stream', new Uint8Array(376).fill(0x47), /MPEG transport stream; expected an mp4/],
  ['a web page', text('<!DOCTYPE html><title>404</title>'), /a web page; expected an mp4/],
  ['noise', new Uint8Array(5000).map((_, i) => (i * 7919) & 255), /does not begin with an ftyp box/],
  ['only ftyp', ftyp, /no moov box: it is cut off/],
  ['no moov', join(ftyp, mdat), /no moov box/],
  ['mdat of size 0 before moov', join(ftyp, u32(0), text('mdat'), good.subarray(fileHead)), /no moov box/],
  [
    'size 1 without a size',
    join(ftyp, u32(1), text('moov'), u32(0, 8)),
    /moov box at byte \d+ has the impossible size 8/,
  ],
  ['size 7', join(ftyp, u32(7), text('moov')), /the moov box at byte \d+ has the impossible size 7/],
  [
    'size 2^32 - 1',
    join(ftyp, u32(most), text('moov')),
    /cut off: the moov box .* 4294967295 bytes.* after 8/,
  ],
  ['size 2^64 - 1', join(ftyp, u32(1), text('moov'), u32(most, most)), /cut off: the moov box/],
  ['two moov boxes', join(fragmented(), box('moov', mvhd(), trak())), /two moov boxes/],
  ['a compressed moov', film(box('cmov', box('dcom', text('zlib')))), /compressed \(cmov\)/],
  ['no mvhd', film(trak()), /moov box has no mvhd box/],
  ['no track', film(mvhd()), /no video and no audio/],
  ['only text', film(mvhd(), trak({ handler: 'text' })), /no video and no audio/],
  [
    '101 tracks',
    film(mvhd(), ...Array.from({ length: 101 }, (_, i) => trak({ id: i + 1 }))),
    /101 tracks; expected 100/,
  ],
  [
    '10,001 boxes',
    film(mvhd(), trak(), ...Array.from({ length: 10_001 }, () => box('free'))),
    /more than 10000 boxes/,
  ],
  [
    'an inner size 0xffffffff',
    film(mvhd(), join(u32(most), text('trak'))),
    /trak box in its moov box claims 4294967295 bytes, but only 8 are left/,
  ],
  ['an inner size 3', film(mvhd(), join(u32(3), text('trak'))), /trak box in its moov box claims 3 bytes/],
  ['twice the same number', film(mvhd(), trak(), trak()), /several tracks with the number 1/],
  ['timescale 0', film(mvhd(), trak({ timescale: 0 })), /video track \(track 1\) has no timescale/],
  [
    'HEVC',
    film(mvhd(), trak({ entry: avc1({ type: 'hvc1' }) })),
    /video track \(track 1\) is HEVC \(hvc1\); expected H.264/,
  ],
  [
    'an unknown codec',
    film(mvhd(), trak({ entry: avc1({ type: 'zzz\0' }) })),
    /is 'zzz\\x00'; expected H.264/,
  ],
  [
    'AC-3 alone',
    film(mvhd(), trak({ handler: 'soun', entry: box('ac-3', new Uint8Array(28)) })),
    /audio track \(track 1\) is AC-3 .*expected AAC/,
  ],
  [
    'MP3 in mp4a',
    film(mvhd(), trak({ handler: 'soun', entry: mp4a({ objectType: 0x6b }) })),
    /is MP3; expected AAC/,
  ],
  [
    'USAC',
    film(mvhd(), trak({ handler: 'soun', entry: mp4a({ config: Uint8Array.of(0xf9, 0x46, 0x40, 0) }) })),
    /object type is 42, not AAC/,
  ],
  [
    'HEVC beside H.264',
    film(mvhd(), trak(), trak({ id: 2, entry: avc1({ type: 'hev1' }) })),
    /track 2\) is HEVC/,
  ],
  [
    'encrypted',
    film(mvhd(), trak({ entry: avc1({ type: 'encv' }) })),
    /encrypted \(encv\); expected H.264 or AAC in the clear/,
  ],
  [
    'encrypted sound',
    film(mvhd(), trak({ handler: 'soun', entry: mp4a({ type: 'enca' }) })),
    /encrypted \(enca\)/,
  ],
  [
    'data in another file',
    film(
      mvhd(),
      trak({ dref: full('dref', 0, 0, u32(1), full('url ', 0, 0, text('file:///etc/passwd\0'))) }),
    ),
    /another file \(dref url \)/,
  ],
  [
    'an alias',
    film(mvhd(), trak({ dref: full('dref', 0, 0, u32(1), full('alis', 0, 0)) })),
    /another file \(dref alis\)/,
  ],
  ['sound that is called a picture', film(mvhd(), trak({ entry: mp4a() })), /video track .* has sound in it/],
  [
    'pictures that are called sound',
    film(mvhd(), trak({ handler: 'soun' })),
    /audio track \(track 1\) has pictures in it by its sample entry/,
  ],
  ['no avcC', film(mvhd(), trak({ entry: box('avc1', new Uint8Array(78)) })), /no avcC box/],
  [
    'parameter sets in the stream alone',
    film(
      mvhd(),
      trak({ entry: avc1({ type: 'avc3', record: Uint8Array.of(1, 0x64, 0, 30, 0xff, 0xe0, 0, 0) }) }),
    ),
    /no sequence parameter set/,
  ],
  [
    'a picture of 65535 x 65535',
    film(mvhd(), trak({ entry: avc1({ record: vast() }) })),
    /picture size is 65536x65536/,
  ],
  ['no esds', film(mvhd(), trak({ handler: 'soun', entry: box('mp4a', new Uint8Array(28)) })), /no esds box/],
  ['2^32 - 1 sample entries', film(mvhd(), trak({ entries: most })), /stsd box claims 4294967295 entries/],
  [
    '2^32 - 1 sizes',
    withTable('stsz', full('stsz', 0, 0, u32(0, most))),
    /stsz box claims 4294967295 entries, but has room for 0/,
  ],
  [
    '2^32 - 1 samples of one size',
    withTable('stsz', full('stsz', 0, 0, u32(1, most))),
    /4294967295 samples, but its stts box has times for 30/,
  ],
  [
    '2^32 - 1 samples of one size and time',
    film(
      mvhd(),
      trak({
        tables: [
          plain.stco,
          plain.stsc,
          full('stsz', 0, 0, u32(1, most)),
          full('stts', 0, 0, u32(1, most, 1)),
        ],
      }),
    ),
    /claims 4294967295 samples; expected 16000000/,
  ],
  [
    '15,000,000 samples of one size and time',
    film(
      mvhd(),
      trak({
        tables: [
          plain.stco,
          full('stsc', 0, 0, u32(1, 1, most, 1)),
          full('stsz', 0, 0, u32(1, 15e6)),
          full('stts', 0, 0, u32(1, 15e6, 1)),
        ],
      }),
    ),
    /cut off: sample \d+ of the video track/,
  ],
  [
    '2^32 - 1 times',
    withTable('stts', full('stts', 0, 0, u32(most, 30, 1000))),
    /stts box claims 4294967295 entries/,
  ],
  [
    'a time 2^32 - 1 times',
    withTable('stts', full('stts', 0, 0, u32(1, most, 1000))),
    /30 samples, but its stts box has times for 4294967295/,
  ],
  ['too few times', withTable('stts', full('stts', 0, 0, u32(1, 29, 1000))), /has times for 29/],
  [
    '2^32 - 1 shifts',
    withTable('ctts', full('ctts', 0, 0, u32(most, 30, 0))),
    /ctts box claims 4294967295 entries/,
  ],
  [
    'a shift 2^32 - 1 times',
    withTable('ctts', full('ctts', 0, 0, u32(1, most, 0))),
    /ctts box moves 4294967295/,
  ],
  [
    'a shift of hours',
    withTable('ctts', full('ctts', 0, 0, u32(1, 30, 0x7fffffff))),
    /shown 71583 s after it is decoded/,
  ],
  [
    '2^32 - 1 chunks',
    withTable('stco', full('stco', 0, 0, u32(most, 48))),
    /stco box claims 4294967295 entries/,
  ],
  [
    '2^32 - 1 runs',
    withTable('stsc', full('stsc', 0, 0, u32(most, 1, 30, 1))),
    /stsc box claims 4294967295 entries/,
  ],
  ['an empty chunk', withTable('stsc', full('stsc', 0, 0, u32(1, 1, 0, 1))), /empty chunks/],
  [
    'chunks for fewer samples',
    withTable('stsc', full('stsc', 0, 0, u32(1, 1, 29, 1))),
    /30 samples, but its chunks have room for 29/,
  ],
  [
    'a run that begins with chunk 2',
    withTable('stsc', full('stsc', 0, 0, u32(1, 2, 30, 1))),
    /begins with chunk 2 in entry 1/,
  ],
  [
    'sample entry 2 of 1',
    withTable('stsc', full('stsc', 0, 0, u32(1, 1, 30, 2))),
    /names sample entry 2 of 1/,
  ],
  [
    '2^32 - 1 key frames',
    withTable('stss', full('stss', 0, 0, u32(most, 1))),
    /stss box claims 4294967295 entries/,
  ],
  ['no key frame', withTable('stss', full('stss', 0, 0, u32(0))), /no key frame/],
  [
    'a key frame that is not there',
    withTable('stss', full('stss', 0, 0, u32(2, 1, 31))),
    /names sample 31 of 30/,
  ],
  [
    'sizes of 7 bits',
    film(mvhd(), trak({ tables: [plain.stts, plain.stsc, plain.stco, full('stz2', 0, 0, u32(7, 30))] })),
    /sizes of 7 bits/,
  ],
  [
    'samples behind the end',
    withTable('stco', full('stco', 0, 0, u32(1, 4_000_000))),
    /cut off: sample 1 of the video track \(track 1\) lies at bytes 4000000 to 4000100, and the file has/,
  ],
  [
    'samples at 2^63',
    film(
      mvhd(),
      trak({ tables: [plain.stts, plain.stsc, plain.stsz, full('co64', 0, 0, u32(1, 0x7fffffff, 0))] }),
    ),
    /cut off: sample 1/,
  ],
  [
    'the same bytes again and again',
    film(
      mvhd(),
      trak({
        tables: [
          full('stts', 0, 0, u32(1, 90, 1000)),
          full('stsc', 0, 0, u32(1, 1, 30, 1)),
          full('stsz', 0, 0, u32(100, 90)),
          full('stco', 0, 0, u32(3, fileHead, fileHead, fileHead)),
        ],
      }),
    ),
    /more bytes together than the file/,
  ],
  [
    'the same bytes in two tracks',
    film(
      mvhd(),
      trak({ tables: Object.values(tables(fileHead, 39)) }),
      trak({ id: 2, tables: Object.values(tables(fileHead, 39)) }),
    ),
    /its samples have 7800 bytes together/,
  ],
  [
    'ten hours in its header',
    film(mvhd(), trak({ duration: 30_000 * 36_000 })),
    /claims to last 36000 s, but has samples for 1.0 s/,
  ],
  ['ten hours in the header of the film', film(mvhd(36_000_000), trak()), /it claims to last 36000 s/],
  [
    'ten hours in its edit list',
    film(mvhd(), trak({ extra: [edts([36_000_000, 0])] })),
    /edit list of .* claims to last 36000 s/,
  ],
  [
    'ten hours of nothing in front',
    film(mvhd(), trak({ extra: [edts([36_000_000, -1], [1000, 0])] })),
    /begins 36000 s after the film/,
  ],
  [
    'a frame of ten hours',
    film(
      mvhd(),
      trak({
        timescale: 1,
        duration: 0,
        tables: Object.values({ ...plain, stts: full('stts', 0, 0, u32(1, 30, 36_000)) }),
      }),
    ),
    /sample 1 .* claims to last 36000 s; expected 600 s/,
  ],
  [
    '2^32 - 1 edits',
    film(mvhd(), trak({ extra: [box('edts', full('elst', 0, 0, u32(most)))] })),
    /elst box claims 4294967295 entries/,
  ],
  ['no samples', film(mvhd(0), emptyTrak()), /its tracks have no samples/],
  ['fragmented without a fragment', fragmented({ fragments: [] }), /no fragment with samples/],
  [
    'a segment without its init',
    join(box('ftyp', text('msdh'), u32(0)), moof(), mdat),
    /begins with a fragment \(moof\) before any moov/,
  ],
  [
    'a fragment of 2^32 - 1 samples',
    fragmented({ fragments: [moof({ trun: full('trun', 0, 1, u32(most, 104)) }), mdat] }),
    /more than 16000000 samples/,
  ],
  [
    'a fragment of 15,000,000 samples',
    fragmented({ fragments: [moof({ trun: full('trun', 0, 1, u32(15e6, 104)) }), mdat] }),
    /cut off: sample \d+/,
  ],
  [
    '15,000,000 samples of no bytes and hours',
    fragmented({
      trex: full('trex', 0, 0, u32(1, 1, 1000, 0, 0)),
      fragments: [moof({ trun: full('trun', 0, 1, u32(15e6, 104)) }), mdat],
    }),
    /has more samples than bytes/,
  ],
  [
    'a fragment with 2^32 - 1 rows',
    fragmented({ fragments: [moof({ trun: full('trun', 0, 0x301, u32(most, 104)) }), mdat] }),
    /trun box claims 4294967295 entries/,
  ],
  [
    'a fragment of another track',
    fragmented({ fragments: [moof({ id: 7 }), mdat] }),
    /of track 7, which its moov box does not have/,
  ],
  [
    'a fragment hours later',
    fragmented({ fragments: [moof(), mdat, moof({ tfdt: 0x7fffffff }), mdat] }),
    /begins 71581.8 s after the end of the one before/,
  ],
  [
    'a fragment before the one before',
    fragmented({ fragments: [moof({ tfdt: 900_000 }), mdat, moof(), mdat] }),
    /begins 31.0 s before/,
  ],
  ['a fragment without its bytes', fragmented({ fragments: [moof()] }), /cut off: sample 1/],
  ['a fragment cut short', fragmented().subarray(0, -100), /cut off: the mdat box/],
  [
    'data before the file',
    fragmented({ fragments: [moof({ trun: full('trun', 0, 1, u32(30, -5000 >>> 0)) }), mdat] }),
    /cut off: sample 1/,
  ],
];
