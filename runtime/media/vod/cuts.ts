import { Refusal } from '../mp4/inspect/boxes.ts';

/** Seconds of a segment: at least, about, and at most where a key frame allows it. */
export const minSegment = 2;
const targetSegment = 4;
const maxSegment = 6;
/** Seconds after which a segment ends without a key frame: players begin there only with what is before it. */
const segmentLimit = 20;
/** Samples of one track in a segment. */
export const maxSegmentSamples = 10_000;
const maxSegments = 200_000;

/** Where a segment begins. */
export interface Cut {
  /** Number of the first sample of the leading track in it. */
  readonly number: number;
  /** Seconds. */
  readonly time: number;
  /** Which configuration of the leading track it has. */
  readonly entry: number;
}

export interface LeadingSample {
  readonly number: number;
  /** When it is shown, seconds. */
  readonly time: number;
  readonly isSync: boolean;
  readonly entry: number;
}

/**
 * Where the segments of a film begin: at key frames, so that they last between `minSegment` and `maxSegment` and about
 * `targetSegment` where key frames allow it, and wherever the configuration changes. Takes the samples of the leading track
 * one after another.
 */
export class Cuts {
  readonly #cuts: Cut[];
  /** The last key frame in the segment that is long enough to end there. */
  #candidate: LeadingSample | undefined;

  constructor(first: Cut) {
    this.#cuts = [first];
  }

  get all(): readonly Cut[] {
    return this.#cuts;
  }

  get #last(): Cut {
    return this.#cuts[this.#cuts.length - 1];
  }

  take(sample: LeadingSample): void {
    const { number, time, isSync, entry } = sample;
    if (number === this.#last.number) return;
    if (entry !== this.#last.entry) {
      this.cut(sample);
      return;
    }
    if (isSync) {
      if (this.#candidate !== undefined && time - this.#last.time > maxSegment) this.cut(this.#candidate);
      const lasts = time - this.#last.time;
      if (lasts >= targetSegment) this.cut(sample);
      else if (lasts >= minSegment) this.#candidate = sample;
    }
    const { number: begin, time: start } = this.#last;
    if (number - begin >= maxSegmentSamples || time - start >= segmentLimit)
      this.cut(this.#candidate ?? sample);
  }

  cut({ number, time, entry }: Cut): void {
    this.#candidate = undefined;
    if (this.#cuts.length >= maxSegments)
      throw new Refusal(`it would have more than ${maxSegments} segments`);
    this.#cuts.push({ number, time: Math.max(time, this.#last.time), entry });
  }

  /** The leading track is over, at this time: what is left is not longer than it need be. */
  end(time: number): void {
    if (this.#candidate !== undefined && time - this.#last.time > maxSegment) this.cut(this.#candidate);
  }

  /** Cuts where the leading track has nothing, from the last cut to `until`. */
  fill(until: number, { number, entry }: Omit<Cut, 'time'>): void {
    for (;;) {
      const time = this.#last.time + targetSegment;
      if (until - time < minSegment) return;
      this.cut({ number, time, entry });
    }
  }
}
