import { Refusal } from './boxes.ts';

/** Most samples of all tracks together: each is looked at. */
export const maxSamples = 16_000_000;
/** Seconds that one sample may last, that a fragment may begin after the one before, and a track after the film. */
export const maxSampleSeconds = 600;
/** Seconds from when a sample is decoded to when it is shown. */
const maxShiftSeconds = 600;

/** Walks over the samples of a track in the order they are decoded. What is on it is of the sample it stands on. */
export interface SampleCursor {
  /** Goes on to the next sample. False: there is none. A Refusal when it cannot be. */
  next(): boolean;
  /** Place of its first byte in the file. */
  readonly at: number;
  /** Bytes. */
  readonly size: number;
  /** When it is decoded, ticks. */
  readonly dts: number;
  /** Ticks. */
  readonly duration: number;
  /** When it is shown after it is decoded, ticks; may be negative. */
  readonly shift: number;
  /** A decoder can begin here. */
  readonly isSync: boolean;
  /** Which sample entry it needs, from 1. */
  readonly entry: number;
}

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
  const longest = maxSampleSeconds * timescale;
  const farthest = maxShiftSeconds * timescale;
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
        `sample ${samples} of ${label} claims to last ${Math.round(duration / timescale)} s; expected ${maxSampleSeconds} s at most`,
      );
    if (shift > farthest || shift < -farthest)
      throw new Refusal(
        `sample ${samples} of ${label} is shown ${Math.round(shift / timescale)} s after it is decoded; expected ${maxShiftSeconds} s at most`,
      );
  }
  if (samples > bytes) throw new Refusal(`${label} has more samples than bytes`);
  return { samples, bytes, ticks, firstDts, firstPts, end };
}
