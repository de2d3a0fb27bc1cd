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
