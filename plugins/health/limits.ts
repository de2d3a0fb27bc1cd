import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

/** What is kept of the health of broadcasts, and how often it is told. */
export const healthLimits = limitTable('health', {
  pointLength: {
    value: 5000,
    unit: 'ms',
    meaning: 'One point of the history.',
    beyond: 'The next point begins.',
  },
  mostPoints: {
    value: 720,
    unit: 'points',
    meaning: 'Points kept of a session: 720 × 5 s = 1 h, 29 KB.',
    beyond: 'The oldest is overwritten.',
  },
  keptAfter: {
    value: 600_000,
    unit: 'ms',
    meaning: 'How long the history of a session stays readable after its playlist went.',
    beyond: 'It is forgotten.',
  },
  mostEnded: {
    value: 1000,
    unit: 'sessions',
    meaning: 'Histories of sessions that are over.',
    beyond: 'The one that ended first is let go.',
  },
  eventInterval: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Shortest time between two `stream.health` events of a stream.',
    beyond: 'Only the last change counts.',
  },
  mostTexts: {
    value: 12,
    unit: 'texts',
    meaning: 'Texts of the media itself that the history of one session can tell apart.',
    beyond: 'Others are in no point.',
  },
});

export const { pointLength, mostPoints, keptAfter, mostEnded, eventInterval, mostTexts } =
  valuesOf(healthLimits);

const issue = 'It is an issue.';

/** What is too much or too little. */
export const healthThresholds = limitTable('health', {
  clearAfter: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long a problem is shown after it was last seen.',
    beyond: 'It is no issue any more.',
  },
  readings: {
    value: 5,
    unit: 'readings',
    meaning: 'Readings, one a second, that rates are taken over.',
    beyond: 'Older ones do not count.',
  },
  stall: {
    value: 2000,
    unit: 'ms',
    meaning: 'Nothing received at all.',
    beyond: issue,
  },
  keyFrames: {
    value: 4050,
    unit: 'ms',
    meaning: 'Media time between key frames: 4 s, and what rounding adds.',
    beyond: issue,
  },
  missing: {
    value: 3000,
    unit: 'ms',
    meaning: 'Nothing of a track that was there or announced.',
    beyond: issue,
  },
  settled: {
    value: 4000,
    unit: 'ms',
    meaning:
      'Age of a publish before its rates are judged, encoders begin with a burst; and after a delay of the server itself.',
    beyond: 'They are judged.',
  },
  collapse: {
    value: 0.15,
    unit: 'of the usual bitrate',
    meaning: 'A bitrate below this has collapsed.',
    beyond: 'Below it, it is an issue.',
  },
  collapseFrom: {
    value: 300_000,
    unit: 'bit/s',
    meaning: 'Usual bitrate below which no collapse is seen.',
    beyond: 'A collapse is an issue.',
  },
  usualFrom: {
    value: 15_000,
    unit: 'ms',
    meaning: 'Age of a publish before a collapse is seen. Usual is an average over about 30 s.',
    beyond: 'It is seen.',
  },
  fewFrames: {
    value: 0.7,
    unit: 'of the announced frame rate',
    meaning: 'Fewer frames than this are few.',
    beyond: 'Below it, it is an issue.',
  },
  manyFrames: {
    value: 1.5,
    unit: 'of the announced frame rate',
    meaning: 'More frames than this are many.',
    beyond: issue,
  },
  irregular: {
    value: 0.6,
    unit: 'of their mean',
    meaning: 'Standard deviation of the steps between frames.',
    beyond: issue,
  },
  jitter: {
    value: 1000,
    unit: 'ms',
    meaning: 'Difference of the delay with which media arrives, within 5 s.',
    beyond: issue,
  },
  dropped: {
    value: 300,
    unit: 'ms',
    meaning: 'Media missing within 5 s.',
    beyond: issue,
  },
  drift: {
    value: 1000,
    unit: 'ms',
    meaning: 'Sound ahead of or behind the picture.',
    beyond: issue,
  },
});

export const thresholds = valuesOf(healthThresholds);
