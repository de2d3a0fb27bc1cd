import { limitTable } from '../../../../core/base/limit-table.ts';

/** The Redis store. One connection a node; Redis does one thing at a time, so nothing may take it long. */
export const redisLimits = limitTable('redis', {
  waiting: {
    value: 10_000,
    unit: 'commands',
    meaning: 'Commands to Redis that wait for an answer.',
    beyond: '503 `store.busy` with `Retry-After`; nothing was written.',
  },
  connect: {
    value: 2000,
    unit: 'ms',
    meaning: 'Time to connect to Redis and to look at what it is.',
    beyond: '503 `store.unreachable` to who waits for it; it is tried again.',
  },
  answer: {
    value: 5000,
    unit: 'ms',
    meaning: 'Time that Redis has for each answer.',
    beyond:
      'The connection is given up: 503 `store.unknown` to writes that wait, `store.unreachable` to reads.',
  },
  firstPause: {
    value: 50,
    unit: 'ms',
    meaning: 'Pause before Redis is connected to again; each that follows is twice as long.',
    beyond: 'It is connected to again. Until then 503 `store.unreachable`.',
  },
  longestPause: {
    value: 1000,
    unit: 'ms',
    meaning: 'The longest of those pauses.',
    beyond: 'They do not grow any more.',
  },
  rows: {
    value: 4096,
    unit: 'rows',
    meaning: 'Rows of one commit.',
    beyond: 'A mistake of ours: 500 `internal`.',
  },
  appended: {
    value: 256,
    unit: 'events',
    meaning: 'Events that are appended to the log in one go.',
    beyond: 'The rest goes next.',
  },
  left: {
    value: 100,
    unit: 'entries',
    meaning: 'Entries that are read at a time from what an owner that is gone left in an outbox.',
    beyond: 'The rest is read next.',
  },
  readRows: {
    value: 1001,
    unit: 'rows',
    meaning: 'Rows of one read: a page of a list, and the row that tells whether another follows.',
    beyond: 'A mistake of ours: 500 `internal`.',
  },
  readEvents: {
    value: 1000,
    unit: 'events',
    meaning: 'Events or outbox entries of one read.',
    beyond: 'A mistake of ours: 500 `internal`.',
  },
  stretch: {
    value: 256,
    unit: 'entries',
    meaning: 'Index entries, rows, timers or events that Redis reads in one go.',
    beyond: 'Others have their turn, then it goes on.',
  },
  sorted: {
    value: 1000,
    unit: 'rows',
    meaning: 'Matches of a condition that are read and sorted, for a list by name or id.',
    beyond: 'The list goes along the index of its order, and looks at each row for the condition.',
  },
  swept: {
    value: 100,
    unit: 'entries',
    meaning: 'Events, causes and ids that a sweep deletes in one go.',
    beyond: 'Others have their turn, then it goes on.',
  },
});
