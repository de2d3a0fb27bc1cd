import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

const none = '404 `still.none`.';

/** What pictures of broadcasts and films may cost. */
export const stillLimitTable = limitTable('stills', {
  running: {
    value: 2,
    unit: 'pictures',
    meaning: 'Pictures and storyboards that are made at one time, each by a process of ffmpeg.',
    beyond: 'Others wait for their turn.',
    key: 'stills.running',
  },
  waiting: {
    value: 32,
    unit: 'pictures',
    meaning: 'Different pictures that wait for their turn.',
    beyond: '503 `still.busy` with `Retry-After`.',
  },
  perSource: {
    value: 4,
    unit: 'pictures',
    meaning:
      'Different pictures of one broadcast or film that are made or wait, beside its storyboard and the picture that it has where no `time` is named.',
    beyond: '503 `still.busy` with `Retry-After`.',
  },
  requests: {
    value: 2000,
    unit: 'requests',
    meaning: 'Requests that wait for pictures.',
    beyond: '503 `still.busy` with `Retry-After`.',
  },
  deadline: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long one picture may take, from its turn on: reading and decoding.',
    beyond: 'Its process is killed: 503 `still.failed`.',
    key: 'stills.deadline',
  },
  sheetDeadlines: {
    value: 4,
    unit: 'times',
    meaning: 'How many times as long a storyboard may take.',
    beyond: 'The same.',
  },
  patience: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a picture may wait for its turn.',
    beyond: '503 `still.busy` with `Retry-After`.',
  },
  memory: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Pictures that are kept.',
    beyond: 'Those asked for longest ago are made again when they are asked for.',
    key: 'stills.memory',
  },
  failureKept: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long it is remembered that a picture took too long or broke.',
    beyond: 'It is tried again when it is asked for.',
  },
  noneKept: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long it is remembered that there is no picture in something that does not change.',
    beyond: 'It is looked at again when it is asked for.',
  },
  inputBytes: {
    value: 32 * 1_048_576,
    unit: 'bytes',
    meaning: 'What is read of a segment to come to one picture.',
    beyond: none,
  },
  keyFrame: { value: 16 * 1_048_576, unit: 'bytes', meaning: 'One key frame.', beyond: none },
  outputBytes: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'One JPEG.',
    beyond: 'Its process is killed: 503 `still.failed`.',
  },
  sourcePixels: {
    value: 8192 * 4352,
    unit: 'pixels',
    meaning: 'The picture that it is made of: by what its file says, and by what the decoder finds.',
    beyond: none,
  },
  indexBytes: { value: 1_048_576, unit: 'bytes', meaning: 'The `moof` box of one fragment.', beyond: none },
  initBytes: { value: 65_536, unit: 'bytes', meaning: 'One init segment.', beyond: none },
  fragments: { value: 1000, unit: 'fragments', meaning: 'Fragments of one segment.', beyond: none },
  readAhead: {
    value: 32_768,
    unit: 'bytes',
    meaning: 'What is read at once of a segment to find its first key frame: mostly all of its index.',
    beyond: 'The rest is read when it is known where it lies.',
  },
  readSideBySide: {
    value: 4,
    unit: 'pictures',
    meaning: 'Key frames of a storyboard that are read at one time.',
    beyond: 'The others follow.',
  },
  runs: {
    value: 16,
    unit: 'runs',
    meaning:
      'How often the format of a film may change in its storyboard: each time is a process of its own.',
    beyond: 'The rest of the storyboard is left empty.',
  },
  quality: {
    value: 4,
    unit: 'steps',
    meaning: 'Of JPEG, as ffmpeg counts it (`-q:v`): 2 is best, 31 worst.',
    beyond: 'It is as it is.',
  },
  niceness: {
    value: 10,
    unit: 'steps',
    meaning: 'How much less urgent than the server it is (`nice`).',
    beyond: 'It is as it is.',
  },
});

/** Durations in milliseconds, sizes in bytes. */
export type StillLimits = Readonly<Record<keyof typeof stillLimitTable & string, number>>;

export const stillLimits: StillLimits = valuesOf(stillLimitTable);
