/** A point of the history is of this long, ms. */
export const pointLength = 5000;
/** Points kept of a session; older ones are overwritten. 720 × 5 s = 1 h, 29 KB. */
export const mostPoints = 720;
/** The history of a session stays readable so long after its playlist went, ms. */
export const keptAfter = 600_000;
/** Histories of sessions that are over, at one time; with more, the one that ended first is let go. */
export const mostEnded = 1000;
/** Between two `stream.health` events of a stream lies at least this, ms; then only the last change counts. */
export const eventInterval = 10_000;
/** Texts of the media itself that the history of one session can tell apart; others are in no point. */
export const mostTexts = 12;

/** What is too much or too little. Times in ms unless said otherwise. */
export const thresholds = {
  /** A problem is shown until it has not been seen for this long. */
  clearAfter: 5000,
  /** Rates are over this many readings, one a second. */
  readings: 5,
  /** Nothing received at all. */
  stall: 2000,
  /** Media time between key frames: 4 s, and what rounding adds. */
  keyFrames: 4050,
  /** A track that was there or announced is missing. */
  missing: 3000,
  /** Rates are judged once a publish is this old: encoders begin with a burst. */
  settled: 6000,
  /** Bit rate: this share of the usual one is a collapse, when that is at least so many bit/s … */
  collapse: 0.15,
  collapseFrom: 300_000,
  /** … and the publish is this old. Usual is an average over about 30 s. */
  usualFrom: 15_000,
  /** Share of the frame rate that the encoder announced. */
  fewFrames: 0.7,
  manyFrames: 1.5,
  /** Standard deviation of the steps between frames by their mean. */
  irregular: 0.6,
  /** Difference of the delay with which media arrives, within 5 s. */
  jitter: 1000,
  /** Media missing within 5 s. */
  dropped: 300,
  /** Sound ahead of or behind the picture. */
  drift: 1000,
} as const;
