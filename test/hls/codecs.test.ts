import { expect, test } from 'vitest';
import { parseAac } from '../../runtime/media/codecs/aac.ts';
import { parseAv1 } from '../../runtime/media/codecs/av1.ts';
import { parseAvc } from '../../runtime/media/codecs/avc.ts';
import { Bits } from '../../runtime/media/codecs/bits.ts';
import { parseHevc } from '../../runtime/media/codecs/hevc.ts';
import { opusDuration, opusSpecific, parseOpus } from '../../runtime/media/codecs/opus.ts';
import { BufferPool } from '../../runtime/media/live/pool.ts';
import {
  AAC_44100_MONO,
  AAC_48000_STEREO,
  AV1_360P,
  AVC_240P,
  AVC_360P,
  HEVC_360P,
  OPUS_STEREO,
} from './feed.ts';

test('past its end a bit string is all zeros, also where fewer bits would have been there', () => {
  const bits = new Bits(Uint8Array.of(255, 255));
  expect([bits.read(4), bits.isOver, bits.read(16), bits.isOver]).toEqual([15, false, 0, true]);
  expect([bits.read(4), bits.flag(), bits.unsigned(), bits.read(0)]).toEqual([0, false, 0, 0]);
});

test('avcC: size after cropping, frame rate, codec', () => {
  expect(parseAvc(AVC_360P)).toEqual({
    codec: 'avc1.64001e',
    width: 640,
    height: 360,
    sarWidth: 1,
    sarHeight: 1,
    frameRate: 30,
    lengthSize: 4,
    pixelFormat: 'yuv420p',
  });
  expect(parseAvc(AVC_240P)).toMatchObject({ codec: 'avc1.42c00d', width: 322, height: 242, frameRate: 25 });
});

test('avcC: any cut and any flipped bit gives a value, never an exception', () => {
  for (let length = 0; length < AVC_360P.length; length += 1) {
    const cut = parseAvc(AVC_360P.slice(0, length));
    expect('malformed' in cut || length >= AVC_360P.length - 4).toBe(true);
    for (let bit = 0; bit < 8; bit += 1) {
      const parsed = parseAvc(AVC_360P.map((byte, i) => (i === length ? byte ^ (1 << bit) : byte)));
      if (!('malformed' in parsed)) expect(parsed.width * parsed.height).toBeGreaterThan(0);
    }
  }
});

test('AudioSpecificConfig: plain, with SBR and PS, with an odd rate, and senseless ones', () => {
  const of = (hex: string) => parseAac(Uint8Array.from(Buffer.from(hex, 'hex')));
  expect(parseAac(AAC_48000_STEREO)).toEqual({
    codec: 'mp4a.40.2',
    sampleRate: 48_000,
    channels: 2,
    frameLength: 1024,
  });
  expect(parseAac(AAC_44100_MONO)).toMatchObject({ sampleRate: 44_100, channels: 1 });
  expect(of('120856e500')).toMatchObject({ codec: 'mp4a.40.2', sampleRate: 44_100 });
  // AOT 5, 24 kHz core, stereo, 48 kHz extension, AOT 2.
  expect(of('2b118800')).toMatchObject({ codec: 'mp4a.40.5', sampleRate: 24_000, channels: 2 });
  for (const odd of ['', '12', 'ffff', '0000', '1680', 'f8e0', '4210'])
    expect([odd, 'malformed' in of(odd)]).toEqual([odd, true]);
});

test('hvcC, av1C, OpusHead: codec and size', () => {
  expect(parseHevc(HEVC_360P)).toEqual({
    codec: 'hvc1.1.6.L63.90',
    width: 640,
    height: 360,
    frameRate: 30,
  });
  expect(parseAv1(AV1_360P)).toEqual({
    codec: 'av01.0.01M.08',
    width: 640,
    height: 360,
    frameRate: undefined,
  });
  expect(parseOpus(OPUS_STEREO)).toMatchObject({ codec: 'opus', sampleRate: 48_000, channels: 2 });
  // Version 0, two channels, pre-skip and rate big-endian, no gain, family 0.
  expect(Buffer.from(opusSpecific(OPUS_STEREO)).toString('hex')).toBe('000201380000ac44000000');
  const surround = Uint8Array.from([...OPUS_STEREO.with(9, 6).with(18, 1), 4, 2, 0, 4, 1, 2, 3, 5]);
  expect(parseOpus(surround)).toMatchObject({ channels: 6 });
  expect([...opusSpecific(surround).subarray(10)]).toEqual([1, 4, 2, 0, 4, 1, 2, 3, 5]);
});

