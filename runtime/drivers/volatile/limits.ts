import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** Facts of seconds, kept in the memory of one process, or in Redis. */
export const volatileDriverLimits = limitTable('volatile', {
  mostEntries: {
    value: 200_000,
    unit: 'entries',
    meaning: 'Entries kept by all nodes together, about 1 KB each for live figures.',
    beyond: 'New ones are refused with 503 `volatile.full`.',
  },
  sweepInterval: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How often at most what nobody set again is swept.',
    beyond: 'Whoever sets something sweeps.',
  },
  redisSweep: {
    value: 1000,
    unit: 'entries',
    meaning: 'In Redis: entries whose time is over that are swept by whoever sets something.',
    beyond: 'The next one goes on.',
  },
  redisPage: {
    value: 500,
    unit: 'entries',
    meaning: 'In Redis: entries that are set or listed at one go, while nobody else is served.',
    beyond: 'The rest follows.',
  },
});

export const { mostEntries, sweepInterval, redisSweep, redisPage } = valuesOf(volatileDriverLimits);
