import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DirectDisk } from '../../../runtime/media/recording/direct-disk.ts';
import { DirectIo } from '../../../runtime/media/recording/direct-io.ts';
import { openTakeFile } from '../../../runtime/media/recording/file/open-take-file.ts';
import { recorderDefaults } from '../../../runtime/media/recording/limits.ts';
import { OpenFiles } from '../../../runtime/media/recording/open-files.ts';
import { type TakeFile, type TakeIo, takeBlock } from '../../../runtime/media/recording/take-file.ts';
import { AVC_240P } from '../../hls/feed.ts';
import { atOnce } from '../../recording/at-once.ts';
import { apply, initOf, runSteps, type Step } from '../../recording/fragments.ts';
import { MemoryIo } from '../../recording/memory-io.ts';
import { clock } from './fixtures.ts';

/** Parts from a tenth of a block to several blocks. */
const steps: readonly Step[] = [
  ...runSteps({ seconds: 2, fps: 4, size: 200, gop: 4 }),
  ...runSteps({ seconds: 2, fps: 10, size: 3000, gop: 10, from: 50, init: initOf({ video: AVC_240P }) }),
  ...runSteps({ seconds: 1, fps: 4, size: 1024, gop: 4, from: 90, audio: false }),
];

/** What lies on disk after each call that changes it, as a death would leave it. */
function grown() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-direct-take-'));
  const path = join(folder, 'a.mp4');
  const files = new OpenFiles({ clock, most: 10 });
  const limits = { ...recorderDefaults, directPiece: 2 * takeBlock };
  const disk = new DirectDisk({ limits, now: () => 0, onRefused() {}, onFailed() {}, onSlow() {} });
  const io = new DirectIo(path, { files, disk, least: 0 });
  const images: { bytes: Buffer; size: number }[] = [];
  let file: TakeFile | undefined;
  const watched: TakeIo = new Proxy(io, {
    get(_, name) {
      const value = Reflect.get(io, name, io);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const answer = value.apply(io, given);
        if (name !== 'read') images.push({ bytes: readFileSync(path), size: file?.size ?? 0 });
        return answer;
      };
    },
  });
  try {
    file = atOnce(openTakeFile(watched));
    /** Bytes up to the end of each part. */
    const ends = [0];
    for (const step of steps) {
      apply(file, step);
      // As it stands on disk behind the part.
      const last = images.at(-1);
      if (last && ends.at(-1) !== file.size) images[images.length - 1] = { ...last, size: file.size };
      if (ends.at(-1) !== file.size) ends.push(file.size);
    }
    const end = file.size;
    const finished = atOnce(file.finish());
    return { images, ends, end, finished, bytes: new Uint8Array(readFileSync(path)) };
  } finally {
    files.close(path);
    rmSync(folder, { recursive: true });
  }
}

const { images, ends, end, finished, bytes: film } = grown();

it('is the file of a take that was written through the cache', () => {
  const io = new MemoryIo();
  const file = atOnce(openTakeFile(io));
  for (const step of steps) apply(file, step);
  expect(atOnce(file.finish())).toEqual(finished);
  expect(Buffer.compare(io.bytes, film)).toBe(0);
});

it('has each part that was written, wherever the process is killed, and nothing else is told', () => {
  for (const { bytes, size } of images.filter((image) => image.size < end)) {
    const io = new MemoryIo(new Uint8Array(bytes));
    const file = atOnce(openTakeFile(io));
    expect(file.size).toBe(size);
    expect(file.cut).toBeUndefined();
    expect(Buffer.compare(io.bytes, film.subarray(0, size).map(open))).toBe(0);
  }
});

/** The header of the open extent says nothing yet; in the film it does. */
function open(byte: number, at: number): number {
  return at >= extentAt && at < extentAt + 4 ? 0 : byte;
}
const extentAt = new DataView(film.buffer).getUint32(0);

it('has each part but the last one where a write was torn, at each sector of it', () => {
  const grownImages = images.filter((image) => image.size < end);
  const sector = 512;
  let before: Buffer = Buffer.alloc(0);
  let sizeBefore = 0;
  for (const { bytes: after, size } of grownImages) {
    const from = sizeBefore - (sizeBefore % takeBlock);
    for (let to = from; to < after.length; to += sector) {
      const torn = Buffer.alloc(Math.max(before.length, to));
      before.copy(torn);
      after.copy(torn, from, from, to);
      const io = new MemoryIo(new Uint8Array(torn));
      const file = atOnce(openTakeFile(io));
      // The last part is whole where what is torn is behind it.
      expect(ends).toContain(file.size);
      expect([sizeBefore, size]).toContain(file.size);
      expect(Buffer.compare(io.bytes, film.subarray(0, file.size).map(open))).toBe(0);
    }
    [before, sizeBefore] = [after, size];
  }
});

it('is finished as the same film, wherever the process is killed meanwhile', () => {
  const finishing = images.filter((image) => image.size >= end);
  expect(finishing.length).toBeGreaterThan(2);
  for (const { bytes } of finishing) {
    const io = new MemoryIo(new Uint8Array(bytes));
    const file = atOnce(openTakeFile(io));
    expect(atOnce(file.finish())).toEqual(finished);
    expect(Buffer.compare(io.bytes.subarray(0, finished?.size), film)).toBe(0);
  }
});
