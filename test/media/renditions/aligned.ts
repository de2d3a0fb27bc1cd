import { expect } from 'vitest';
import type { Viewer } from '../../hls/viewer.ts';
import { picturesOf } from './kit.ts';
import { shownOf } from './process.ts';

/**
 * Every segment that a rendition had is the source's: number, length, date, discontinuities, sound, decode times, and key frames in
 * front. `isEach`: with all its parts, and a picture for each of the source's.
 */
export function expectAligned(rendition: Viewer, source: Viewer, { isEach = true } = {}): void {
  const own = new Map(source.segments.map((segment) => [segment.sequence, segment]));
  const missing: number[] = [];
  for (const segment of rendition.segments) {
    const { sequence } = segment;
    const other = own.get(sequence);
    if (other === undefined) throw new Error(`the source has no segment ${sequence}`);
    const told = ({ duration, wall, discontinuities, parts }: typeof segment) => ({
      ...{ sequence, duration, wall, discontinuities },
      parts: isEach ? parts.map((part) => part.duration) : [],
    });
    expect(told(segment)).toEqual(told(other));
    expect(soundOf(rendition, sequence)).toEqual(soundOf(source, sequence));
    expect(decodedIn(rendition, sequence)).toEqual(decodedIn(source, sequence));
    const pictures = picturesOf(rendition, sequence);
    // Each is where it was put, and not one of its neighbours.
    expect(pictures.map(({ shown }) => shown)).toEqual(pictures.map(({ bytes }) => shownOf(bytes)));
    const sourced = picturesOf(source, sequence);
    const keys = new Set(pictures.filter(({ isKey }) => isKey).map(({ shown }) => shown));
    missing.push(
      ...sourced.filter(({ isKey, shown }) => isKey && !keys.has(shown)).map(({ shown }) => shown),
    );
    if (isEach) expect(pictures).toHaveLength(sourced.length);
  }
  expect(missing).toEqual([]);
}

/** Samples of sound, and when they are. */
function soundOf(viewer: Viewer, sequence: number): unknown[] {
  const runs = viewer.runs.filter((run) => run.sequence === sequence && run.track === 2);
  const samples = runs.flatMap((run) => run.samples);
  return [
    runs[0]?.start,
    runs.at(-1)?.end,
    ...samples.map(({ duration, bytes }) => [duration, Bun.hash(bytes)]),
  ];
}

/** When the first picture is decoded, and what follows the last. */
function decodedIn(viewer: Viewer, sequence: number): (number | undefined)[] {
  const runs = viewer.runs.filter((run) => run.sequence === sequence && run.track === 1);
  return [runs[0]?.start, runs.at(-1)?.end];
}
