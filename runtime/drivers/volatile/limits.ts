import { limitTable, valuesOf } from '../../../core/limit-table.ts';

/** Facts of seconds, kept in the memory of one process. */
export const memoryLimits = limitTable('volatile', {
  mostEntries: {
    value: 200_000,
    unit: 'entries',
    meaning: 'Entries kept in memory, about 1 KB each for live figures.',
    beyond: 'New ones are refused with 503 `volatile.full`.',
  },
  sweepInterval: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How often at most what nobody set again is swept.',
    beyond: 'Whoever sets something sweeps.',
  },
});

export const { mostEntries, sweepInterval } = valuesOf(memoryLimits);
