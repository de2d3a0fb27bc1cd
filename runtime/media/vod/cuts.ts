import { Refusal } from '../mp4/inspect/boxes.ts';
import { onDemandLimits } from './limits.ts';

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
 * Where the segments of a film begin: at key frames, so that they last between `segmentLeast` and `segmentMost` and about
 * `segmentTarget` where key frames allow it, and wherever the configuration changes. Takes the samples of the leading track
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
    const { segmentLeast, segmentTarget, segmentMost, segmentLimit, segmentSamples } = onDemandLimits;
    const { number, time, isSync, entry } = sample;
    if (number === this.#last.number) return;
    if (entry !== this.#last.entry) {
      this.cut(sample);
      return;
    }
    if (isSync) {
      if (this.#candidate !== undefined && time - this.#last.time > segmentMost.value)
        this.cut(this.#candidate);
      const lasts = time - this.#last.time;
      if (lasts >= segmentTarget.value) this.cut(sample);
      else if (lasts >= segmentLeast.value) this.#candidate = sample;
    }
    const { number: begin, time: start } = this.#last;
    if (number - begin >= segmentSamples.value || time - start >= segmentLimit.value)
      this.cut(this.#candidate ?? sample);
  }

  cut({ number, time, entry }: Cut): void {
    this.#candidate = undefined;
    if (this.#cuts.length >= onDemandLimits.segments.value)
      throw new Refusal(`it would have more than ${onDemandLimits.segments.value} segments`);
    this.#cuts.push({ number, time: Math.max(time, this.#last.time), entry });
  }

  /** The leading track is over, at this time: what is left is not longer than it need be. */
  end(time: number): void {
    if (this.#candidate !== undefined && time - this.#last.time > onDemandLimits.segmentMost.value)
      this.cut(this.#candidate);
  }

  /** Cuts where the leading track has nothing, from the last cut to `until`. */
  fill(until: number, { number, entry }: Omit<Cut, 'time'>): void {
    const { segmentTarget, segmentLeast } = onDemandLimits;
    for (;;) {
      const time = this.#last.time + segmentTarget.value;
      if (until - time < segmentLeast.value) return;
      this.cut({ number, time, entry });
    }
  }
}
