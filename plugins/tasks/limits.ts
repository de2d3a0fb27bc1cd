import { limitTable } from '../../core/limit-table.ts';

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
});
