import { limitTable } from '../../core/base/limit-table.ts';

/** Bounds of tasks that no deployment changes. */
export const taskLimits = limitTable('tasks', {
  works: {
    value: 4,
    unit: 'tries',
    meaning: 'Tries at one task side by side: uploads of one URL.',
    beyond: '409 `upload.busy`.',
  },
  cancelledAtOnce: {
    value: 100,
    unit: 'tasks',
    meaning: 'Tasks of a deleted asset that are cancelled at a time.',
    beyond: 'The others after them.',
  },
  lostAtOnce: {
    value: 200,
    unit: 'tasks',
    meaning: 'Running tasks that are asked at a time whether a process which is gone worked at them.',
    beyond: 'The others after them.',
  },
  places: {
    value: 200,
    unit: 'tasks',
    meaning: 'Tasks that a process, or those of one account and type, may be configured to run at a time.',
    beyond: 'The start is refused.',
  },
  laneWaiting: {
    value: 100,
    unit: 'tasks',
    meaning: 'Tasks of one account and type whose turn is known.',
    beyond: 'Those behind them are looked for when it comes.',
  },
  laneLook: {
    value: 60_000,
    unit: 'ms',
    meaning: "How often an account's tasks that are worked at are held against the places they take.",
    beyond: 'They are looked at again.',
  },
  laneTrouble: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Wait after a look that failed.',
    beyond: 'It is tried again.',
  },
  looks: {
    value: 4,
    unit: 'jobs',
    meaning: 'Such looks that a process takes at a time.',
    beyond: 'The others after them.',
  },
  lookTime: {
    value: 30_000,
    unit: 'ms',
    meaning: 'Time for one such look.',
    beyond: 'It has failed, and is tried again.',
  },
  attempts: {
    value: 8,
    unit: 'tries',
    meaning: 'Tries of the server at a task that meets trouble.',
    beyond: 'It has failed. It may be asked to try again.',
  },
  firstPause: {
    value: 2000,
    unit: 'ms',
    meaning: 'Wait before the second try; it doubles up to `longestPause`.',
    beyond: 'The next try.',
  },
  longestPause: {
    value: 120_000,
    unit: 'ms',
    meaning: 'Longest wait between two tries.',
    beyond: 'It grows no further.',
  },
  progressPause: {
    value: 2000,
    unit: 'ms',
    meaning: 'How often progress is stored, at most.',
    beyond: 'It is stored when the time has passed, as it is then.',
  },
  message: {
    value: 500,
    unit: 'characters',
    meaning: 'What is shown of the reason why a task failed.',
    beyond: 'The rest is cut off.',
  },
});
