import { limitTable } from '../../core/limit-table.ts';

/** Bounds of tasks that no deployment changes. */
export const taskLimits = limitTable('tasks', {
  works: {
    value: 4,
    unit: 'tries',
    meaning: 'Tries at one task side by side: uploads of one URL.',
    beyond: '409 `upload.busy`.',
  },
  lostAtOnce: {
    value: 200,
    unit: 'tasks',
    meaning: 'Running tasks that are asked at a time whether a process which is gone worked at them.',
    beyond: 'The others after them.',
  },
});
