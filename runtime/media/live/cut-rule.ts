import { type OutputConfig, segmentLimit, segmentTarget } from './config.ts';
import type { Track } from './track.ts';

/** What ends in front of a sample. */
export const NOTHING = 0;
export const PART = 1;
export const SEGMENT = 2;

/**
 * When parts and segments end. Where a playlist begins afresh, its first segment is one part, as short as may be,
 * so that players of any kind can start at once; the second ends at the next key frame; then, and from the start
 * where players come from earlier segments, segments last as configured. Only the first of a playlist never waits
 * long for a key frame, because players wait for it.
 */
export class CutRule {
  /** Where the part and the segment that are being made began, ticks of the leading track. */
  partStart = 0;
  segmentStart = 0;
  /** Segments ended in this publish. */
  segments = 0;
  #stage = ORDINARY;
  readonly #partTarget: number;
  readonly #segmentBytes: number;
  /** Longest sample of late, ticks, and the sample that was last measured. */
  #stride = 0;
  #seen = -1;

  constructor(config: OutputConfig) {
    this.#partTarget = config.partTarget;
    this.#segmentBytes = config.segmentBytes;
  }

  /**
   * `isFresh`: no player comes from earlier segments. One that does plays parts, and stalls on a segment that is one.
   * `isAwaited`: the playlist works when this segment is listed.
   */
  begin(start: number, { isFresh, isAwaited }: { isFresh: boolean; isAwaited: boolean }): void {
    this.#stage = isFresh ? SHORT : isAwaited ? AWAITED : ORDINARY;
    this.partStart = this.segmentStart = start;
    this.#stride = 0;
    this.#seen = -1;
  }

  /** What ends in front of the sample at `cursor`; `openBytes`: size of the segment so far. */
  ends(lead: Track, cursor: number, openBytes: number): number {
    const end = lead.dts(cursor);
    // Frames come unevenly: the next may last as long as one just did. A sample may be looked at again.
    if (end !== this.#seen) this.#stride = Math.max(end - lead.dts(cursor - 1), this.#stride * 0.9);
    this.#seen = end;
    if (this.isLong(lead, end, openBytes)) return SEGMENT;
    const { timescale } = lead;
    const target = this.#partTarget;
    const part = (end - this.partStart) / timescale;
    const isFull =
      this.#stage === SHORT
        ? part >= SHORTEST
        : part >= target * 0.85 && part + this.#stride / timescale > target + 1e-6;
    const endsHere = lead.isVideo && this.#stage !== SHORT ? lead.isSync(cursor) : isFull;
    if (this.#stage === AWAITED && isFull && (end - this.segmentStart) / timescale >= LONGEST_AWAITED)
      return SEGMENT;
    if (endsHere && (end - this.segmentStart) / timescale >= this.#minimum(lead)) return SEGMENT;
    return isFull ? PART : NOTHING;
  }

  /** The segment cannot wait for a key frame any longer. */
  isLong(lead: Track, end: number, openBytes: number): boolean {
    return (end - this.segmentStart) / lead.timescale >= segmentLimit || openBytes > this.#segmentBytes;
  }

  /** A part ended at `end`, and with it the segment when `isSegment`. */
  ended(end: number, isSegment: boolean): void {
    this.partStart = end;
    if (!isSegment) return;
    this.segmentStart = end;
    this.segments += 1;
    this.#stage = this.#stage === SHORT ? REST : ORDINARY;
  }

  /** Seconds. */
  #minimum(lead: Track): number {
    if (this.#stage === SHORT) return 0;
    return this.#stage === REST && lead.isVideo ? SHORTEST : segmentTarget;
  }
}

/** Which segment it is: the short first one, the rest of its group of pictures, the first after a gap, any other. */
const SHORT = 0;
const REST = 1;
const AWAITED = 2;
const ORDINARY = 3;
/** Seconds: half of the time that a request waits for a playlist after a restart. */
const LONGEST_AWAITED = 4;

/** Shortest segment, seconds: media sequence numbers of later processes count on it. */
export const SHORTEST = 0.25;
