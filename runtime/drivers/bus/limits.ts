/** How partitions are held, whatever the engine. */
export const holdingLimits = {
  /** Records of one delivery to the owner of a partition. Beyond: the next delivery has the rest. */
  delivered: 500,
  /**
   * Wait until an owner that could not take a partition, or not handle its records, is asked again. Doubles while it cannot
   * take it, ms. Beyond: nothing of that partition is handled meanwhile; others go on.
   */
  assignRetry: 1000,
  /** Longest wait until it is asked again, ms. Beyond: it does not grow further. */
  longestAssignRetry: 8000,
  /** Shortest time between two restarts of a partition, ms. Beyond: a further restart waits that long. */
  restartPace: 100,
  /**
   * How often the owner of an idle partition hears up to when its log is known, ms. Beyond: timers of its actors fire that
   * much late at most.
   */
  reachedInterval: 250,
};

export const { delivered, assignRetry, longestAssignRetry, restartPace, reachedInterval } = holdingLimits;
