/** Commands that nodes send each other, and the partitions that take them. */
export const clusterLimits = {
  /** Commands of this node that wait for their answer. Beyond: 503 `server.busy`; the command is not sent. */
  asks: 2000,
  /** How long a command may wait for its answer, ms. Beyond: 503 `store.unknown`: it may still be carried out. */
  askTime: 10_000,
  /**
   * Wait before a command is sent again of which nobody knows whether it arrived, ms. Beyond: it is sent again, as the same
   * one, until its time is up.
   */
  sendRetry: 500,
  /**
   * Steps of one partition that are computed and not yet known to be stored. Beyond: the partition waits for the oldest of
   * them.
   */
  pipeline: 64,
  /**
   * Records of a partition whose actors are read side by side, before the first of them is taken. Beyond: the next ones after
   * these.
   */
  prefetch: 200,
  /**
   * How far back on the log of its partition a command is looked for, to know that it came twice. Beyond: a copy that comes
   * later is carried out again, unless the caller named a cause.
   */
  repeats: 1000,
  /**
   * Wait before a call to the store, the bus or the queue of jobs that failed is made again; it doubles, ms. Beyond: it is
   * tried again.
   */
  retryFirst: 100,
  /** Longest such wait, ms. Beyond: it grows no further. An outage is over for a partition that much later at most. */
  retryMost: 2000,
  /**
   * How often a step is tried that fails by a mistake of ours, not by an outage. Beyond: its command is buried and answered
   * 500 `internal`; a timer is put off.
   */
  tries: 5,
  /**
   * Commands and timers of one partition that are known to be impossible, until they have been passed. Beyond: the oldest is
   * tried again.
   */
  verdicts: 1000,
  /**
   * Wait before a partition is taken again that the bus gives to this node and another node has taken, ms. Beyond: it is
   * taken again, if the bus still gives it to this node.
   */
  fencedRetry: 5000,
  /**
   * How long a record that changed nothing waits for a step that stores its place along, ms. Beyond: its place is stored
   * alone.
   */
  consume: 1000,
  /**
   * How long a partition without steps goes on before it asks the store whether it still has it, ms. Beyond: it asks. One
   * that another node has taken is given up, and of a store that was rolled back what is missing is done again from the log.
   */
  verify: 5000,
  /**
   * Steps of one partition whose events, jobs and orders are not yet handed on. Beyond: the partition takes no further
   * commands until some are.
   */
  backlog: 1000,
  /** Steps whose effects are handed on in one go. Beyond: the next ones after these. */
  relayed: 200,
  /** Events that are published in one call. Beyond: the next ones after these. */
  published: 500,
  /**
   * Answers of this node to others that are on their way. Beyond: a further one is not sent: whoever asked gets 503
   * `store.unknown`.
   */
  answers: 5000,
  /** How long it is tried to send an answer, ms. Beyond: it is dropped: nobody waits for it any more. */
  answerTime: 10_000,
  /** Events of other nodes that are read from the log at one time. Beyond: the next ones after these. */
  eventPage: 500,
  /**
   * How often the log is looked at for events of other nodes that nobody told of, ms. Beyond: they are heard of that much
   * later at most.
   */
  eventPoll: 1000,
  /** Of the id of an event that is buried. Beyond: the rest is left out: it may be what the bus refuses. */
  idShown: 1000,
  /**
   * How often it is looked for events of plain resources whose writer died before it handed them on, ms. Beyond: they are
   * handed on that much later at most.
   */
  plainPoll: 5000,
  /**
   * How often the node that has a duty (reactions of a plugin, sweeping) says so, and the others look, ms. Beyond: a duty
   * that was let go is taken that much later at most.
   */
  dutyBeat: 2000,
  /** How long the node that has a duty may be silent, ms. Beyond: another one takes it. */
  dutyLease: 6000,
  /**
   * How long a node that stops waits for the answers to its commands, and then for the end of the steps it has begun, ms.
   * Beyond: the commands may still be carried out; the steps are left to the next owners of their partitions.
   */
  stop: 3000,
  /**
   * How long a node that stops waits until its answers have arrived at other nodes, ms. Beyond: whoever asked gets 503
   * `store.unknown`.
   */
  lastAnswers: 1000,
};
