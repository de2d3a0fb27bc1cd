import { limitTable } from '../../core/base/limit-table.ts';
import { finishPauses } from '../../machines/recording.ts';

export const recordingLimitTable = limitTable('recordings', {
  finishing: {
    value: 4,
    unit: 'recordings',
    meaning: 'Recordings that one worker finishes at a time.',
    beyond: 'The others wait for their turn.',
  },
  finishTime: {
    value: 2 * 3_600_000,
    unit: 'ms',
    meaning: 'One attempt at finishing a recording, or at removing what it leaves on nodes.',
    beyond: 'It is broken off and tried again.',
  },
  attempts: {
    value: 3,
    unit: 'attempts',
    meaning: 'Attempts at that, some seconds apart, before the recording waits for `finishPause`.',
    beyond: 'It is tried again after that.',
  },
  finishPause: {
    value: finishPauses.first,
    unit: 'ms',
    meaning: 'Wait before a recording that could not be finished is tried again; doubling.',
    beyond: 'It is tried again, until `plugins.recordings.giveUp` has passed.',
  },
  finishPauseLongest: {
    value: finishPauses.longest,
    unit: 'ms',
    meaning: 'The longest such wait.',
    beyond: 'It is tried again.',
  },
  renditionShare: {
    value: 50,
    unit: 'percent',
    meaning: 'How much of a recording a rendition must have, by time, to be played with it.',
    beyond: 'It is left out: who chose it would mostly get the source.',
  },
  nodeWait: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a node that finishes its part lets another wait for it in one request.',
    beyond: 'It answers 202 and goes on; the other asks again.',
  },
  nodeSilence: {
    value: 15_000,
    unit: 'ms',
    meaning: 'How long another node may take to answer that request.',
    beyond: 'The attempt has failed.',
  },
  taskWait: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'How long after `plugins.recordings.giveUp` the task of a recording waits for its end.',
    beyond: 'It has failed: its recording ended without a word, as when its asset was deleted meanwhile.',
  },
  sweep: {
    value: 600_000,
    unit: 'ms',
    meaning: 'How often what recordings have left on this node is looked for; also at the start.',
    beyond: 'What is found is removed.',
  },
  missed: {
    value: 100,
    unit: 'recordings',
    meaning: 'Recordings that are read at a time to find those whose session is over; as often as the sweep.',
    beyond: 'The next ones are read after them.',
  },
  leftAlone: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'How long nothing was written to what belongs to no recording that is still being made.',
    beyond: 'It is removed from this node when the look after that finds the same, and the log says so.',
  },
});
