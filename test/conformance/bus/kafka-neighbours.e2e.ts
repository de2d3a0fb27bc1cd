import { type Admin, Kafka, logLevel } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { until } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { numbers, witness } from './check.ts';
import { openedKafka } from './kafka-opened.ts';

const engine = await engineFor('kafka');
const theirs = 'somebody-elses';

describe.skipIf(engine.isMissing)('the bus on a Kafka that others use as well', () => {
  test('whatever is wrong with their topics, a node makes its own, checks them and takes its partitions', async () => {
    const broker = await engine.start();
    const gone = await engine.start({ joins: broker });
    const admin = new Kafka({
      brokers: broker.brokers,
      logLevel: logLevel.NOTHING,
      retry: { retries: 0 },
    }).admin();
    await admin.connect();
    await admin.createTopics({
      topics: [{ topic: theirs, replicaAssignment: [{ partition: 0, replicas: [gone.nodeId] }] }],
    });
    expect(await admin.listTopics()).toContain(theirs);
    await gone.stop();
    await until('a topic without a leader', async () => (await troubleOf(admin)) === 'LEADER_NOT_AVAILABLE', {
      within: 60_000,
    });

    const opened = openedKafka(broker.brokers);
    try {
      const a = await opened.node('a');
      const { log } = await a.open();
      // Its topics are there now, but for one.
      const b = await opened.node('b');
      expect((await b.open()).log).toBe(log);
      const owner = witness();
      await a.own(owner);
      const heard: string[] = [];
      await b.listen((message) => heard.push(message));
      for (const partition of numbers(opened.partitions))
        await b.send({ partition, key: 'k', value: `${partition}` });
      await a.tell('b', '"word"');
      await a.ping();
      await opened.until('all', () => owner.values().length === opened.partitions && heard.length === 1);
      owner.check();

      const more = kafkaBus({ ...opened.options('c'), partitions: 5 });
      await expect(more.open()).rejects.toMatchObject({ code: 'bus.partitions' });
      await more.close();
      const copied = kafkaBus({ ...opened.options('d'), replication: 3 });
      await expect(copied.open()).rejects.toMatchObject({ code: 'bus.refused' });
      await copied.close();
      expect(await troubleOf(admin)).toBe('LEADER_NOT_AVAILABLE');
    } finally {
      await opened.close();
    }
    await gone.restart();
    await until('its return', async () => (await troubleOf(admin)) === undefined, { within: 60_000 });
    expect(await admin.listTopics()).toEqual(
      expect.arrayContaining([theirs, ...topicsOf(opened.namespace, ['a', 'b', 'c'])]),
    );
    await admin.disconnect();
  });
});

/** What is wrong with the topic of somebody else. */
async function troubleOf(admin: Admin): Promise<string | undefined> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [theirs] });
    // As the mended kafkajs says it, which this process has from its first bus on.
    return topics[0]?.partitions[0]?.leader === -1 ? 'LEADER_NOT_AVAILABLE' : undefined;
  } catch (error) {
    const { type, cause } = error as { type?: string; cause?: { type?: string } };
    return type ?? cause?.type ?? String(error);
  }
}

const topicsOf = (namespace: string, nodes: readonly string[]) =>
  ['commands', 'events', 'dead', ...nodes.map((node) => `replies.${node}`)].map(
    (name) => `${namespace}.${name}`,
  );
