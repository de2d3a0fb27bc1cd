/** Sizes and times of a live output. `DEFAULTS` are those of the specification. */
export interface OutputConfig {
  /** Greatest duration of a part, seconds; parts last at least 85 % of it. */
  readonly partTarget: number;
  /** A segment ends at the first key frame after this many seconds. */
  readonly segmentTarget: number;
  /** EXT-X-TARGETDURATION, seconds, unless key frames are further apart. */
  readonly targetDuration: number;
  /** At least this many seconds are listed. */
  readonly window: number;
  /** Without a key frame a segment is cut after this many seconds. */
  readonly segmentLimit: number;
  /** And when it has this many bytes. */
  readonly segmentBytes: number;
  /** Most bytes the window may keep; the publish that fills it further ends. */
  readonly windowBytes: number;
  /** Most bytes each arena may hold. */
  readonly arenaLimit: number;
  /** Most samples of a track that may wait for a part. */
  readonly sampleLimit: number;
  /** Most requests that may wait at a time. */
  readonly waiterLimit: number;
  /** Longest a blocked reload waits while nobody publishes, milliseconds. */
  readonly heldWait: number;
}

export const DEFAULTS: OutputConfig = {
  partTarget: 0.35,
  segmentTarget: 2,
  targetDuration: 4,
  window: 12,
  segmentLimit: 20,
  segmentBytes: 50 * 1024 * 1024,
  windowBytes: 256 * 1024 * 1024,
  arenaLimit: 32 * 1024 * 1024,
  sampleLimit: 4096,
  waiterLimit: 10_000,
  heldWait: 8000,
};