test('the frame rate of HEVC is found behind everything an SPS may hold', () => {
  // By x265: 24000/1001, default scaling lists, field_seq_flag with 50 fields a second.
  const sps = (hex: string) => {
    const nal = Buffer.from(hex, 'hex');
    const list = [1, 33, 0, 1, nal.length >> 8, nal.length & 255];
    return parseHevc(Uint8Array.from([...HEVC_360P.subarray(0, 22), ...list, ...nal]));
  };
  const head = '42010101600000030090000003000003003ca00a080b9f7965';
  expect(sps(`${head}66924caf01680800001f480002ee0040`)).toMatchObject({
    width: 320,
    height: 180,
    frameRate: 24_000 / 1001,
  });
  expect(sps(`${head}65924e5780b404000003000400000300c820`)).toMatchObject({ frameRate: 50 });
  expect(
    sps('42010101600000030040000003000003003ca00a080b9f796566924caf0168680000030008000003019040'),
  ).toMatchObject({ frameRate: 25 });
  expect(sps(writtenSps({ units: 1000, scale: 59_940 }))).toMatchObject({
    width: 640,
    height: 360,
    frameRate: 59.94,
  });
  expect(sps(writtenSps({ units: 0, scale: 60 }))).toMatchObject({
    width: 640,
    height: 360,
    frameRate: undefined,
  });
  expect(sps(writtenSps({ units: 1, scale: 60, sets: 65 }))).toMatchObject({
    width: 640,
    frameRate: undefined,
  });
  // Cut short behind the size: the size counts all the same.
  expect(sps(writtenSps({ units: 1, scale: 60 }).slice(0, 80))).toMatchObject({
    width: 640,
    frameRate: undefined,
  });
});

/** An SPS with what x265 leaves out: lists of its own, PCM, sets of reference pictures, long-term ones, a full VUI. */
function writtenSps({ units, scale, sets = 3 }: { units: number; scale: number; sets?: number }): string {
  let text = '';
  const u = (value: number, count: number) => {
    text += value.toString(2).padStart(count, '0');
  };
  const ue = (...values: number[]) => {
    for (const value of values) {
      const code = (value + 1).toString(2);
      text += code.padStart(code.length * 2 - 1, '0');
    }
  };
  // Two sub-layers, of which the first has a profile and a level of its own.
  u(0b0000_001_1, 8);
  u(1, 8);
  for (let i = 0; i < 10; i += 1) u(1, 8);
  u(63, 8);
  u(0b11, 2);
  u(0, 14);
  for (let i = 0; i < 12; i += 1) u(1, 8);
  ue(0, 1, 640, 360);
  u(0, 1);
  // Bit depths, picture order count of 8 bits, ordering for each of two layers, blocks.
  ue(0, 0, 4);
  u(1, 1);
  ue(4, 2, 0, 4, 2, 0);
  ue(0, 3, 0, 3, 0, 0);
  // Scaling lists: every second one is sent, with values of -1, the others are copies.
  u(0b11, 2);
  for (let size = 0; size < 4; size += 1)
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      const isSent = matrix % 2 === 0;
      u(isSent ? 1 : 0, 1);
      if (!isSent) ue(1);
      else for (let i = size > 1 ? -1 : 0; i < Math.min(64, 16 << (2 * size)); i += 1) ue(2);
    }
  u(0b10, 2);
  // PCM.
  u(1, 1);
  u(0x77, 8);
  ue(0, 2);
  u(1, 1);
  // Sets: one of two pictures, one predicted from it that drops one of three, one of a single picture.
  ue(sets);
  ue(1, 1, 0);
  u(1, 1);
  ue(0);
  u(1, 1);
  u(0b10, 2);
  ue(0);
  u(0b1_00_01, 5);
  u(0, 1);
  ue(1, 0, 0);
  u(1, 1);
  // Two long-term pictures, each with 8 bits of order and a flag.
  u(1, 1);
  ue(2);
  u(0x101, 9);
  u(0x101, 9);
  u(0b11, 2);
  // VUI: aspect 255, overscan, signal with colours, chroma place, no fields, default window, timing.
  u(1, 1);
  u(0x1ff, 9);
  u(1, 16);
  u(1, 16);
  u(0b11, 2);
  u(0b1_101_0_1, 6);
  u(0x010101, 24);
  u(1, 1);
  ue(1, 1);
  u(0b000_1, 4);
  ue(0, 0, 0, 0);
  u(1, 1);
  u(units, 32);
  u(scale, 32);
  u(1, 1);
  const bytes = (text.padEnd(Math.ceil(text.length / 8) * 8, '0').match(/.{8}/g) ?? []).map((bits) =>
    Number.parseInt(bits, 2),
  );
  const escaped: number[] = [];
  for (const byte of bytes) {
    if (byte <= 3 && escaped.at(-1) === 0 && escaped.at(-2) === 0) escaped.push(3);
    escaped.push(byte);
  }
  return `4201${Buffer.from(escaped).toString('hex')}`;
}

