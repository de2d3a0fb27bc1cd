import { limitTable, valuesOf } from '../../core/limit-table.ts';

/** What one transcode may be; `conversion` has what it may cost. */
export const transcodeLimitTable = limitTable('transcode', {
  wait: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long a transcode may wait for its turn.',
    beyond: 'Task and asset fail; a retry of the task waits anew.',
  },
  bitrate: {
    value: 200_000_000,
    unit: 'bit/s',
    meaning: '`bitrate` of the profile of a transcode.',
    beyond: '422 `body.invalid`.',
  },
  shorter: {
    value: 2,
    unit: 's',
    meaning: 'How much shorter than its source a film may come out, or 2 % of that.',
    beyond: 'The task fails: not all of it could be read.',
  },
});

export const transcodeLimits = valuesOf(transcodeLimitTable);
