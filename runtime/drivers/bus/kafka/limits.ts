/** How the Kafka driver sends. Times are in ms. */
export const sending = {
  /** Records of one request. Beyond: the next request has the rest. */
  batchRecords: 500,
  /** Bytes of keys and values of one request, unless one record alone is larger. Beyond: the next request has the rest. */
  batchBytes: 1_048_576,
  /** Records that wait for an answer, for each of commands, answers and events. Beyond: 503 `bus.full`, not sent. */
  queuedRecords: 20_000,
  /** The same in bytes. Beyond: 503 `bus.full`, not sent. */
  queuedBytes: 64 * 1_048_576,
  /** Partitions with records under way, those of other nodes included. Beyond: 503 `bus.full`, not sent. */
  lanes: 10_000,
  /** How long who sends waits. Beyond: 503 `bus.unreachable` when it was never sent; else `bus.unknown`, and it is sent again. */
  patience: 8000,
  /** How often waiting records are looked at. Beyond: they wait that much longer at most. */
  sweepInterval: 250,
  /** Wait before records of a partition are sent again; doubles up to the longest. Beyond: others go on. */
  retryWait: 50,
  longestRetryWait: 500,
  /** How long the topic of a node may seem to be missing. Beyond: there is no such node, and what it was to be told is dropped. */
  missingTopic: 1000,
  /** How long a topic that was there may seem to be missing. Beyond: another producer is made, which knows nothing of it. */
  removedTopic: 5000,
  /** How long a broker waits for its replicas. Beyond: it answers that it does not know; the records are sent again. */
  replicaTimeout: 4000,
  /** How long kafkajs may take for both attempts of a call. Beyond: another producer sends it again; records may come twice. */
  callTimeout: 30_000,
  /** Trouble that is not worth a warning: brokers that start and leaders that change make it. Beyond: it is. */
  quietTrouble: 1000,
  /** How long the end of the program waits for what it has sent. Beyond: 503 `bus.unknown`, or `bus.closed` when not sent. */
  closeWait: 1000,
};

/** How it reads. */
export const reading = {
  /** How long a broker keeps a question for new records, and a seek waits for its answer. Beyond: there are none. */
  fetchWait: 100,
  /** Bytes of one answer, unless one record alone is larger. Beyond: the next answer has the rest. */
  fetchBytes: 8 * 1_048_576,
  /** The same for one partition. */
  partitionBytes: 1_048_576,
  /** Records of a partition that wait for its owner. Beyond: no more are asked for until half of them are handled. */
  bufferedRecords: 1000,
  /** The same in bytes. */
  bufferedBytes: 2 * 1_048_576,
  /** How often Kafka is asked how far the log of each partition goes. Beyond: timers fire that much later. */
  pulseInterval: 200,
  /** How long Kafka must answer without trouble before its end of a log counts: who was frozen may not lead any more. */
  settling: 1000,
  /** How long before a record the end of its log must have been seen to compare clocks. Beyond: it is no comparison. */
  leadPrecision: 1000,
  /** How long a comparison of clocks counts, once or twice over. Beyond: the next one does; without one the last. */
  leadWindow: 60_000,
  /** How long the identity of the log counts as known when partitions are taken. Beyond: Kafka is asked again. */
  rememberLog: 1000,
};

/** The connection and the consumer groups. */
export const group = {
  /** Connecting to a broker. Beyond: another one is tried. */
  connectTimeout: 2000,
  /** An answer of a broker. Beyond: its connections are cut and made anew. */
  requestTimeout: 5000,
  /** How long leaders count as known. Beyond: who sends or reads asks for them. */
  metadataAge: 2000,
  /** Finding and creating the topics at the start. Beyond: the start fails with `bus.unreachable`. */
  openTimeout: 9000,
  /** Wait until a broker is asked again about a topic that was just made. */
  createWait: 50,
  /** Wait for as many brokers as a topic is to have copies. Beyond: the start fails with `bus.refused` (`kafka.replication`). */
  brokersWait: 5000,
  /** How long a node that is not heard of keeps its partitions. Beyond: other nodes get them. */
  sessionTimeout: 6000,
  /** How often a node says that it is there, and hears that others came or went. Beyond: partitions move that much later. */
  heartbeatInterval: 1000,
  /** How often it is looked at whether the group still answers. Beyond: a silence is noticed that much later. */
  heartbeatCheck: 250,
  /** How long the group may be silent while Kafka answers. Beyond: the node joins anew. */
  groupSilence: 12_000,
  /** How long a group may count on a node that has not been told its partitions. Beyond: the node joins anew. */
  shareWait: 2000,
  /** How often a node looks whether the topic of commands is still the same one. Beyond: it is noticed that much later. */
  logCheck: 10_000,
  /** Wait before a group is joined anew; doubles up to the longest. Beyond: the node has no partitions meanwhile. */
  rejoinWait: 500,
  longestRejoinWait: 4000,
  /** Trouble with joining that is not worth a warning: the first group of a Kafka waits for a topic. Beyond: it is. */
  quietTrouble: 10_000,
  /** How often kafkajs repeats what failed, each time after `retryWait` at most. Beyond: the node joins anew. */
  retries: 200,
  retryWait: 500,
  /** How often Kafka is told how far a node has come, for its operator's lag metrics alone. Beyond: they are that much older. */
  placeInterval: 5000,
  /** Saying goodbye to a group. Beyond: connections are cut; others get the partitions after the session timeout. */
  closeTimeout: 2000,
  /** Shortest time between two log lines with the same text. Beyond: they are counted, and the next line has the count. */
  logInterval: 10_000,
  /** Texts of log lines that are remembered. Beyond: the oldest is forgotten. */
  logTexts: 100,
};

/** What topics are made with. */
export const topic = {
  /** How long commands are kept: the store may be rolled back that far. Beyond: Kafka removes them. */
  commandRetention: 7 * 24 * 3_600_000,
  /** How long events are kept for readers outside. Beyond: Kafka removes them. */
  eventRetention: 7 * 24 * 3_600_000,
  /** How long buried records are kept. Beyond: Kafka removes them. */
  deadRetention: 30 * 24 * 3_600_000,
  /** How long what a node was told is kept. Beyond: a node that was away for longer misses it. */
  replyRetention: 600_000,
  /** Bytes of a batch of records. Beyond: Kafka refuses it. A command is smaller: 413 `bus.too_large`. */
  messageBytes: 4 * 1_048_576,
};
