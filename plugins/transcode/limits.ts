import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

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
});

export const transcodeLimits = valuesOf(transcodeLimitTable);