test('profile and tier in RFC 6381 form', () => {
  const main10 = HEVC_360P.with(1, 0x22).with(2, 0x20).with(12, 120).with(6, 0xb0);
  expect(parseHevc(main10)).toMatchObject({ codec: 'hvc1.2.4.H120.B0' });
  expect(parseHevc(HEVC_360P.with(1, 0x41).with(6, 0))).toMatchObject({ codec: 'hvc1.A1.6.L63' });
  const high = AV1_360P.with(1, 0x28).with(2, 0xcc);
  expect(parseAv1(high)).toMatchObject({ codec: 'av01.1.08H.10' });
});

test.each([
  ['hvcC', parseHevc, HEVC_360P],
  ['av1C', parseAv1, AV1_360P],
  ['OpusHead', parseOpus, OPUS_STEREO],
])('%s: any cut and any flipped bit gives a value, never an exception', (_name, parse, record) => {
  for (let length = 0; length < record.length; length += 1) {
    parse(record.slice(0, length));
    for (let bit = 0; bit < 8; bit += 1) {
      const parsed = parse(record.map((byte, i) => (i === length ? byte ^ (1 << bit) : byte)));
      if ('width' in parsed) expect(parsed.width * parsed.height).toBeGreaterThan(0);
      if ('channels' in parsed) expect(parsed.channels).toBeGreaterThan(0);
    }
  }
  expect(parse(record.slice(0, 3))).toHaveProperty('malformed');
  expect(parse(record.slice(0, -1).fill(255))).toHaveProperty('malformed');
});

test('an Opus packet tells how long it plays', () => {
  const of = (...bytes: number[]) => opusDuration(Uint8Array.from([0, ...bytes]), 1, 1 + bytes.length);
  // SILK 10 and 60 ms, hybrid 20 ms, CELT 2.5 and 20 ms; two frames; five of 20 ms; seven are too many.
  expect([of(0), of(3 << 3), of(13 << 3), of(28 << 3), of(31 << 3)]).toEqual([480, 2880, 960, 120, 960]);
  expect([of((31 << 3) | 1), of((31 << 3) | 3, 5), of((31 << 3) | 3, 7)]).toEqual([1920, 4800, 0]);
  expect([of(), of((31 << 3) | 3)]).toEqual([0, 0]);
});

test('the pool gives back what it was given, and no more than it may hold', () => {
  const pool = new BufferPool({ limit: 3_000_000 });
  for (const size of [1, 4096, 4097, 5000, 100_000, 1_000_000, 1_048_576, 1_048_577]) {
    const buffer = pool.take(size);
    expect(buffer.length).toBeGreaterThanOrEqual(size);
    expect(buffer.length).toBeLessThanOrEqual(Math.max(4096, size * 1.26));
    pool.give(buffer);
    expect(pool.idle).toBe(buffer.length);
    expect(pool.take(size)).toBe(buffer);
  }
  for (let i = 0; i < 5; i += 1) pool.give(new BufferPool({ limit: 0 }).take(1_000_000));
  expect(pool.idle).toBeLessThanOrEqual(3_000_000);
  // Beyond that a buffer is freed at once: an idle process makes no garbage collection.
  const spare = new BufferPool({ limit: 0 }).take(1_000_000);
  pool.give(spare);
  expect(spare).toHaveLength(0);
  pool.give(new Uint8Array(777_777));
  expect(pool.idle).toBeLessThanOrEqual(3_000_000);
});
