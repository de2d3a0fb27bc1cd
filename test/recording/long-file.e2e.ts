import { describe, expect, it } from 'vitest';
import { openGrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import type { Steps } from '../../runtime/media/recording/file/steps.ts';
import { atOnce } from './at-once.ts';
import { apply, fragmentOf, initOf, runSteps } from './fragments.ts';
import { MemoryIo } from './memory-io.ts';
import { readFilm } from './read-film.ts';
import { SparseIo } from './sparse-io.ts';

const MIB = 1_048_576;

describe('a long recording file', () => {
  it('is opened and finished in pieces that do not grow with it', () => {
    const measured = [600, 1800].map((seconds) => {
      const io = new MemoryIo();
      const file = atOnce(openGrowingFile(io));
      for (const step of runSteps({ seconds })) apply(file, step);
      const pieces = <T>(steps: Steps<T>) => {
        const all: { reads: number; written: number }[] = [];
        for (;;) {
          const before = { reads: io.reads, written: io.written };
          const step = steps.next();
          all.push({ reads: io.reads - before.reads, written: io.written - before.written });
          if (step.done) return { value: step.value, all };
        }
      };
      const opened = pieces(openGrowingFile(io));
      const finished = pieces(opened.value.finish());
      const again = pieces(atOnce(openGrowingFile(io)).finish());
      expect(again.value).toEqual(finished.value);
      return { moov: (finished.value?.head.bytes.length ?? 0) - 24, opened, finished, again };
    });
    for (const { moov, opened, finished, again } of measured) {
      for (const { all } of [opened, finished, again]) {
        expect(Math.max(...all.map(({ reads }) => reads))).toBeLessThan(250);
        expect(Math.max(...all.map(({ written }) => written))).toBeLessThanOrEqual(MIB / 4);
      }
      expect(finished.all.reduce((sum, { written }) => sum + written, 0)).toBeGreaterThanOrEqual(moov);
    }
    const [short, long] = measured;
    expect(short.opened.all.length).toBeGreaterThan(5);
    for (const name of ['opened', 'finished', 'again'] as const)
      expect(long[name].all.length).toBeGreaterThan(2 * short[name].all.length);
  });

  it('grows beyond 4 GiB', () => {
    const io = new SparseIo({ kept: 65_536 });
    const file = atOnce(openGrowingFile(io));
    const size = 32 * MIB;
    const bytes = fragmentOf({
      video: [{ dts: 0, duration: 90_000, size }],
      audio: [{ dts: 0, duration: 48_000, size: 5 }],
    });
    const view = new DataView(bytes.buffer);
    file.begin(initOf());
    const count = 140;
    for (let second = 0; second < count; second += 1) {
      // The decode times of its two tracks: version 1 of tfdt, second word.
      view.setUint32(24 + 8 + 20 + 16, second * 90_000);
      view.setUint32(24 + 84 + 8 + 20 + 16, second * 48_000);
      file.part(bytes, { wallStart: second * 1000, duration: 1, isIndependent: true, startsSegment: true });
    }
    const finished = atOnce(file.finish());
    expect(file.size).toBeGreaterThan(2 ** 32);
    const tail = new Uint8Array(file.size - (finished?.head.to ?? 0));
    io.read(finished?.head.to ?? 0, tail);
    const { tracks } = readFilm(tail);
    const shifted = readFilm(finished?.head.bytes ?? tail);
    for (const [number, track] of tracks.entries()) {
      expect(track.samples).toHaveLength(count);
      for (let second = 0; second < count; second += 1) {
        const inFragment = 24 + 84 + 76 + 8 + (number === 0 ? 0 : size);
        expect(track.samples[second].at).toBe(file.segment(second).at + inFragment);
        expect(shifted.tracks[number].samples[second].at).toBe(track.samples[second].at + tail.length);
      }
    }
    // What is kept of it is found again.
    const again = atOnce(openGrowingFile(io));
    expect(again.count).toBe(count);
    expect(atOnce(again.finish())).toEqual(finished);
  });
});
