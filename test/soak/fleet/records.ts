import { Kafka, logLevel } from 'kafkajs';
import { until } from '../../e2e/harness/wait.ts';

export interface Record {
  readonly partition: number;
  readonly offset: number;
  readonly at: number;
  readonly key: string;
  readonly value: string;
}

/** Resolves when groups have a coordinator. */
export async function coordinated(brokers: string[]): Promise<void> {
  const consumer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).consumer({ groupId: 'anybody' });
  await consumer.connect();
  const isThere = () => consumer.describeGroup().then(Boolean, () => false);
  await until('a coordinator', isThere, { within: 60_000 });
  await consumer.disconnect();
}

/** Everything that is on these topics now, by topic, in order for each partition. */
export async function readTopics(
  brokers: string[],
  topics: readonly string[],
): Promise<Map<string, Record[]>> {
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, clientId: 'soak' });
  const admin = kafka.admin();
  await admin.connect();
  const ends = new Map<string, number>();
  for (const topic of topics) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      if (Number(high) > Number(low)) ends.set(`${topic}/${partition}`, Number(high) - 1);
    }
  }
  const found = new Map<string, Record[]>(topics.map((topic) => [topic, []]));
  const groupId = `soak-${process.pid}-${Date.now()}`;
  if (ends.size > 0) {
    const consumer = kafka.consumer({ groupId });
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    const all = Promise.withResolvers<void>();
    await consumer.run({
      autoCommit: false,
      async eachMessage({ topic, partition, message }) {
        const end = ends.get(`${topic}/${partition}`);
        const offset = Number(message.offset);
        if (end === undefined || offset > end) return;
        found.get(topic)?.push({
          ...{ partition, offset, at: Number(message.timestamp) },
          key: message.key?.toString() ?? '',
          value: message.value?.toString() ?? '',
        });
        if (offset === end) ends.delete(`${topic}/${partition}`);
        if (ends.size === 0) all.resolve();
      },
    });
    const late = setTimeout(() => all.reject(new Error(`not read: ${[...ends.keys()]}`)), 120_000);
    await all.promise;
    clearTimeout(late);
    await consumer.disconnect();
  }
  await admin.disconnect();
  for (const records of found.values()) {
    records.sort((one, other) => one.partition - other.partition || one.offset - other.offset);
  }
  return found;
}
