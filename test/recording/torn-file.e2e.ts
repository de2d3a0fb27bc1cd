import { describe, expect, it } from 'vitest';
import type { FinishedFile } from '../../runtime/media/recording/file/finish-file.ts';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { AVC_240P } from '../hls/feed.ts';
import { atOnce } from './at-once.ts';
import { apply, initOf, runSteps, type Step } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';
import { randomNumbers } from './random-numbers.ts';

/** Small runs: what matters are the places between things. */
const first = runSteps({ seconds: 2, fps: 4, size: 5, gop: 4 });
const second = runSteps({ seconds: 1, fps: 4, size: 5, gop: 4, from: 50, init: initOf({ video: AVC_240P }) });
const later = runSteps({ seconds: 1, fps: 4, size: 5, gop: 4, from: 80, audio: false });
const steps: readonly Step[] = [...first, ...second];

function grow(io: MemoryIo, some: readonly Step[]) {
  const file = atOnce(openGrowingFile(io));
  for (const step of some) apply(file, step);
  return file;
}

/** Where each part of a file ends, and what it is up to there, whatever comes later. */
function partEnds(): { size: number; steps: readonly Step[] }[] {
  const io = new MemoryIo();
  const file = atOnce(openGrowingFile(io));
  const ends: { size: number; steps: readonly Step[] }[] = [{ size: 0, steps: [] }];
  steps.forEach((step, index) => {
    apply(file, step);
    if ('bytes' in step) ends.push({ size: file.size, steps: steps.slice(0, index + 1) });
  });
  return ends;
}

const ends = partEnds();
const whole = new MemoryIo();
const finished = atOnce(grow(whole, steps).finish());

/** A file that holds these parts and no more, as it is before and after more comes and it is finished. */
const expected = ends.map((end) => {
  const io = new MemoryIo();
  const file = grow(io, end.steps);
  file.pause();
  const { count } = file;
  const inits = [...file.inits];
  const kept = io.bytes;
  const segments = Array.from({ length: count }, (_, number) => file.segment(number));
  const answer = new MemoryIo(kept);
  const result = { finished: atOnce(atOnce(openGrowingFile(answer)).finish()), bytes: answer.bytes };
  for (const step of later) apply(file, step);
  return { kept, inits, segments, result, later: { finished: atOnce(file.finish()), bytes: io.bytes } };
});

