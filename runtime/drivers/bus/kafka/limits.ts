import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

/** How the Kafka driver sends. */
export const sendLimits = limitTable('kafka: sending', {
  batchRecords: {
    value: 500,
    unit: 'records',
    meaning: 'Records of one request.',
    beyond: 'The next request has the rest.',
  },
  batchBytes: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'Keys and values of one request, unless one record alone is larger.',
    beyond: 'The next request has the rest.',
  },
  queuedRecords: {
    value: 20_000,
    unit: 'records',
    meaning: 'Records that wait for an answer, for each of commands, answers and events.',
    beyond: '503 `bus.full`; the record is not sent.',
  },
  queuedBytes: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'The same in bytes.',
    beyond: '503 `bus.full`; the record is not sent.',
  },
  patience: {
    value: 8000,
    unit: 'ms',
    meaning: 'How long a record waits to be acknowledged.',
    beyond:
      '503 `bus.unreachable` when it was never sent; else 503 `bus.unknown`, and it is sent again until Kafka answers.',
  },
  sweepInterval: {
    value: 250,
    unit: 'ms',
    meaning: 'How often waiting records are looked at.',
    beyond: 'They wait that much longer at most.',
  },
  retryWait: {
    value: 50,
    unit: 'ms',
    meaning: 'Wait before records of a partition are sent again; doubles with each failure.',
    beyond: 'Records of that partition wait; others go on.',
  },
  longestRetryWait: {
    value: 500,
    unit: 'ms',
    meaning: 'Longest wait before records are sent again.',
    beyond: 'It does not grow further.',
  },
  missingTopic: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long the topic of a node may seem to be missing.',
    beyond: 'There is no such node, and what it was to be told is dropped.',
  },
  replicaTimeout: {
    value: 4000,
    unit: 'ms',
    meaning: 'How long a broker waits for its replicas.',
    beyond: 'It answers that it does not know; the records are sent again.',
  },
  closeWait: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long the end of the program waits for what it has sent.',
    beyond: 'Who waits gets 503 `bus.unknown`, or `bus.closed` when it was not sent.',
  },
  lanes: {
    value: 10_000,
    unit: 'partitions',
    meaning: 'Partitions with records under way, those of other nodes included.',
    beyond: '503 `bus.full`; the record is not sent.',
  },
});

/** How it reads. */
export const readLimits = limitTable('kafka: reading', {
  fetchWait: {
    value: 100,
    unit: 'ms',
    meaning: 'How long a broker keeps a question for new records.',
    beyond: 'It answers that there are none.',
  },
  fetchBytes: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'One answer of a broker with records, unless one record alone is larger.',
    beyond: 'The next answer has the rest.',
  },
  partitionBytes: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'Records of one partition in one answer, unless one record alone is larger.',
    beyond: 'The next answer has the rest.',
  },
  bufferedRecords: {
    value: 1000,
    unit: 'records',
    meaning: 'Records of one partition that wait for its owner; what one answer brings more is kept too.',
    beyond: 'No more are asked for until half of them are handled.',
  },
  bufferedBytes: {
    value: 2 * 1_048_576,
    unit: 'bytes',
    meaning: 'The same in bytes.',
    beyond: 'No more are asked for until half of them are handled.',
  },
  settling: {
    value: 1000,
    unit: 'ms',
    meaning:
      'How long a broker must answer without trouble before its end of a log counts: a new leader may not know it at once.',
    beyond: 'Owners hear up to when a log is known.',
  },
  retryWait: {
    value: 100,
    unit: 'ms',
    meaning: 'Wait after a question that failed; doubles with each failure.',
    beyond: 'Nothing is read from that broker meanwhile.',
  },
  longestRetryWait: {
    value: 1000,
    unit: 'ms',
    meaning: 'Longest wait after a question that failed.',
    beyond: 'It does not grow further.',
  },
  leadPrecision: {
    value: 1000,
    unit: 'ms',
    meaning:
      "How long before a record the end of its log must have been seen to compare this machine's clock with its time.",
    beyond: 'The record is no comparison.',
  },
  leadWindow: {
    value: 60_000,
    unit: 'ms',
    meaning: "How long a comparison of this machine's clock with a broker's counts, once or twice over.",
    beyond: 'The next record is a new comparison; without one the last counts on.',
  },
  rememberLog: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long the identity of the log counts as known when partitions are taken.',
    beyond: 'Kafka is asked again.',
  },
});

