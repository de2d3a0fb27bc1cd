/** What live playlists are made with. Seconds and bytes. */
export interface OutputConfig {
  /** A part lasts 85 to 100 % of this, and longer where frames are further apart. */
  readonly partTarget: number;
  /** Media that is listed. */
  readonly window: number;
  /** Requests of one broadcast that may wait at once. */
  readonly waiterLimit: number;
  /** A segment that grows beyond this is cut without a key frame. */
  readonly segmentBytes: number;
  /** All media that one playlist keeps; beyond, the broadcast ends. */
  readonly windowBytes: number;
  /** Media of one track that waits for its part; beyond, the connection is closed. */
  readonly arenaLimit: number;
  /** Samples of one track that wait for their part; beyond, the broadcast ends. */
  readonly sampleLimit: number;
}

export const outputDefaults: OutputConfig = {
  partTarget: 0.35,
  window: 12,
  waiterLimit: 20_000,
  segmentBytes: 50 * 1024 * 1024,
  windowBytes: 256 * 1024 * 1024,
  arenaLimit: 32 * 1024 * 1024,
  sampleLimit: 4096,
};

/** A segment ends at the first key frame after this many seconds. */
export const segmentTarget = 2;
/** A segment without a key frame is cut after this many seconds. */
export const segmentLimit = 20;
/** EXT-X-TARGETDURATION, seconds; it grows with the distance of key frames. */
export const targetDuration = 4;
/**
 * Seconds by which a variant may end before the source and still be offered. Viewers of the source are held back by as much, so
 * that they find in a variant what follows.
 */
export const variantLag = 2;
