import { limitTable } from '../../../../core/base/limit-table.ts';

/** The SQLite store. One thread writes; reads are made where they are asked for. */
export const storeLimits = limitTable('store', {
  waiting: {
    value: 10_000,
    unit: 'calls',
    meaning: 'Calls that wait for the disk.',
    beyond: '503 `store.busy` with `Retry-After`; nothing was written.',
  },
  group: {
    value: 256,
    unit: 'requests',
    meaning: 'Requests in one transaction; more would make the first of them wait for the last.',
    beyond: 'The rest forms the next transaction.',
  },
  sweepChunk: {
    value: 200,
    unit: 'rows',
    meaning: 'Rows that a sweep deletes from each log in one transaction.',
    beyond: 'It goes on behind whatever waits.',
  },
  checkpoint: {
    value: 4096,
    unit: 'requests',
    meaning: 'Written requests after which the write-ahead log is folded back even without a pause.',
    beyond: 'It is folded back between two transactions.',
  },
  pause: {
    value: 25,
    unit: 'ms',
    meaning: 'Time without work that counts as a pause, in which the write-ahead log is folded back.',
    beyond: 'It is folded back.',
  },
  logPages: {
    value: 16_384,
    unit: 'pages',
    meaning: 'Pages of 4 KiB in the write-ahead log, should folding back between transactions never suffice.',
    beyond: 'The commit that reaches it folds it back itself.',
  },
  writerCache: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Pages of the database that the writing thread keeps in memory.',
    beyond: 'The page used longest ago is read again when it is needed.',
  },
  readerCache: {
    value: 16 * 1_048_576,
    unit: 'bytes',
    meaning: 'The same for reading.',
    beyond: 'The page used longest ago is read again when it is needed.',
  },
  // SQLite as Bun builds it maps no more (SQLITE_MAX_MMAP_SIZE).
  mapped: {
    value: 2 * 1024 ** 3 - 65_536,
    unit: 'bytes',
    meaning:
      'The first part of the database, which reading maps into address space; the system keeps of it what it likes.',
    beyond: 'The rest is read by calls, which copy.',
  },
  readRows: {
    value: 1001,
    unit: 'rows',
    meaning: 'Rows of one read: a page of a list, and the row that tells whether another follows.',
    beyond: 'A mistake of ours: 500 `internal`.',
  },
  stretch: {
    value: 256,
    unit: 'rows',
    meaning: 'Rows looked at in one go for a list of which few fit, about a millisecond of work.',
    beyond: 'Others have their turn, then it goes on.',
  },
  counted: {
    value: 10_000,
    unit: 'rows',
    meaning: 'Rows counted in one go.',
    beyond: 'Others have their turn, then it goes on.',
  },
  plannedMatches: {
    value: 1000,
    unit: 'rows',
    meaning: 'Matches of a condition that are counted to choose the index of a list.',
    beyond: 'They count as many.',
  },
});
