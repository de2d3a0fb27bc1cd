import { Kafka as Client, logLevel } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { until } from '../e2e/harness/wait.ts';
import type { Kafka } from '../kit/engines/kafka-broker.ts';
import { engineFor } from '../kit/engines.ts';

const kafka = await engineFor('kafka');

describe.skipIf(kafka.isMissing)('a Kafka broker', () => {
  it('takes topics and records, and keeps them over a kill and over a stop', async () => {
    const engine = await kafka.shared();
    await createTopic(engine, 'kept');
    await send(engine, { topic: 'kept', values: ['a', 'b'] });
    const { brokers } = engine;
    await engine.kill();
    await engine.restart();
    expect(engine.brokers).toEqual(brokers);
    expect(await readAll(engine, { topic: 'kept', count: 2 })).toEqual(['a', 'b']);
    await engine.stop();
    await engine.restart();
    await send(engine, { topic: 'kept', values: ['c'] });
    expect(await readAll(engine, { topic: 'kept', count: 3 })).toEqual(['a', 'b', 'c']);
  });

  it('makes no topic by itself', async () => {
    const engine = await kafka.shared();
    await expect(send(engine, { topic: 'nobody-made-it', values: ['a'] })).rejects.toThrow(/topic-partition/);
  });

  it('answers nothing while it is frozen, and goes on afterwards', async () => {
    const engine = await kafka.shared();
    await createTopic(engine, 'frozen');
    await engine.freeze();
    const sent = send(engine, { topic: 'frozen', values: ['a'] });
    const first = await Promise.race([sent, Bun.sleep(500).then(() => 'silence')]);
    engine.thaw();
    expect(first).toBe('silence');
    await sent;
    expect(await readAll(engine, { topic: 'frozen', count: 1 })).toEqual(['a']);
  });

  it('runs beside another, each with its own topics and settings', async () => {
    const [engine, other] = await Promise.all([
      kafka.shared(),
      kafka.start({ settings: { 'message.max.bytes': '2000' } }),
    ]);
    expect(other.port).not.toBe(engine.port);
    await createTopic(other, 'other');
    const admin = clientOf(engine).admin();
    await admin.connect();
    expect(await admin.listTopics()).not.toContain('other');
    await admin.disconnect();
    await expect(send(other, { topic: 'other', values: ['a'.repeat(5000)] })).rejects.toThrow(/larger than/);
  });
});

const clientOf = ({ brokers }: Kafka) =>
  new Client({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 3 } });

async function createTopic(engine: Kafka, topic: string): Promise<void> {
  const admin = clientOf(engine).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
}

async function send(
  engine: Kafka,
  { topic, values }: { topic: string; values: readonly string[] },
): Promise<void> {
  const producer = clientOf(engine).producer();
  await producer.connect();
  try {
    await producer.send({ topic, messages: values.map((value) => ({ value })), acks: -1 });
  } finally {
    await producer.disconnect();
  }
}

/** Through a group of its own, from the beginning. */
async function readAll(
  engine: Kafka,
  { topic, count }: { topic: string; count: number },
): Promise<(string | undefined)[]> {
  const consumer = clientOf(engine).consumer({
    groupId: `reader-${crypto.randomUUID()}`,
    maxWaitTimeInMs: 100,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const read: (string | undefined)[] = [];
  await consumer.run({ eachMessage: async ({ message }) => void read.push(message.value?.toString()) });
  await until(`${count} records of ${topic}`, () => read.length >= count, { within: 30_000 });
  await consumer.disconnect();
  return read;
}
