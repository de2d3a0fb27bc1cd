import { describe, expect, it } from 'vitest';
import { compare } from './alignment.ts';
import { gapsIn, strangers } from './shown-numbers.ts';
import { listen } from './steady-tone.ts';
import type { SeenSegment } from './variants.ts';

// The kit of the live tests finds what it is there to find.

const rate = 48_000;
const tone = (seconds: number) =>
  Float32Array.from({ length: seconds * rate }, (_, n) => 0.3 * Math.sin((2 * Math.PI * 440 * n) / rate));
const heard = (sound: Float32Array) => listen(sound, { frequency: 440 });

describe('a steady tone', () => {
  it('has no break', () => expect(heard(tone(4)).breaks).toEqual([]));

  it('has one where 5 ms are silent', () => {
    const sound = tone(4);
    sound.fill(0, 2 * rate, 2 * rate + 240);
    expect(heard(sound).breaks).toEqual([1.5]);
  });

  it('has one where samples are missing or come twice', () => {
    const sound = tone(4);
    for (const [to, from] of [
      [2 * rate, 2 * rate + 40],
      [2 * rate, 2 * rate - 40],
    ]) {
      const cut = Float32Array.from([...sound.subarray(0, to), ...sound.subarray(from)]);
      expect(heard(cut).breaks).toHaveLength(1);
    }
  });

  it('is not heard in silence', () => expect(heard(new Float32Array(4 * rate)).breaks).toEqual([0]));
});

describe('numbers', () => {
  const shown = (...numbers: (number | null)[]) =>
    numbers.map((number, time) => ({ number, time, sequence: 1 }));

  it('go on by one, over the end of the clip', () =>
    expect(gapsIn(shown(8, 9, 0, 1), { of: 10 })).toEqual([]));

  it.each([[[1, 2, 4]], [[1, 2, 2]], [[1, null, 3]], [[2, 1]]])('%j do not', (numbers) =>
    expect(gapsIn(shown(...numbers), { of: 10 })).toHaveLength(1),
  );

  it('go on by two where every other picture is left out', () =>
    expect(gapsIn(shown(6, 8, 0, 2), { of: 10, step: 2 })).toEqual([]));

  it('of a rendition are those of the source at the same time', () => {
    expect(strangers(shown(1, 2, 3), shown(1, 2, 3))).toEqual([]);
    expect(strangers(shown(1, 2, 3), shown(1, 3, 3))).toHaveLength(1);
    expect(strangers(shown(1, 2, 3).toSpliced(1, 1), shown(1, 2, 3))).toHaveLength(1);
  });
});

describe('a rendition', () => {
  interface Made {
    start?: number;
    cts?: number;
    pictures?: number;
    sound?: number;
    wall?: number;
    duration?: number;
    isSync?: boolean;
    parts?: number;
  }
  const made = (change: Made = {}): ReadonlyMap<number, SeenSegment> => {
    const { start = 900_000, cts = 3000, pictures = 10, sound = 7, wall = 5000, duration = 0.5 } = change;
    const sample = { size: 1, first: 0, bytes: new Uint8Array([1]) };
    const video = (part: number) => ({
      track: 1,
      start: start + part * 45_000,
      end: start + (part + 1) * 45_000,
      samples: Array.from({ length: pictures }, (_, n) => {
        const isSync = part === 0 && n === 0 && (change.isSync ?? true);
        return { ...sample, duration: 45_000 / pictures, cts, isSync };
      }),
    });
    const audio = (part: number) => ({
      track: 2,
      start: 480_000 + part * 24_000,
      end: 480_000 + (part + 1) * 24_000,
      samples: [{ ...sample, bytes: new Uint8Array([sound]), duration: 24_000, cts: 0, isSync: true }],
    });
    const tracks = ['vide', 'soun'].map((handler, n) => ({ id: n + 1, handler }));
    const parts = Array.from({ length: change.parts ?? 4 }, (_, part) => ({
      duration,
      isIndependent: part === 0 && (change.isSync ?? true),
      runs: [video(part), audio(part)],
    }));
    const segment = { sequence: 7, discontinuities: 1, uri: 's', map: 'm', wall, duration: 4 * duration };
    const one = { ...segment, tracks, parts, bytes: [] } as unknown as SeenSegment;
    return new Map([7, 8].map((sequence) => [sequence, { ...one, sequence }]));
  };

  it('is aligned with itself', () => {
    expect(compare(made(), made())).toMatchObject({ differences: [], parts: 8, pictures: 80, sounds: 8 });
  });

  it.each<[string, Made]>([
    ['the date', { wall: 5001 }],
    ['a duration', { duration: 0.51 }],
    ['the number of parts', { parts: 3 }],
    ['decode times', { start: 900_001 }],
    ['presentation times', { cts: 3001 }],
    ['the number of pictures', { pictures: 9 }],
    ['a byte of sound', { sound: 8 }],
    ['the key frame', { isSync: false }],
  ])('is not when %s differs', (_, change) => {
    expect(compare(made(), made(change)).differences.length).toBeGreaterThan(0);
  });

  it('may have fewer pictures, but only at times of the source', () => {
    expect(compare(made(), made({ pictures: 5 }), { hasFewer: true }).differences).toEqual([]);
    expect(compare(made(), made({ pictures: 4 }), { hasFewer: true }).differences).toHaveLength(1);
  });
});
