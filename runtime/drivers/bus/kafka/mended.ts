/**
 * kafkajs 2.2.4, mended in three places for the whole process, whoever makes the client. It is loaded by the first call.
 *
 * Its request queue (tulios/kafkajs#1751) arms a timer after every request for the end of a throttling that there is not, with a
 * negative time: the runtime warns of it on stderr and makes it 1 ms, and as each such timer arms the next, every idle connection
 * wakes the process 1000 times a second. A timer is needed only while something waits, or must.
 *
 * Where it wants to know the brokers alone it asks about every topic of the cluster, and takes one without a leader, whosever that
 * is, for a failure of the question. Here it asks about none; about all only where all are wanted.
 *
 * Of a topic of which one partition has no leader it knows nothing at all, so that nothing is sent to the others or read from them.
 * Here that partition has the leader -1, as Kafka says (`test/conformance/bus/kafka-brokers.e2e.ts`).
 */
export async function mendedKafkajs(): Promise<typeof import('kafkajs')> {
  mending ??= Promise.all([mendQueue(), mendMetadata()]);
  await mending;
  return import('kafkajs');
}

let mending: Promise<unknown> | undefined;

async function mendQueue(): Promise<void> {
  const { prototype } = (await inside<{ prototype: RequestQueue }>('network/requestQueue')).default;
  const { scheduleCheckPendingRequests: schedule } = prototype;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
}

async function mendMetadata(): Promise<void> {
  const requests = (await inside<MetadataRequests>('protocol/requests/metadata')).default;
  const { protocol } = requests;
  requests.protocol = (version) => {
    const exchange = protocol(version);
    return (asked) => {
      if (asked.topics.includes(everyTopic)) return exchange({ ...asked, topics: [] });
      const one = exchange(asked);
      const response = {
        ...one.response,
        parse: (answer: Answered) => one.response.parse(tolerated(answer)),
      };
      const request = asked.topics.length > 0 ? one.request : aboutNone(one.request);
      return { ...one, request, response };
    };
  };
  // Called without anything it is asked for all: by `listTopics`, and for subscriptions to a pattern. `fetchTopicMetadata` without
  // names, which nobody here calls, answers none.
  const { prototype } = (await inside<{ prototype: MetadataCluster }>('cluster')).default;
  const { metadata } = prototype;
  prototype.metadata = function (asked = { topics: [everyTopic] }) {
    return metadata.call(this, asked);
  };
}

/** Error code of Kafka. */
const leaderNotAvailable = 5;

/** Without the errors of partitions that have no leader. */
function tolerated(answer: Answered): Answered {
  for (const { partitionMetadata } of answer.topicMetadata)
    for (const one of partitionMetadata)
      if (one.partitionErrorCode === leaderNotAvailable) one.partitionErrorCode = 0;
  return answer;
}

/** No topic has this name. */
const everyTopic = '*';

/** It begins with the number of topics: -1, which means all, where kafkajs has none to name. */
function aboutNone(request: MetadataRequest): MetadataRequest {
  return {
    ...request,
    async encode() {
      const encoder = await request.encode();
      encoder.buffer.writeInt32BE(0, 0);
      return encoder;
    },
  };
}

function inside<T>(folder: string): Promise<{ default: T }> {
  return import(`kafkajs/src/${folder}/index.js`);
}

/** What kafkajs keeps to itself. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Epoch ms; -1 at first. */
  readonly throttledUntil: number;
  scheduleCheckPendingRequests(): void;
}

type AskedTopics = { readonly topics: readonly string[] };
/** What is sent, in memory that may be written to. */
type MetadataRequest = { encode(): Promise<{ readonly buffer: Buffer }> };
type Answered = {
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly { partitionErrorCode: number }[];
  }[];
};
type MetadataRequests = {
  protocol(of: {
    version: number;
  }): (asked: AskedTopics) => { request: MetadataRequest; response: { parse(answer: Answered): unknown } };
};
type MetadataCluster = { metadata(asked?: AskedTopics): Promise<unknown> };
