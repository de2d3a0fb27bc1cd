import { describe, expect, it, test } from 'vitest';
import { inspectFile } from '../../runtime/media/mp4/inspect/inspect-file.ts';
import {
  avc1,
  type Bytes,
  box,
  emptyTrak,
  fileHead,
  film,
  fragmented,
  ftyp,
  full,
  join,
  mdat,
  mp4a,
  mvhd,
  tables,
  text,
  trak,
  u32,
} from './build.ts';
import { good, refused } from './hostile-files.ts';

const plain = tables(fileHead);

function nested(depth: number): Bytes {
  const headers = new Uint8Array(depth * 8);
  const view = new DataView(headers.buffer);
  for (let i = 0; i < depth; i += 1) {
    view.setUint32(i * 8, (depth - i) * 8);
    view.setUint32(i * 8 + 4, 0x6d646961);
  }
  return headers;
}

describe('refused, with the reason, after few reads and with little memory', () => {
  test.each(refused)('%s', async (_name, bytes, reason) => {
    const { inspection, reads, read } = await inspect(bytes);
    expect(inspection).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    expect(reads).toBeLessThan(10);
    expect(read).toBeLessThan(bytes.length + 100_000);
  });
});

it('takes the plain one that they were made of', async () => {
  const { inspection } = await inspect(good);
  expect(inspection).toEqual({
    ok: true,
    passedOver: [],
    spec: {
      format: 'mp4',
      duration: 1,
      bitrate: good.length * 8,
      tracks: [
        {
          type: 'video',
          codec: 'h264',
          duration: 1,
          bitrate: 24_000,
          fps: 30,
          width: 640,
          height: 360,
          pixelFormat: 'yuv420p',
        },
      ],
    },
  });
  expect((await inspect(fragmented())).inspection).toMatchObject({ ok: true, spec: { duration: 1 } });
});

it('is not bothered by depth: 100,000 boxes in each other where nobody looks', async () => {
  const { inspection } = await inspect(film(mvhd(), trak(), nested(100_000)));
  expect(inspection).toMatchObject({ ok: true });
});

it('passes over what is no part of the film', async () => {
  const chapters = box('tref', box('chap', u32(3)));
  const rest = await inspect(
    film(
      mvhd(),
      trak({ extra: [chapters] }),
      trak({ id: 2, handler: 'soun', entry: box('ac-3', new Uint8Array(28)) }),
      trak({ id: 3, entry: avc1({ type: 'jpeg' }) }),
      trak({ id: 4, handler: 'tmcd' }),
      trak({ id: 5, entry: avc1({ type: 'png ' }) }),
      emptyTrak({ id: 6, handler: 'soun', entry: mp4a() }),
    ),
  );
  expect(rest.inspection).toMatchObject({
    ok: true,
    spec: { tracks: [{ type: 'video' }] },
    passedOver: [
      'the audio track (track 2) is AC-3 (ac-3)',
      'the video track (track 5) is PNG (png)',
      'track 3 is of chapters',
      "track 4 is 'tmcd'",
    ],
  });
});

it('reads a plain file of 10 GB in a few steps, wherever its moov box is', async () => {
  const size = 10e9;
  const at = 9e9;
  const co64 = full('co64', 0, 0, u32(1, Math.floor(at / 0x100000000), at % 0x100000000));
  const moov = box('moov', mvhd(), trak({ tables: [plain.stts, plain.stsc, plain.stsz, co64] }));
  for (const isLast of [true, false]) {
    const large = size - ftyp.length - moov.length;
    const head = join(u32(1), text('mdat'), u32(Math.floor(large / 0x100000000), large % 0x100000000));
    const parts: [number, Bytes][] = isLast
      ? [
          [0, join(ftyp, head)],
          [size - moov.length, moov],
        ]
      : [[0, join(ftyp, moov, head)]];
    const { inspection, reads, read } = await inspect({ size, parts });
    expect(inspection).toMatchObject({ ok: true, spec: { duration: 1 } });
    expect([reads, read < 100_000]).toEqual([isLast ? 2 : 1, true]);
  }
});

test('every cut of a good file is refused or tells the same', async () => {
  for (const whole of [good, fragmented(), join(ftyp, good.subarray(fileHead - 8 + mdat.length), mdat)]) {
    for (let length = 0; length < whole.length; length += length < 200 ? 1 : 13) {
      const { inspection } = await inspect(whole.subarray(0, length));
      if (inspection.ok) expect(inspection.spec.tracks[0]).toMatchObject({ duration: 1 });
    }
  }
});

/** Bytes, or a large file of which only some are not 0. */
async function inspect(file: Uint8Array | { size: number; parts: [number, Bytes][] }) {
  const { size, parts } =
    file instanceof Uint8Array ? { size: file.length, parts: [[0, file] as const] } : file;
  let reads = 0;
  let read = 0;
  const { inspection } = await inspectFile({
    size,
    async read(from, to) {
      expect(from >= 0 && from < to && to <= size).toBe(true);
      reads += 1;
      read += to - from;
      const bytes = new Uint8Array(to - from);
      for (const [at, part] of parts) {
        const begin = Math.max(from, at);
        const end = Math.min(to, at + part.length);
        if (begin < end) bytes.set(part.subarray(begin - at, end - at), begin - from);
      }
      return bytes;
    },
  });
  return { inspection, reads, read };
}
