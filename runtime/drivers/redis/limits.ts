import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** Connections to Redis, but for the store's own. */
export const redisLimitTable = limitTable('redis connections', {
  answer: {
    value: 3000,
    unit: 'ms',
    meaning: 'How long an answer is waited for.',
    beyond:
      'Whoever asked gets 503 `volatile.unavailable` or `jobs.unavailable`; the connection is made anew, and until it is, others get the same at once.',
  },
  calls: {
    value: 10_000,
    unit: 'calls',
    meaning: 'Calls on one connection that wait for their answers.',
    beyond: 'Further ones get the same 503 at once.',
  },
  commands: {
    value: 100_000,
    unit: 'commands',
    meaning: 'Commands of these calls that are not answered yet.',
    beyond: 'Their call gets the same 503.',
  },
  connect: {
    value: 3000,
    unit: 'ms',
    meaning: 'How long a new connection may take, and how long Redis may be silent while it is made.',
    beyond: 'It is given up, and another one is tried.',
  },
  retry: {
    value: 1000,
    unit: 'ms',
    meaning: 'Longest wait before the next try to connect; the first one comes after a fiftieth of it.',
    beyond: 'It is tried again.',
  },
  ping: {
    value: 2000,
    unit: 'ms',
    meaning: 'How often a connection is asked whether it still answers.',
    beyond: 'One that does not within `answer` is made anew.',
  },
});

export const redisLimits = valuesOf(redisLimitTable);
