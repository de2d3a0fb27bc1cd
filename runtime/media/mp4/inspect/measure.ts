import { inspectionLimits } from './limits.ts';
import { Refusal } from './refusal.ts';
import type { SampleCursor } from './samples.ts';

/** What the samples of a track come to. */
export interface Measure {
  readonly samples: number;
  readonly bytes: number;
  /** What they last together, ticks. */
  readonly ticks: number;
  /** When the first is decoded and shown, ticks. */
  readonly firstDts: number;
  readonly firstPts: number;
  /** Where the last one ends, ticks. */
  readonly end: number;
}

export const nothing: Measure = { samples: 0, bytes: 0, ticks: 0, firstDts: 0, firstPts: 0, end: 0 };

/**
 * Looks at every sample: each must lie in the file, and none may last or be moved longer than the limits. All samples
 * together may have no more bytes than the file, and most must have some, or a small file could be made to look like any
 * large one.
 */
export function measure(
  cursor: SampleCursor,
  options: {
    readonly label: string;
    readonly timescale: number;
    readonly fileSize: number;
    /** What was measured of this track before. */
    readonly before: Measure;
  },
): Measure {
  const { label, timescale, fileSize, before } = options;
  const longest = inspectionLimits.sampleDuration.value * timescale;
  const farthest = inspectionLimits.sampleShift.value * timescale;
  let { samples, bytes, ticks, firstDts, firstPts, end } = before;
  while (cursor.next()) {
    const { at, size, dts, duration, shift } = cursor;
    if (samples === 0) {
      firstDts = dts;
      firstPts = dts + shift;
    }
    samples += 1;
    bytes += size;
    ticks += duration;
    end = dts + duration;
    if (!(at >= 0 && at + size <= fileSize))
      throw new Refusal(
        `it is cut off: sample ${samples} of ${label} lies at bytes ${at} to ${at + size}, and the file has ${fileSize}`,
      );
    if (bytes > fileSize)
      throw new Refusal(`the samples of ${label} have more bytes together than the file (${fileSize})`);
    if (samples > fileSize) throw new Refusal(`${label} has more samples than bytes`);
    if (duration > longest)
      throw new Refusal(
        `sample ${samples} of ${label} claims to last ${Math.round(duration / timescale)} s; expected ${inspectionLimits.sampleDuration.value} s at most`,
      );
    if (shift > farthest || shift < -farthest)
      throw new Refusal(
        `sample ${samples} of ${label} is shown ${Math.round(shift / timescale)} s after it is decoded; expected ${inspectionLimits.sampleShift.value} s at most`,
      );
  }
  if (samples > bytes) throw new Refusal(`${label} has more samples than bytes`);
  return { samples, bytes, ticks, firstDts, firstPts, end };
}
