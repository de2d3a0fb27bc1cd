import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** How partitions are held, whatever the engine. */
export const holdingLimits = limitTable('bus', {
  delivered: {
    value: 500,
    unit: 'records',
    meaning: 'Records of one delivery to the owner of a partition.',
    beyond: 'The next delivery has the rest.',
  },
  assignRetry: {
    value: 1000,
    unit: 'ms',
    meaning:
      'Wait until an owner that could not take a partition, or not handle its records, is asked again. Doubles while it cannot take it.',
    beyond: 'Nothing of that partition is handled meanwhile; others go on.',
  },
  longestAssignRetry: {
    value: 8000,
    unit: 'ms',
    meaning: 'Longest wait until it is asked again.',
    beyond: 'It does not grow further.',
  },
  restartPace: {
    value: 100,
    unit: 'ms',
    meaning: 'Shortest time between two restarts of a partition.',
    beyond: 'A further restart waits that long.',
  },
  reachedInterval: {
    value: 250,
    unit: 'ms',
    meaning: 'How often the owner of an idle partition hears up to when its log is known.',
    beyond: 'Timers of its actors fire that much late at most.',
  },
});

export const { delivered, assignRetry, longestAssignRetry, restartPace, reachedInterval } =
  valuesOf(holdingLimits);

/** The broker in memory, which is for tests. */
export const memoryBusLimits = limitTable('bus in memory', {
  retained: {
    value: 100_000,
    unit: 'records',
    meaning: 'Records kept of one partition.',
    beyond: 'The oldest go, as when the retention of a topic has passed.',
  },
  sendTimeout: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long a node that is cut off waits for the answer to what it sent.',
    beyond: '503 `bus.unknown`.',
  },
  sessionTimeout: {
    value: 6000,
    unit: 'ms',
    meaning: 'How long a node that is cut off keeps its partitions.',
    beyond: 'They go to the other nodes.',
  },
});

export const memoryLimits = valuesOf(memoryBusLimits);
