import { describe, expect, it, test } from 'vitest';
import { flvFraming } from '../../../runtime/media/push/srt/flv-framing.ts';

const AUDIO = 8;
const VIDEO = 9;
const code = (text: string) => [...Buffer.from(text, 'latin1')];

function frame(
  type: number,
  body: number[],
  options: { hevc?: boolean; opus?: boolean; timestamp?: number } = {},
) {
  const told: string[] = [];
  const { hevc = true, opus = true, timestamp = 0 } = options;
  const framing = flvFraming({ hevc, opus }, (what) => told.push(what));
  // Somewhere in a larger buffer, as in the arena that messages lie in.
  const source = Uint8Array.of(99, 99, ...body, 99);
  const out = new Uint8Array(framing.sizeOf(body.length) + 7);
  const end = framing.write(out, 7, type, timestamp, source, 2, 2 + body.length);
  expect(end).toBeLessThanOrEqual(out.length);
  const tag = [...out.subarray(7, end)];
  return { tag, body: tag.slice(11, -4), told };
}

it('begins like a file of sound and pictures', () => {
  const { preamble } = flvFraming({ hevc: true, opus: true }, () => {});
  expect(Buffer.from(preamble).toString('hex')).toBe('464c56010500000009' + '00000000');
});

it('writes a tag with its type, size and time, and its size behind it', () => {
  const { tag } = frame(AUDIO, [0xaf, 1, 5, 6], { timestamp: 0x12345678 });
  expect(tag).toEqual([8, 0, 0, 4, 0x34, 0x56, 0x78, 0x12, 0, 0, 0, 0xaf, 1, 5, 6, 0, 0, 0, 15]);
});

test.each([
  ['a configuration of H.264', VIDEO, [0x17, 0, 0, 0, 0, 1, 2, 3], [0x17, 0, 0, 0, 0, 1, 2, 3]],
  ['a key frame', VIDEO, [0x17, 1, 0, 0, 80, 7], [0x17, 1, 0, 0, 80, 7]],
  ['a frame shown before it is decoded', VIDEO, [0x27, 1, 255, 255, 250, 7], [0x27, 1, 255, 255, 250, 7]],
  ['a disposable frame', VIDEO, [0x37, 1, 0, 0, 0, 7], [0x27, 1, 0, 0, 0, 7]],
  ['the same, enhanced', VIDEO, [0x90, ...code('avc1'), 1, 2, 3], [0x17, 0, 0, 0, 0, 1, 2, 3]],
  ['an enhanced key frame', VIDEO, [0x91, ...code('avc1'), 0, 0, 80, 7], [0x17, 1, 0, 0, 80, 7]],
  ['an enhanced frame without an offset', VIDEO, [0xa3, ...code('avc1'), 7], [0x27, 1, 0, 0, 0, 7]],
  ['a key frame in H.265', VIDEO, [0x91, ...code('hvc1'), 0, 0, 80, 7], [0x91, ...code('hvc1'), 0, 0, 80, 7]],
  ['one without an offset', VIDEO, [0xa3, ...code('hvc1'), 7], [0xa1, ...code('hvc1'), 0, 0, 0, 7]],
  ['its configuration', VIDEO, [0x90, ...code('hvc1'), 1, 2], [0x90, ...code('hvc1'), 1, 2]],
  [
    'H.265 as it was before Enhanced RTMP',
    VIDEO,
    [0x1c, 1, 0, 0, 80, 7],
    [0x91, ...code('hvc1'), 0, 0, 80, 7],
  ],
  ['a configuration of AAC', AUDIO, [0xaf, 0, 0x12, 0x10], [0xaf, 0, 0x12, 0x10]],
  ['an enhanced one', AUDIO, [0x90, ...code('mp4a'), 0x12, 0x10], [0xaf, 0, 0x12, 0x10]],
  ['an enhanced frame of AAC', AUDIO, [0x91, ...code('mp4a'), 5], [0xaf, 1, 5]],
  ['a frame of Opus', AUDIO, [0x91, ...code('Opus'), 5], [0x91, ...code('Opus'), 5]],
])('%s', (_, type, from, to) => {
  const { body, tag, told } = frame(type, from);
  expect(body).toEqual(to);
  expect(tag[3]).toBe(to.length);
  expect(tag.at(-1)).toBe(to.length + 11);
  expect(told).toEqual([]);
});

describe('nothing is written of', () => {
  test.each([
    ['data', 18, [2, 0, 13]],
    ['an empty message', VIDEO, []],
    ['a message that is cut off', VIDEO, [0x91, 0x61]],
    ['an end of sequence', VIDEO, [0x17, 2, 0, 0, 0]],
    ['colours', VIDEO, [0x94, ...code('avc1'), 1]],
  ])('%s', (_, type, from) => {
    const { tag, told } = frame(type, from);
    expect(tag).toEqual([]);
    expect(told).toEqual([]);
  });

  test.each([
    ['pictures in H.265', VIDEO, [0x91, ...code('hvc1'), 0, 0, 0, 7]],
    ['pictures in AV1', VIDEO, [0x91, ...code('av01'), 7]],
    ['the pictures of this broadcast', VIDEO, [0x91, ...code('vp09'), 7]],
    ['sound in Opus', AUDIO, [0x91, ...code('Opus'), 7]],
    ['the sound of this broadcast', AUDIO, [0x2f, 1, 2]],
  ])('%s, which an older ffmpeg cannot read or MPEG-TS cannot carry, and it is said', (what, type, from) => {
    const { tag, told } = frame(type, from, { hevc: false, opus: false });
    expect(tag).toEqual([]);
    expect(told).toEqual([what]);
  });
});
