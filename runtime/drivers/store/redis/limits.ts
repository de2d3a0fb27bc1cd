/** The Redis store. One connection a node; Redis does one thing at a time, so nothing may take it long. */
export const redisLimits = {
  /** Commands to Redis that wait for an answer. Beyond: 503 `store.busy` with `Retry-After`; nothing was written. */
  waiting: 10_000,
  /**
   * Time to connect to Redis and to look at what it is, ms. Beyond: 503 `store.unreachable` to who waits for it; it is tried
   * again.
   */
  connect: 2000,
  /**
   * Time that Redis has for each answer, ms. Beyond: the connection is given up: 503 `store.unknown` to writes that wait,
   * `store.unreachable` to reads.
   */
  answer: 5000,
  /**
   * Pause before Redis is connected to again; each that follows is twice as long, ms. Beyond: it is connected to again. Until
   * then 503 `store.unreachable`.
   */
  firstPause: 50,
  /** The longest of those pauses, ms. Beyond: they do not grow any more. */
  longestPause: 1000,
  /** Rows of one commit. Beyond: a mistake of ours: 500 `internal`. */
  rows: 4096,
  /** Events that are appended to the log in one go. Beyond: the rest goes next. */
  appended: 256,
  /** Entries that are read at a time from what an owner that is gone left in an outbox. Beyond: the rest is read next. */
  left: 100,
  /**
   * Rows of one read: a page of a list, and the row that tells whether another follows. Beyond: a mistake of ours: 500
   * `internal`.
   */
  readRows: 1001,
  /** Events or outbox entries of one read. Beyond: a mistake of ours: 500 `internal`. */
  readEvents: 1000,
  /** Index entries, rows, timers or events that Redis reads in one go. Beyond: others have their turn, then it goes on. */
  stretch: 256,
  /**
   * Matches of a condition that are read and sorted, for a list by name or id. Beyond: the list goes along the index of its
   * order, and looks at each row for the condition.
   */
  sorted: 1000,
  /** Events, causes and ids that a sweep deletes in one go. Beyond: others have their turn, then it goes on. */
  swept: 100,
};
