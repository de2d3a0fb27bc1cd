import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

/** Jobs in BullMQ. */
export const bullmqLimitTable = limitTable('bullmq', {
  leases: {
    value: 1000,
    unit: 'ms',
    meaning:
      'How long the ends of leases that are known are relied upon. No lease is shorter, so none ends unseen meanwhile.',
    beyond: 'They are looked up again with the next claim, which takes longer the more jobs are at work.',
  },
  look: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often workers are woken though nobody said that there are jobs: what says so may be lost.',
    beyond: 'A job that no message told of starts this much later at most.',
  },
  events: {
    value: 100,
    unit: 'entries',
    meaning: 'Entries of the stream of events that BullMQ keeps for each kind, about.',
    beyond: 'The oldest are dropped; nothing here reads them.',
  },
  added: {
    value: 500,
    unit: 'jobs',
    meaning: 'Jobs that are added or cancelled at one go.',
    beyond: 'The rest follows.',
  },
  stale: {
    value: 1000,
    unit: 'jobs',
    meaning: 'Finished jobs that the list of all jobs may name still, and that one look at it forgets.',
    beyond: 'The next look goes on.',
  },
});

export const bullmqLimits = valuesOf(bullmqLimitTable);
