import { describe, expect, it } from 'vitest';
import { readSegmentIndex } from '../../core/vod/segment-index.ts';
import type { FinishedFile } from '../../runtime/media/recording/file/finish-file.ts';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { boxes } from '../hls/box.ts';
import { AVC_240P } from '../hls/feed.ts';
import { atOnce } from './at-once.ts';
import { apply, fragmentOf, initOf, runSteps, type Step } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';
import { readFilm } from './read-film.ts';

const MIB = 1_048_576;
const NOTHING = new Uint8Array(0);

function fill(io: MemoryIo, steps: readonly Step[]) {
  const file = atOnce(openGrowingFile(io));
  for (const step of steps) apply(file, step);
  return file;
}

describe('the file of a take', () => {
  it('begins with the first part, and is finished', () => {
    const io = new MemoryIo();
    const steps = runSteps({ seconds: 4 });
    const file = atOnce(openGrowingFile(io));
    apply(file, steps[0]);
    expect(io.size).toBe(0);
    for (const step of steps.slice(1)) apply(file, step);
    // The last is open.
    expect(file.count).toBe(3);
    expect(() => file.segment(3)).toThrow(RangeError);
    const finished = atOnce(file.finish());
    expect(file.count).toBe(4);
    expect(finished).toMatchObject({ size: io.size, startedAt: 1_700_000_000_000 });
    expect(finished?.spec).toMatchObject({
      format: 'mp4',
      duration: 4.011,
      tracks: [
        {
          type: 'video',
          codec: 'h264',
          fps: 30,
          width: 640,
          height: 360,
          pixelFormat: 'yuv420p',
          duration: 4,
        },
        { type: 'audio', codec: 'aac', channels: 2, sampleRate: 48_000, duration: 4.011 },
      ],
    });
    expect(boxes(io.bytes).map(({ type }) => type)).toEqual(['ftyp', 'mdat', 'moov']);
  });

  it('has each segment and init as one range of the bytes that were fed', () => {
    const io = new MemoryIo();
    const first = runSteps({ seconds: 3 });
    const second = runSteps({ seconds: 2, from: 60, audio: false });
    const file = fill(io, [...first, { pause: true }, ...second]);
    file.pause();
    const fed = [...first, ...second].flatMap((step) => ('bytes' in step ? [step] : []));
    expect(file.count).toBe(5);
    for (let number = 0; number < file.count; number += 1) {
      const { at, size, duration, wallStart, init, isDiscontinuity } = file.segment(number);
      const parts = fed.slice(number * 2, number * 2 + 2);
      expect(io.bytes.subarray(at, at + size)).toEqual(
        new Uint8Array(Buffer.concat(parts.map(({ bytes }) => bytes))),
      );
      expect({ duration, wallStart }).toEqual({ duration: 1, wallStart: parts[0].part.wallStart });
      expect({ init, isDiscontinuity }).toEqual({ init: number < 3 ? 0 : 1, isDiscontinuity: number === 3 });
    }
    expect(file.inits).toHaveLength(2);
    for (const [number, step] of [first[0], second[0]].entries()) {
      const { at, size, ...described } = file.inits[number];
      const { bytes, ...fedInit } = (step as { begin: ReturnType<typeof initOf> }).begin;
      expect(io.bytes.subarray(at, at + size)).toEqual(bytes);
      expect(described).toEqual(fedInit);
    }
  });

  it('writes an init once, however often it is come back to', () => {
    const io = new MemoryIo();
    const other = initOf({ video: AVC_240P });
    const file = fill(io, [
      ...runSteps({ seconds: 1 }),
      ...runSteps({ seconds: 1, init: other }),
      ...runSteps({ seconds: 1 }),
      ...runSteps({ seconds: 1, init: other }),
    ]);
    file.pause();
    expect(file.inits.map(({ width }) => width)).toEqual([640, 322]);
    expect([0, 1, 2, 3].map((number) => file.segment(number).init)).toEqual([0, 1, 0, 1]);
    const again = atOnce(openGrowingFile(new MemoryIo(io.bytes)));
    expect(again.inits).toEqual(file.inits);
    expect([0, 1, 2, 3].map((number) => again.segment(number).init)).toEqual([0, 1, 0, 1]);
  });

  it('begins a segment with a key frame, unless none comes for ten seconds', () => {
    const file = atOnce(openGrowingFile(new MemoryIo()));
    const part = { wallStart: 1, duration: 1, isIndependent: false, startsSegment: true };
    const second = (at: number, isSync: boolean) =>
      fragmentOf({ video: [{ dts: at * 90_000, duration: 90_000, size: 9, isSync }] });
    file.begin(initOf());
    // A packager that cuts each second, with a key frame at 0, 2 and 20.
    for (let at = 0; at < 24; at += 1) file.part(second(at, [0, 2, 20].includes(at)), part);
    file.pause();
    const durations = Array.from({ length: file.count }, (_, number) => file.segment(number).duration);
    expect(durations).toEqual([2, 10, 8, 4]);
  });

  it('closes an extent where its segment ends, and never changes it again', () => {
    const io = new MemoryIo();
    const file = atOnce(openGrowingFile(io));
    const steps = runSteps({ seconds: 24, fps: 5, size: 300_000, audio: false });
    const sealed: number[] = [];
    for (const step of steps) {
      apply(file, step);
      if (file.sealed > io.fixed) sealed.push(file.sealed - io.fixed);
      // The memory refuses any write below.
      io.fixed = file.sealed;
    }
    expect(sealed).toHaveLength(3);
    for (const size of sealed) expect(size).toBeGreaterThanOrEqual(8 * MIB);
    const mdats = () => boxes(io.bytes).filter(({ type }) => type === 'mdat');
    const before = io.bytes.subarray(0, file.sealed);
    atOnce(file.finish());
    expect(Buffer.compare(io.bytes.subarray(0, before.length), before)).toBe(0);
    const extents = mdats();
    expect(extents.map(({ start, end }) => end - start)).toEqual([
      sealed[0] - 32,
      ...sealed.slice(1),
      expect.any(Number),
    ]);
    for (let number = 0; number < file.count; number += 1) {
      const { at, size } = file.segment(number);
      const inside = extents.filter(({ start, end }) => start + 8 <= at && at + size <= end);
      expect(inside).toHaveLength(1);
    }
    const again = atOnce(openGrowingFile(new MemoryIo(io.bytes.subarray(0, before.length))));
    expect(again.sealed).toBe(before.length);
    expect(again.cut).toBeUndefined();
  });

  it('gives the index that tells where its segments are', () => {
    const io = new MemoryIo();
    const file = fill(io, [...runSteps({ seconds: 2 }), ...runSteps({ seconds: 2, from: 100 })]);
    const index = readSegmentIndex(atOnce(file.finish())?.index ?? new Uint8Array(0));
    expect(index.inits).toEqual(file.inits.map((init) => JSON.parse(JSON.stringify(init))));
    expect(index.count).toBe(4);
    for (let number = 0; number < 4; number += 1) expect(index.segment(number)).toEqual(file.segment(number));
    const bits = [0, 1, 2, 3].map((number) => file.segment(number).size * 8);
    expect(index.bandwidth.average).toBe(Math.round(bits.reduce((sum, one) => sum + one, 0) / 4));
    expect(index.bandwidth.peak).toBe(Math.max(...bits));
  });

  it('gives a head in front of which the same film plays', () => {
    const io = new MemoryIo();
    const file = fill(io, [...runSteps({ seconds: 2, delay: 6000 }), ...runSteps({ seconds: 2, from: 100 })]);
    const head = atOnce(file.finish())?.head;
    if (head === undefined) throw new Error('it was not finished');
    const front = Buffer.concat([head.bytes, io.bytes.subarray(head.from, head.to)]);
    expect(boxes(front).map(({ type }) => type)).toEqual(['ftyp', 'moov', 'mdat']);
    const behind = readFilm(io.bytes);
    const before = readFilm(front);
    expect(before.tracks.map(({ samples }) => samples.length)).toEqual([120, 188]);
    for (const [number, track] of before.tracks.entries())
      for (const [place, { at, size }] of track.samples.entries()) {
        const other = behind.tracks[number].samples[place];
        expect(
          Buffer.compare(front.subarray(at, at + size), io.bytes.subarray(other.at, other.at + other.size)),
        ).toBe(0);
      }
  });

  it('answers a repeat the same, also when it is opened again', () => {
    const io = new MemoryIo();
    const file = fill(io, runSteps({ seconds: 2 }));
    const finished = atOnce(file.finish());
    const whole = io.bytes;
    expect(atOnce(file.finish())).toEqual(finished);
    expect(() => file.begin(initOf())).toThrow('a finished recording file cannot grow');
    const again = atOnce(openGrowingFile(io));
    expect(again.size).toBe(whole.length);
    expect(again.cut).toBeUndefined();
    expect(atOnce(again.finish())).toEqual(finished);
    expect(() => again.begin(initOf())).toThrow('a finished recording file cannot grow');
    expect(io.bytes).toEqual(whole);
  });

  it('mends a moov that has the right size and other bytes', () => {
    const io = new MemoryIo();
    const finished = atOnce(fill(io, runSteps({ seconds: 2 })).finish());
    const whole = io.bytes;
    const rotten = new MemoryIo(whole.map((byte, at) => (at > (finished?.head.to ?? 0) + 100 ? 0 : byte)));
    expect(atOnce(atOnce(openGrowingFile(rotten)).finish())).toEqual(finished);
    expect(rotten.bytes).toEqual(whole);
  });

  it('is nothing without samples', () => {
    const io = new MemoryIo();
    const file = atOnce(openGrowingFile(io));
    expect(atOnce(file.finish())).toBeUndefined();
    file.begin(initOf());
    file.pause();
    expect(atOnce(file.finish())).toBeUndefined();
    expect(io.size).toBe(0);
  });

  it('refuses what it could not read again', () => {
    const io = new MemoryIo();
    const file = atOnce(openGrowingFile(io));
    const part = { wallStart: 1, duration: 1, isIndependent: true, startsSegment: true };
    const bytes = fragmentOf({ video: [{ dts: 0, duration: 3000, size: 10 }] });
    expect(() => file.part(bytes, part)).toThrow('a part needs a `begin` before it');
    expect(() => file.begin({ ...initOf(), bytes: bytes.slice(0, 40) })).toThrow('ftyp and moov');
    file.begin(initOf());
    for (const broken of [
      new Uint8Array(0),
      bytes.subarray(0, 60),
      Uint8Array.of(...bytes, 0),
      bytes.fill(0xff, 20, 30),
    ])
      expect(() => file.part(broken, part)).toThrow('a part must be one moof and its mdat');
    const whole = fragmentOf({ video: [{ dts: 0, duration: 3000, size: 10 }] });
    expect(() => file.part(whole, { ...part, wallStart: Number.NaN })).toThrow('wallStart of a part is NaN');
    expect(io.size).toBe(0);
    file.part(whole, part);
    file.pause();
    expect(() => file.part(whole, part)).toThrow('a part needs a `begin` before it');
  });

  it('is as it was after a write that failed, wherever the disk was full', () => {
    const steps = runSteps({ seconds: 2, size: 10 });
    const good = new MemoryIo();
    const expected = atOnce(fill(good, steps).finish());
    for (let room = 0; room < good.size; room += 29) {
      const io = new MemoryIo();
      const file = atOnce(openGrowingFile(io));
      io.room = room;
      let failed = 0;
      const insist = (act: () => void) => {
        try {
          act();
        } catch (error) {
          expect(String(error)).toContain('ENOSPC');
          failed += 1;
          const { count } = file;
          const known = atOnce(openGrowingFile(new MemoryIo(io.bytes)));
          expect(known.count).toBeGreaterThanOrEqual(count);
          io.room = Number.POSITIVE_INFINITY;
          act();
        }
      };
      for (const step of steps) insist(() => apply(file, step));
      let finished: FinishedFile | undefined;
      insist(() => {
        finished = atOnce(file.finish());
      });
      expect(failed).toBe(1);
      expect(finished?.spec).toEqual(expected?.spec);
      expect(Buffer.compare(finished?.index ?? NOTHING, expected?.index ?? NOTHING)).toBe(0);
      expect(Buffer.compare(io.bytes, good.bytes)).toBe(0);
    }
  });

  it('leaves nothing behind its end of a part that did not fit and was left out', () => {
    const io = new MemoryIo();
    const file = fill(io, runSteps({ seconds: 1 }));
    const [begin, large] = runSteps({ seconds: 1, size: 5000 });
    apply(file, begin);
    io.room = 20_000;
    expect(() => apply(file, large)).toThrow('ENOSPC');
    io.room = Number.POSITIVE_INFINITY;
    file.pause();
    for (const step of runSteps({ seconds: 1, size: 5, audio: false })) apply(file, step);
    expect(io.size).toBe(file.size);
    expect(atOnce(openGrowingFile(new MemoryIo(io.bytes))).cut).toBeUndefined();
  });
});
