import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { numbers, witness } from './check.ts';
import { kafkaOpener } from './kafka-opened.ts';

const engine = await engineFor('kafka');
const open = kafkaOpener(engine);

describe.skipIf(engine.isMissing)('the topics of the bus on Kafka', () => {
  test('another count of partitions is refused by name', async () => {
    const opened = await open();
    await opened.node('a');
    const other = kafkaBus({ ...opened.options('b'), partitions: 5 });
    const error = await other.open().catch((fault) => fault);
    await other.close();
    expect(error).toMatchObject({ code: 'bus.partitions', status: 500 });
    expect(error.message).toContain(`${opened.namespace}.commands has 4 partitions; kafka.partitions is 5`);
  });

  test('nobody at the address is told by name', async () => {
    const opened = await open({ brokers: ['127.0.0.1:1'] });
    const bus = kafkaBus(opened.options('a'));
    const error = await bus.open().catch((fault) => fault);
    expect(error).toMatchObject({ code: 'bus.unreachable', status: 503 });
    expect(error.message).toContain('127.0.0.1:1');
    await bus.close();
  });

  test('the log has an identity that lasts, and a topic that is made anew has another', async () => {
    const opened = await open();
    const { brokers } = await engine.shared();
    const bus = await opened.node('a');
    const { log } = await bus.open();
    expect((await (await opened.node('b')).open()).log).toBe(log);
    await bus.send({ partition: 0, key: 'k', value: '1' });
    const owner = witness();
    await bus.own(owner);
    await opened.until('delivery', () => owner.values().length === 1);

    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 5 } }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${opened.namespace}.commands`] });
    await opened.pass(1000);
    const fresh = await opened.node('c');
    const made = await fresh.open();
    expect(made.log).not.toBe(log);
    // The node that knows the old log delivers nothing of the new one.
    await fresh.send({ partition: 0, key: 'k', value: 'of another log' });
    const words = owner.words.length;
    await opened.until('the node says why', () => opened.log.some((line) => line.includes('start it again')));
    await opened.pass(2000);
    expect(owner.words.slice(words).filter(({ kind }) => kind === 'records')).toEqual([]);
    expect(owner.values()).toEqual(['1']);
    await admin.disconnect();
  });

  test('a record whose retention has passed under the reader begins the partition anew, with what there is', async () => {
    const opened = await open();
    const { brokers } = await engine.shared();
    const bus = await opened.node('a');
    for (const n of numbers(10)) await bus.send({ partition: 0, key: 'k', value: `${n}` });
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 5 } }).admin();
    await admin.connect();
    await admin.fetchTopicMetadata({ topics: [`${opened.namespace}.commands`] });
    await admin.deleteTopicRecords({
      topic: `${opened.namespace}.commands`,
      partitions: [{ partition: 0, offset: '6' }],
    });
    await admin.disconnect();
    let from = 2;
    const owner = witness({
      assigned: async (partition, { first }) => (partition === 0 && from < first ? from++ * 2 : first),
    });
    await bus.own(owner);
    await opened.until('delivery', () => owner.values(0).length === 4);
    expect(owner.values(0)).toEqual(['6', '7', '8', '9']);
    expect(owner.words.find(({ kind, partition }) => kind === 'assigned' && partition === 0)).toMatchObject({
      range: { first: 6, next: 10 },
    });
    owner.check();
  });

  test('readers outside see events in order for each key, and buried records with their reason', async () => {
    const opened = await open();
    const { brokers } = await engine.shared();
    const bus = await opened.node('a');
    for (const n of numbers(30)) await bus.publish([{ key: `k${n % 3}`, value: `${n}` }]);
    await bus.bury({ partition: 3, offset: 17, at: 1234, key: 'who', value: '{"no' }, 'not JSON: ü');
    const consumer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).consumer({
      groupId: opened.namespace,
    });
    await consumer.connect();
    const seen: { topic: string; key: string; value: string; headers: Record<string, string> }[] = [];
    const topics = [`${opened.namespace}.events`, `${opened.namespace}.dead`];
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ topic, message: { key, value, headers } }) => {
        const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)]);
        seen.push({ topic, key: `${key}`, value: `${value}`, headers: Object.fromEntries(texts) });
      },
    });
    await opened.until('all', () => seen.length >= 31);
    await consumer.disconnect();
    for (const key of ['k0', 'k1', 'k2'])
      expect(seen.filter((one) => one.key === key).map(({ value }) => Number(value))).toEqual(
        numbers(30).filter((n) => `k${n % 3}` === key),
      );
    expect(seen.find(({ topic }) => topic === topics[1])).toEqual({
      topic: topics[1],
      key: 'who',
      value: '{"no',
      headers: { partition: '3', offset: '17', at: '1234', reason: 'not JSON: ü' },
    });
  });

  test('of events one of which is too large for the topic, the others are there, each once', async () => {
    const opened = await open();
    const { brokers } = await engine.shared();
    const bus = await opened.node('a');
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 5 } }).admin();
    await admin.connect();
    const topic = `${opened.namespace}.events`;
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: topic,
          configEntries: [{ name: 'max.message.bytes', value: '100000' }],
        },
      ],
    });
    const large = 'x'.repeat(150_000);
    const records = ['1', large, '2', '3'].map((value) => ({ key: 'k', value }));
    const tooLarge = { code: 'bus.too_large', status: 413 };
    // A broker hears of the setting a moment later.
    let refusal: unknown;
    await opened.until('a refusal', () => {
      bus.publish([records[1] as (typeof records)[0]]).catch((error) => {
        refusal = error;
      });
      return refusal !== undefined;
    });
    await opened.pass(500);
    const offsets = async () => (await admin.fetchTopicOffsets(topic)).map(({ offset }) => Number(offset));
    const before = (await offsets()).reduce((sum, one) => sum + one);
    await expect(bus.publish(records)).rejects.toMatchObject(tooLarge);
    await bus.publish([{ key: 'k', value: '4' }]);
    expect((await offsets()).reduce((sum, one) => sum + one) - before).toBe(4);
    await admin.disconnect();
  });
});
