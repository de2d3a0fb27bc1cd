/** Jobs in BullMQ. */
export const bullmqLimits = {
  /**
   * How long the ends of leases that are known are relied upon. No lease is shorter, so none ends unseen meanwhile, ms.
   * Beyond: they are looked up again with the next claim, which takes longer the more jobs are at work.
   */
  leases: 1000,
  /**
   * How often workers are woken though nobody said that there are jobs: what says so may be lost, ms. Beyond: a job that no
   * message told of starts this much later at most.
   */
  look: 5000,
  /**
   * Entries of the stream of events that BullMQ keeps for each kind, about. Beyond: the oldest are dropped; nothing here
   * reads them.
   */
  events: 100,
  /** Jobs that are added or cancelled at one go. Beyond: the rest follows. */
  added: 500,
  /** Finished jobs that the list of all jobs may name still, and that one look at it forgets. Beyond: the next look goes on. */
  stale: 1000,
};
