import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { until } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { held, numbers } from './check.ts';
import { expectComplete, ledger, sender } from './kafka-ledger.ts';
import { openedKafka } from './kafka-opened.ts';

const engine = await engineFor('kafka');

describe.skipIf(engine.isMissing)('the bus on a Kafka of two brokers', () => {
  test.each(['kill', 'freeze'] as const)(
    'one that leads some of the partitions is gone (%s) and comes back: nothing is lost, repeated or out of order',
    async (fault) => {
      await using first = await engine.start();
      await coordinated(first.brokers);
      await using second = await engine.start({ joins: first });
      const opened = openedKafka(first.brokers, { more: { replication: 2, minInsync: 1 } });
      try {
        const [a, b] = [await opened.node('a'), await opened.node('b')];
        const kept = ledger(opened.partitions);
        const owners = [kept.owner(), kept.owner()];
        await a.own(owners[0]!);
        await b.own(owners[1]!);
        await opened.until('shares', () => owners.every(({ has }) => has.size === 2));
        const sending = sender(opened, a);
        await opened.until('traffic', () => kept.all().length > 100);
        const goesOn = async () => {
          const counts = new Map([...kept.values].map(([partition, { length }]) => [partition, length]));
          const isRead = (partition: number) =>
            (kept.values.get(partition)?.length ?? 0) > (counts.get(partition) ?? 0) + 10;
          await opened.until('all goes on', () => numbers(opened.partitions).every(isRead));
        };
        await second[fault]();
        const gone = Date.now();
        await goesOn();
        const without = Date.now() - gone;
        if (fault === 'freeze') second.thaw();
        else await second.restart();
        const back = Date.now();
        await goesOn();
        console.log(`${fault}: without it after ${without} ms; with it after ${Date.now() - back} ms`);
        await opened.until('all is owned', () => `${held(...owners)}` === `${numbers(opened.partitions)}`);
        await sending.stop();
        await opened.until('the rest', () => {
          const there = new Set(kept.all());
          return sending.acknowledged.every((value) => there.has(value));
        });
        for (const { code } of sending.failed) expect(['bus.unknown', 'bus.unreachable']).toContain(code);
        expectComplete(kept, sending.acknowledged);
        for (const owner of owners) owner.check();
      } finally {
        await opened.close();
      }
    },
  );
});

describe.skipIf(engine.isMissing)('the bus on a Kafka of two brokers without copies', () => {
  test('partitions of a broker that is gone hold up no others', async () => {
    await using first = await engine.start();
    await coordinated(first.brokers);
    await using second = await engine.start({ joins: first });
    const opened = openedKafka(first.brokers, { more: { replication: 1, minInsync: 1 } });
    try {
      const bus = await opened.node('a');
      const kept = ledger(opened.partitions);
      await bus.own(kept.owner());
      const sending = sender(opened, bus);
      const counts = () =>
        numbers(opened.partitions).map((partition) => kept.values.get(partition)?.length ?? 0);
      await opened.until('traffic', () => counts().every((count) => count > 20));
      await second.kill();
      // What was read before and lay on its way.
      await opened.pass(1000);
      for (const look of numbers(4)) {
        const before = counts();
        await opened.pass(5000);
        const gained = counts().map((count, partition) => count - (before[partition] ?? 0));
        console.log(`look ${look}: ${gained}`);
        expect(gained.filter((more) => more > 10).length).toBeGreaterThanOrEqual(1);
      }
      await second.restart();
      const before = counts();
      await opened.until('all goes on', () => counts().every((count, n) => count > (before[n] ?? 0) + 10));
      await sending.stop();
      await opened.until('the rest', () => {
        const there = new Set(kept.all());
        return sending.acknowledged.every((value) => there.has(value));
      });
      expectComplete(kept, sending.acknowledged);
    } finally {
      await opened.close();
    }
  });
});

/** The topic of the groups is made where a group is first looked for, and has one copy: here. */
async function coordinated(brokers: string[]): Promise<void> {
  const consumer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).consumer({ groupId: 'anybody' });
  await consumer.connect();
  const isThere = () => consumer.describeGroup().then(Boolean, () => false);
  await until('a coordinator', isThere, { within: 60_000 });
  await consumer.disconnect();
}
