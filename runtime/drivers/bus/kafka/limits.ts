/** How the Kafka driver sends. */
export const sending = {
  /** Records of one request. Beyond: the next request has the rest. */
  batchRecords: 500,
  /** Keys and values of one request, unless one record alone is larger, bytes. Beyond: the next request has the rest. */
  batchBytes: 1_048_576,
  /**
   * Records that wait for an answer, for each of commands, answers and events. Beyond: 503 `bus.full`; the record is not
   * sent.
   */
  queuedRecords: 20_000,
  /** The same in bytes. Beyond: 503 `bus.full`; the record is not sent. */
  queuedBytes: 64 * 1_048_576,
  /**
   * How long a record waits to be acknowledged, ms. Beyond: 503 `bus.unreachable` when it was never sent; else 503
   * `bus.unknown`, and it is sent again until Kafka answers.
   */
  patience: 8000,
  /** How often waiting records are looked at, ms. Beyond: they wait that much longer at most. */
  sweepInterval: 250,
  /**
   * Wait before records of a partition are sent again; doubles with each failure, ms. Beyond: records of that partition wait;
   * others go on.
   */
  retryWait: 50,
  /** Longest wait before records are sent again, ms. Beyond: it does not grow further. */
  longestRetryWait: 500,
  /**
   * How long the topic of a node may seem to be missing, ms. Beyond: there is no such node, and what it was to be told is
   * dropped.
   */
  missingTopic: 1000,
  /** How long a broker waits for its replicas, ms. Beyond: it answers that it does not know; the records are sent again. */
  replicaTimeout: 4000,
  /**
   * How long the end of the program waits for what it has sent, ms. Beyond: who waits gets 503 `bus.unknown`, or `bus.closed`
   * when it was not sent.
   */
  closeWait: 1000,
  /** Partitions with records under way, those of other nodes included. Beyond: 503 `bus.full`; the record is not sent. */
  lanes: 10_000,
};

/** How it reads. */
export const reading = {
  /** How long a broker keeps a question for new records, ms. Beyond: it answers that there are none. */
  fetchWait: 100,
  /** One answer of a broker with records, unless one record alone is larger, bytes. Beyond: the next answer has the rest. */
  fetchBytes: 8 * 1_048_576,
  /** Records of one partition in one answer, unless one record alone is larger, bytes. Beyond: the next answer has the rest. */
  partitionBytes: 1_048_576,
  /**
   * Records of one partition that wait for its owner; what one answer brings more is kept too. Beyond: no more are asked for
   * until half of them are handled.
   */
  bufferedRecords: 1000,
  /** The same in bytes. Beyond: no more are asked for until half of them are handled. */
  bufferedBytes: 2 * 1_048_576,
  /**
   * How long a broker must answer without trouble before its end of a log counts: a new leader may not know it at once, ms.
   * Beyond: owners hear up to when a log is known.
   */
  settling: 1000,
  /** Wait after a question that failed; doubles with each failure, ms. Beyond: nothing is read from that broker meanwhile. */
  retryWait: 100,
  /** Longest wait after a question that failed, ms. Beyond: it does not grow further. */
  longestRetryWait: 1000,
  /**
   * How long before a record the end of its log must have been seen to compare this machine's clock with its time, ms.
   * Beyond: the record is no comparison.
   */
  leadPrecision: 1000,
  /**
   * How long a comparison of this machine's clock with a broker's counts, once or twice over, ms. Beyond: the next record is
   * a new comparison; without one the last counts on.
   */
  leadWindow: 60_000,
  /** How long the identity of the log counts as known when partitions are taken, ms. Beyond: Kafka is asked again. */
  rememberLog: 1000,
};

/** The connection and the consumer group. */
export const group = {
  /** Connecting to a broker, ms. Beyond: another one is tried. */
  connectTimeout: 2000,
  /** An answer of a broker, ms. Beyond: the connection is cut and made anew. */
  requestTimeout: 5000,
  /** Finding and creating the topics at the start, ms. Beyond: the start fails with `bus.unreachable`. */
  openTimeout: 9000,
  /** Wait until a broker is asked again for a topic that was just made, ms. Beyond: it is asked again. */
  createWait: 50,
  /**
   * Wait for as many brokers as a topic is to have copies: those of a cluster that starts come one by one, ms. Beyond: the
   * start fails with `bus.refused`, which names `kafka.replication`.
   */
  brokersWait: 5000,
  /** How long a node that is not heard of keeps its partitions, ms. Beyond: other nodes get them. */
  sessionTimeout: 6000,
  /** How often a node says that it is there, and hears that others came or went, ms. Beyond: partitions move that much later. */
  heartbeatInterval: 1000,
  /** How often it is looked at whether the group still answers, ms. Beyond: a silence is noticed that much later. */
  heartbeatCheck: 250,
  /** How long the group may be silent while Kafka answers, ms. Beyond: the node leaves it and joins anew. */
  groupSilence: 12_000,
  /**
   * How long a group may count on a node that has not been told its partitions, ms. Beyond: the node leaves it and joins
   * anew.
   */
  shareWait: 2000,
  /**
   * How often a node whose group is silent asks whether Kafka answers at all, ms. Beyond: a silence is noticed that much
   * later.
   */
  probeInterval: 1000,
  /**
   * How often a node looks whether the topic of commands is still the same one, ms. Beyond: it is noticed that much later
   * that somebody made it anew, unless its absence was seen.
   */
  logCheck: 10_000,
  /** Wait before a node joins its group anew; doubles with each failure, ms. Beyond: it has no partitions meanwhile. */
  rejoinWait: 500,
  /** Longest wait before a node joins its group anew, ms. Beyond: it does not grow further. */
  longestRejoinWait: 4000,
  /**
   * How often the client itself repeats what failed, each after half a second at most. Beyond: the node leaves the group and
   * joins anew.
   */
  groupRetries: 1000,
  /** Longest wait of the client itself before it repeats something, ms. Beyond: it does not grow further. */
  groupRetryWait: 500,
  /**
   * How often Kafka is told how far a node has come, for its operator's lag metrics alone, ms. Beyond: those metrics are that
   * much older.
   */
  placeInterval: 5000,
  /**
   * Saying goodbye to the group, and waiting for what was sent, ms. Beyond: connections are cut; others get the partitions
   * after the session timeout.
   */
  closeTimeout: 2000,
  /**
   * Shortest time between two log lines of the Kafka client with the same text, ms. Beyond: they are counted, and the next
   * line has the count.
   */
  logInterval: 10_000,
  /** Texts of log lines that are remembered. Beyond: the oldest is forgotten. */
  logTexts: 100,
};

/** What topics are made with. */
export const topic = {
  /** How long commands are kept. The store may be rolled back that far, ms. Beyond: Kafka removes them. */
  commandRetention: 7 * 24 * 3_600_000,
  /** How long events are kept for readers outside, ms. Beyond: Kafka removes them. */
  eventRetention: 7 * 24 * 3_600_000,
  /** How long buried records are kept, ms. Beyond: Kafka removes them. */
  deadRetention: 30 * 24 * 3_600_000,
  /** How long what a node was told is kept, ms. Beyond: Kafka removes it: a node that was away for longer misses it. */
  replyRetention: 600_000,
  /** A batch of records on a topic, bytes. Beyond: Kafka refuses it. A command is smaller: 413 `bus.too_large`. */
  messageBytes: 4 * 1_048_576,
};