/** The connection and the consumer group. */
export const groupLimits = limitTable('kafka', {
  connectTimeout: {
    value: 2000,
    unit: 'ms',
    meaning: 'Connecting to a broker.',
    beyond: 'Another one is tried.',
  },
  requestTimeout: {
    value: 5000,
    unit: 'ms',
    meaning: 'An answer of a broker.',
    beyond: 'The connection is cut and made anew.',
  },
  openTimeout: {
    value: 9000,
    unit: 'ms',
    meaning: 'Finding and creating the topics at the start.',
    beyond: 'The start fails with `bus.unreachable`.',
  },
  createWait: {
    value: 50,
    unit: 'ms',
    meaning: 'Wait until a broker is asked again for a topic that was just made.',
    beyond: 'It is asked again.',
  },
  brokersWait: {
    value: 5000,
    unit: 'ms',
    meaning:
      'Wait for as many brokers as a topic is to have copies: those of a cluster that starts come one by one.',
    beyond: 'The start fails with `bus.refused`, which names `kafka.replication`.',
  },
  sessionTimeout: {
    value: 6000,
    unit: 'ms',
    meaning: 'How long a node that is not heard of keeps its partitions.',
    beyond: 'Other nodes get them.',
  },
  heartbeatInterval: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often a node says that it is there, and hears that others came or went.',
    beyond: 'Partitions move that much later.',
  },
  heartbeatCheck: {
    value: 250,
    unit: 'ms',
    meaning: 'How often it is looked at whether the group still answers.',
    beyond: 'A silence is noticed that much later.',
  },
  groupSilence: {
    value: 12_000,
    unit: 'ms',
    meaning: 'How long the group may be silent while Kafka answers.',
    beyond: 'The node leaves it and joins anew.',
  },
  shareWait: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long a group may count on a node that has not been told its partitions.',
    beyond: 'The node leaves it and joins anew.',
  },
  probeInterval: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often a node whose group is silent asks whether Kafka answers at all.',
    beyond: 'A silence is noticed that much later.',
  },
  logCheck: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How often a node looks whether the topic of commands is still the same one.',
    beyond: 'It is noticed that much later that somebody made it anew, unless its absence was seen.',
  },
  rejoinWait: {
    value: 500,
    unit: 'ms',
    meaning: 'Wait before a node joins its group anew; doubles with each failure.',
    beyond: 'It has no partitions meanwhile.',
  },
  longestRejoinWait: {
    value: 4000,
    unit: 'ms',
    meaning: 'Longest wait before a node joins its group anew.',
    beyond: 'It does not grow further.',
  },
  groupRetries: {
    value: 1000,
    unit: 'attempts',
    meaning: 'How often the client itself repeats what failed, each after half a second at most.',
    beyond: 'The node leaves the group and joins anew.',
  },
  groupRetryWait: {
    value: 500,
    unit: 'ms',
    meaning: 'Longest wait of the client itself before it repeats something.',
    beyond: 'It does not grow further.',
  },
  placeInterval: {
    value: 5000,
    unit: 'ms',
    meaning: "How often Kafka is told how far a node has come, for its operator's lag metrics alone.",
    beyond: 'Those metrics are that much older.',
  },
  closeTimeout: {
    value: 2000,
    unit: 'ms',
    meaning: 'Saying goodbye to the group, and waiting for what was sent.',
    beyond: 'Connections are cut; others get the partitions after the session timeout.',
  },
  logInterval: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Shortest time between two log lines of the Kafka client with the same text.',
    beyond: 'They are counted, and the next line has the count.',
  },
  logTexts: {
    value: 100,
    unit: 'texts',
    meaning: 'Texts of log lines that are remembered.',
    beyond: 'The oldest is forgotten.',
  },
});

/** What topics are made with. */
export const topicLimits = limitTable('kafka: topics', {
  commandRetention: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long commands are kept. The store may be rolled back that far.',
    beyond: 'Kafka removes them.',
  },
  eventRetention: {
    value: 7 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long events are kept for readers outside.',
    beyond: 'Kafka removes them.',
  },
  deadRetention: {
    value: 30 * 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long buried records are kept.',
    beyond: 'Kafka removes them.',
  },
  replyRetention: {
    value: 600_000,
    unit: 'ms',
    meaning: 'How long what a node was told is kept.',
    beyond: 'Kafka removes it: a node that was away for longer misses it.',
  },
  messageBytes: {
    value: 4 * 1_048_576,
    unit: 'bytes',
    meaning: 'A batch of records on a topic.',
    beyond: 'Kafka refuses it. A command is smaller: 413 `bus.too_large`.',
  },
});

export const sending = valuesOf(sendLimits);
export const reading = valuesOf(readLimits);
export const group = valuesOf(groupLimits);
export const topic = valuesOf(topicLimits);
