import { expect, it, test } from 'vitest';
import { declaredDuration } from '../../runtime/media/mp4/inspect/foreign.ts';

const bytes = (...parts: (number[] | string | Buffer)[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );
const double = (value: number) => {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(value);
  return buffer;
};
const little = (...values: number[]) => {
  const buffer = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) buffer.writeUInt32LE(value, 4 * index);
  return buffer;
};
const element = (id: number[], data: Buffer) =>
  bytes(id, [0x40 | (data.length >> 8), data.length & 0xff], data);
const ebml = element([0x1a, 0x45, 0xdf, 0xa3], bytes([0x42, 0x82, 0x84], 'webm'));
/** Its end is not known: what is cut off is longer than what is there. */
const segment = (...parts: Buffer[]) =>
  bytes(ebml, [0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], ...parts);
const info = (...parts: Buffer[]) => element([0x15, 0x49, 0xa9, 0x66], bytes(...parts));
const scale = (ns: number[]) => element([0x2a, 0xd7, 0xb1], bytes(ns));
const duration = (value: number) => element([0x44, 0x89], double(value));
const padding = element([0xec], Buffer.alloc(300));
/** As ffmpeg leaves it: 0x58 bytes. */
const voided = bytes([0xec, 0x01, 0, 0, 0, 0, 0, 0, 0x58], Buffer.alloc(0x58));
const cluster = (...timestamp: number[]) =>
  element([0x1f, 0x43, 0xb6, 0x75], element([0xe7], bytes(timestamp)));
const tag = (text: string) =>
  bytes('FLV\x01\x05\0\0\0\x09\0\0\0\0', [0x12, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0], text);
const avih = bytes(
  'RIFF',
  little(9999),
  'AVI LIST',
  little(999),
  'hdrlavih',
  little(56, 40_000, 0, 0, 0, 150),
);

const length = (container: 'matroska' | 'flv' | 'avi' | 'mpegts', film: Uint8Array) =>
  declaredDuration(container, new DataView(film.buffer, film.byteOffset, film.byteLength));

test.each([
  ['Matroska counts in milliseconds', 'matroska', segment(padding, info(duration(6017))), 6.017],
  ['behind what has a long length', 'matroska', segment(voided, info(duration(6017))), 6.017],
  ['or in what it says', 'matroska', segment(info(scale([0x98, 0x96, 0x80]), duration(600))), 6],
  ['from where it begins', 'matroska', segment(info(duration(66_000)), cluster(0xea, 0x60)), 6],
  ['or says nothing', 'matroska', segment(info(scale([0x0f, 0x42, 0x40])), cluster(0)), undefined],
  ['or nonsense', 'matroska', segment(info(duration(Number.NaN))), undefined],
  [
    'FLV has it in its metadata',
    'flv',
    bytes(tag('\x02\0\x0aonMetaData\x08\0\0\0\0\0\x08duration\0'), double(6.5)),
    6.5,
  ],
  ['or not', 'flv', tag('\x02\0\x0aonMetaData'), undefined],
  ['while it is written it is 0', 'flv', bytes(tag('\0\x08duration\0'), double(0)), undefined],
  ['AVI counts pictures', 'avi', avih, 6],
  ['a transport stream says nothing', 'mpegts', Buffer.alloc(400, 0x47), undefined],
] as const)('%s', (_name, container, film, seconds) => {
  expect(length(container, film)).toBe(seconds);
});

it('is not told by a file that is cut off in it, wherever', () => {
  for (const [container, film] of [
    ['matroska', segment(info(duration(6017)))],
    ['flv', bytes(tag('\0\x08duration\0'), double(6.5))],
    ['avi', avih],
  ] as const)
    for (let to = 0; to < film.length; to += 1)
      expect(length(container, film.subarray(0, to))).toBeUndefined();
});
