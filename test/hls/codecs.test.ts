import { expect, test } from 'vitest';
import { parseAac } from '../../runtime/media/codecs/aac.ts';
import { parseAvc } from '../../runtime/media/codecs/avc.ts';
import { BufferPool } from '../../runtime/media/hls/pool.ts';
import { AAC_44100_MONO, AAC_48000_STEREO, AVC_240P, AVC_360P } from './feed.ts';

test('avcC: size after cropping, frame rate, codec', () => {
  expect(parseAvc(AVC_360P)).toEqual({
    codec: 'avc1.64001e',
    width: 640,
    height: 360,
    sarWidth: 1,
    sarHeight: 1,
    frameRate: 30,
    lengthSize: 4,
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
  pool.give(new Uint8Array(777_777));
  expect(pool.idle).toBeLessThanOrEqual(3_000_000);
});
