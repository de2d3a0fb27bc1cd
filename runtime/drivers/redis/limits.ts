/** Connections to Redis, but for the store's own. */
export const redisLimits = {
  /**
   * How long an answer is waited for, ms. Beyond: whoever asked gets 503 `volatile.unavailable`; the
   * connection is made anew, and until it is, others get the same at once.
   */
  answer: 3000,
  /** Calls on one connection that wait for their answers. Beyond: further ones get the same 503 at once. */
  calls: 10_000,
  /** Commands of these calls that are not answered yet. Beyond: their call gets the same 503. */
  commands: 100_000,
  /**
   * How long a new connection may take, and how long Redis may be silent while it is made, ms. Beyond: it is given up, and
   * another one is tried.
   */
  connect: 3000,
  /** Longest wait before the next try to connect; the first one comes after a fiftieth of it, ms. Beyond: it is tried again. */
  retry: 1000,
  /** How often a connection is asked whether it still answers, ms. Beyond: one that does not within `answer` is made anew. */
  ping: 2000,
};