/** As text, which compares faster than bytes one by one. */
function flat(file: FinishedFile | undefined) {
  return (
    file && { ...file, head: { ...file.head, bytes: base64(file.head.bytes) }, index: base64(file.index) }
  );
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function check(torn: Uint8Array, parts: number, options: { isDeep: boolean }): void {
  const io = new MemoryIo(torn);
  const file = atOnce(openGrowingFile(io));
  const { kept, inits, segments, result, later: grown } = expected[parts];
  expect(Buffer.compare(io.bytes, kept)).toBe(0);
  expect(file.count).toBe(segments.length);
  expect(file.cut?.bytes ?? 0).toBe(torn.length - kept.length);
  if (!options.isDeep) return;
  expect(file.inits).toEqual(inits);
  expect(Array.from({ length: file.count }, (_, number) => file.segment(number))).toEqual(segments);
  const other = new MemoryIo(torn);
  expect(flat(atOnce(atOnce(openGrowingFile(other)).finish()))).toEqual(flat(result.finished));
  expect(Buffer.compare(other.bytes, result.bytes)).toBe(0);
  for (const step of later) apply(file, step);
  expect(flat(atOnce(file.finish()))).toEqual(flat(grown.finished));
  expect(Buffer.compare(io.bytes, grown.bytes)).toBe(0);
}

describe('a file that was torn', () => {
  it('keeps what is whole and goes on as if no more had come, at each of its bytes', () => {
    const grew = new MemoryIo();
    grow(grew, steps);
    const { bytes } = grew;
    let parts = 0;
    for (let size = 0; size <= bytes.length; size += 1) {
      const isNew = size === ends[parts + 1]?.size;
      if (isNew) parts += 1;
      check(bytes.subarray(0, size), parts, { isDeep: isNew || size % 23 === 0 });
    }
    expect(parts).toBe(ends.length - 1);
  });

  it('keeps what is whole when the rest is zeros, at each of its bytes', () => {
    const grew = new MemoryIo();
    grow(grew, steps);
    const { bytes } = grew;
    for (let size = 0; size < bytes.length; size += 1) {
      // The last bytes of a part that are zero anyway are none that were lost.
      const parts = ends.findLastIndex((end) => end.size <= size);
      const torn = new Uint8Array(bytes.length + 5000);
      torn.set(bytes.subarray(0, size));
      const file = atOnce(openGrowingFile(new MemoryIo(torn)));
      const kept = ends.findIndex((end) => end.size === file.size);
      // A part of which fewer bytes are gone than may be zero is as good as whole.
      const isSpared = kept === parts + 1 && ends[kept].size - size < 64;
      expect(kept === parts || isSpared, `${size}: ${kept} parts of ${parts}`).toBe(true);
    }
  });

  it('writes a moov that was torn anew, with the same bytes, at each of its bytes', () => {
    const { bytes } = whole;
    const from = finished?.head.to ?? 0;
    for (let size = from; size < bytes.length; size += 1) {
      const io = new MemoryIo(bytes.subarray(0, size));
      const file = atOnce(openGrowingFile(io));
      expect(file.size).toBe(from);
      // What was closed stays so.
      expect(file.sealed).toBe(from);
      io.fixed = from;
      const again = atOnce(file.finish());
      expect(Buffer.compare(io.bytes, bytes)).toBe(0);
      if (size % 97 === 0) expect(flat(again)).toEqual(flat(finished));
    }
  });

  it('goes on behind a moov that was torn, when the broadcast does', () => {
    const { bytes } = whole;
    const io = new MemoryIo(bytes.subarray(0, (finished?.head.to ?? 0) + 100));
    const file = atOnce(openGrowingFile(io));
    expect(file.cut).toMatchObject({ bytes: 100, reason: 'half a moov' });
    io.fixed = file.sealed;
    for (const step of later) apply(file, step);
    const again = atOnce(file.finish());
    expect(again?.spec.duration).toBeGreaterThan(finished?.spec.duration ?? 0);
    expect(file.count).toBe(4);
    expect(atOnce(atOnce(openGrowingFile(new MemoryIo(io.bytes))).finish())).toEqual(again);
  });

  it('mends headers of extents that were not written, whatever they say', () => {
    const large = new MemoryIo();
    const file = grow(large, runSteps({ seconds: 16, fps: 5, size: 300_000, audio: false }));
    const { sealed } = file;
    const good = atOnce(file.finish());
    const { bytes } = large;
    for (const [at, value] of [
      [32, 0],
      [32, 77],
      [sealed, 0],
      [sealed, 0xffffffff],
    ]) {
      const damaged = bytes.slice(0, good?.head.to);
      new DataView(damaged.buffer).setUint32(at, value);
      const io = new MemoryIo(damaged);
      expect(atOnce(atOnce(openGrowingFile(io)).finish())).toEqual(good);
      expect(Buffer.compare(io.bytes, bytes)).toBe(0);
    }
  });

  it('is opened and finished whatever was damaged in it, and what is before that is kept', () => {
    const { bytes } = whole;
    const random = randomNumbers(7);
    for (let round = 0; round < 600; round += 1) {
      const damaged = bytes.slice(0, random(3) === 0 ? bytes.length : (finished?.head.to ?? 0));
      const at = random(damaged.length);
      const length = 1 + random(random(2) === 0 ? 3 : 200);
      for (let i = at; i < Math.min(damaged.length, at + length); i += 1) damaged[i] = random(256);
      const io = new MemoryIo(damaged);
      const file = atOnce(openGrowingFile(io));
      const whatWas = ends.findLastIndex((end) => end.size <= at);
      expect(file.size).toBeGreaterThanOrEqual(ends[whatWas].size);
      const again = atOnce(file.finish());
      expect(again === undefined).toBe(file.count === 0);
      expect(flat(atOnce(atOnce(openGrowingFile(new MemoryIo(io.bytes))).finish()))).toEqual(flat(again));
      expect(io.reads).toBeLessThan(1000);
    }
  });

  it('is cut before a run whose note names an init that is not there', () => {
    const io = new MemoryIo();
    grow(io, steps);
    const { bytes } = io;
    const at = Buffer.from(bytes).lastIndexOf('mrun') - 4;
    for (const init of [2, 0xffffffff]) {
      new DataView(bytes.buffer).setUint32(at + 12, init);
      const file = atOnce(openGrowingFile(new MemoryIo(bytes)));
      expect(file.cut).toMatchObject({ at, reason: 'a damaged marker' });
      expect(file.count).toBe(2);
    }
  });

  it.each([
    ['another file', new TextEncoder().encode('ftypisom and much more of what is no take at all'.repeat(50))],
    ['zeros', new Uint8Array(100_000)],
    ['a box that has no end', Uint8Array.of(0, 0, 0, 0)],
  ])('is begun anew when it is %s', (_, bytes) => {
    const io = new MemoryIo(bytes);
    const file = atOnce(openGrowingFile(io));
    expect(file.cut).toEqual({ at: 0, bytes: bytes.length, reason: 'no ftyp of a recording' });
    expect(io.size).toBe(0);
    for (const step of steps) apply(file, step);
    expect(atOnce(file.finish())).toEqual(finished);
  });
});
