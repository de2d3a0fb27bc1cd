import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';
import { afterEach, describe, expect, test } from 'vitest';
import { kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { held, numbers, type Witness, witness } from './check.ts';
import { type OpenedKafka, openedKafka } from './kafka-opened.ts';

const engine = await engineFor('kafka');
const opens: OpenedKafka[] = [];

afterEach(async () => {
  for (const opened of opens.splice(0)) await opened.close();
});

async function open(
  broker?: { brokers: string[] },
  options?: Parameters<typeof openedKafka>[1],
): Promise<OpenedKafka> {
  const { brokers } = broker ?? (await engine.shared());
  const opened = openedKafka(brokers, options);
  opens.push(opened);
  return opened;
}

/** What several owners have handled, as a store would keep it: each record once, in order, whoever has the partition. */
function ledger(partitions: number) {
  const places = new Map<number, number>();
  const values = new Map<number, string[]>(numbers(partitions).map((partition) => [partition, []]));
  const skipped: string[] = [];
  const owner = () =>
    witness({
      assigned: async (partition, { first }) => places.get(partition) ?? first,
      async records(partition, records) {
        for (const { offset, value } of records) {
          const place = places.get(partition) ?? 0;
          if (offset < place) continue;
          if (offset > place) skipped.push(`${partition}: ${place} to ${offset}`);
          places.set(partition, offset + 1);
          values.get(partition)?.push(value);
        }
      },
    });
  return { owner, values, skipped, all: () => [...values.values()].flat() };
}

/** Sends numbered records without end, a few at a time, each again until it is acknowledged or unknown. */
function sender(opened: OpenedKafka, bus: Awaited<ReturnType<OpenedKafka['node']>>) {
  const acknowledged: string[] = [];
  const failed: { value: string; code: string; after: number }[] = [];
  let isOn = true;
  const lane = async (partition: number) => {
    for (let n = 0; isOn; n++) {
      const value = `${partition}/${n}`;
      const from = Date.now();
      try {
        await bus.send({ partition, key: 'k', value });
        acknowledged.push(value);
      } catch (error) {
        failed.push({ value, code: (error as { code: string }).code, after: Date.now() - from });
      }
      await opened.pass(10);
    }
  };
  const done = Promise.all(numbers(opened.partitions).map(lane));
  return {
    acknowledged,
    failed,
    async stop() {
      isOn = false;
      await done;
    },
  };
}

/** Every acknowledged record is there once, in its order; nothing is there twice. */
function expectComplete(kept: ReturnType<typeof ledger>, acknowledged: readonly string[]): void {
  expect(kept.skipped).toEqual([]);
  const all = kept.all();
  expect(new Set(all).size).toBe(all.length);
  const there = new Set(all);
  expect(acknowledged.filter((value) => !there.has(value))).toEqual([]);
  for (const values of kept.values.values()) {
    const order = values.map((value) => Number(value.split('/')[1]));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  }
}

const lastReached = (owner: Witness, partition: number) =>
  owner.words.findLast((word) => word.kind === 'reached' && word.partition === partition);

describe.skipIf(engine.isMissing)('the bus on Kafka, in trouble', () => {
  test.each([
    ['killed and started again', 'kill'],
    ['stopped and started again', 'stop'],
    ['frozen for 20 s', 'freeze'],
  ] as const)(
    'a broker that is %s: nothing acknowledged is lost, repeated or out of order, and all goes on',
    async (_, fault) => {
      const broker = await engine.start();
      const opened = await open(broker);
      const [a, b] = [await opened.node('a'), await opened.node('b')];
      const kept = ledger(opened.partitions);
      const owners = [kept.owner(), kept.owner()];
      await a.own(owners[0]!);
      await b.own(owners[1]!);
      const heard: string[] = [];
      await b.listen((message) => heard.push(message));
      await opened.until('shares', () => owners.every(({ has }) => has.size === 2));
      const sending = sender(opened, a);
      await opened.until('traffic', () => kept.all().length > 100);
      const before = Date.now();
      if (fault === 'freeze') {
        await broker.freeze();
        await opened.pass(20_000);
        broker.thaw();
      } else {
        await (fault === 'kill' ? broker.kill() : broker.stop());
        await opened.pass(1000);
        await broker.restart();
      }
      const back = Date.now();
      const count = sending.acknowledged.length;
      await opened.until('sending goes on', () => sending.acknowledged.length > count + 20);
      const sentAfter = Date.now() - back;
      await opened.until('all is owned', () => `${held(...owners)}` === `${numbers(opened.partitions)}`);
      const at = Date.now();
      await opened.until('time is reached', () =>
        numbers(opened.partitions).every((partition) =>
          owners.some((owner) => {
            const word = lastReached(owner, partition);
            return word?.kind === 'reached' && word.at > at;
          }),
        ),
      );
      const allAfter = Date.now() - back;
      await a.tell('b', '"after"');
      await opened.until('words go on', () => heard.includes('"after"'));
      await sending.stop();
      await opened.until('the rest', () => {
        const there = new Set(kept.all());
        return sending.acknowledged.every((value) => there.has(value));
      });
      console.log(
        `${fault}: away ${back - before} ms; sending after ${sentAfter} ms, everything after ${allAfter} ms; ` +
          `${sending.acknowledged.length} acknowledged, failed: ${JSON.stringify(sending.failed.slice(0, 5))}`,
      );
      // How long they wait is shown by the pump's own tests, in virtual time.
      for (const { code } of sending.failed) expect(['bus.unknown', 'bus.unreachable']).toContain(code);
      expectComplete(kept, sending.acknowledged);
      for (const owner of owners) owner.check();
      await broker[Symbol.asyncDispose]();
    },
  );

  test('a consumer process that is killed: another takes over, and nothing is skipped', async () => {
    const opened = await open();
    const a = await opened.node('a');
    const kept = ledger(opened.partitions);
    const owner = kept.owner();
    await a.own(owner);
    await opened.until('all', () => owner.has.size === opened.partitions);
    const child = spawn(process.execPath, [join(import.meta.dirname, 'kafka-child.ts')], {
      env: {
        ...process.env,
        BUS_OPTIONS: JSON.stringify({
          brokers: opened.options('b').brokers,
          namespace: opened.namespace,
          partitions: opened.partitions,
        }),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let words = 0;
      createInterface({ input: child.stdout }).on('line', () => {
        words += 1;
      });
      await opened.until('the other has its share', () => owner.has.size === 2 && words >= 2);
      const sending = sender(opened, a);
      await opened.until('traffic for both', () => words > 50 && kept.all().length > 50);
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
      const killed = Date.now();
      await opened.until('take-over', () => owner.has.size === opened.partitions);
      console.log(`killed consumer: taken over after ${Date.now() - killed} ms`);
      await opened.pass(500);
      await sending.stop();
      await opened.until('all', () => kept.all().length >= sending.acknowledged.length);
      expect(sending.failed).toEqual([]);
      expectComplete(kept, sending.acknowledged);
      owner.check();
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('ten nodes come and go under traffic: nothing is lost or skipped', async () => {
    const opened = await open();
    const a = await opened.node('a');
    const kept = ledger(opened.partitions);
    const owner = kept.owner();
    await a.own(owner);
    const sending = sender(opened, a);
    for (const n of numbers(10)) {
      const bus = await opened.node(`b${n % 3}`);
      const other = kept.owner();
      const leave = await bus.own(other);
      await opened.until('a share', () => other.has.size > 0);
      await opened.pass(100 * (n % 4));
      await leave();
      await bus.close();
      other.check();
    }
    await opened.until('all again', () => owner.has.size === opened.partitions);
    await sending.stop();
    await opened.until('all', () => kept.all().length >= sending.acknowledged.length);
    expect(sending.failed).toEqual([]);
    expectComplete(kept, sending.acknowledged);
    owner.check();
  });

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

  test('a node that owns nothing knows that the broker is away, and that it is back', async () => {
    const broker = await engine.start();
    const opened = await open(broker);
    const bus = await opened.node('a');
    await bus.ping();
    for (const [away, back] of [
      [() => broker.freeze(), async () => broker.thaw()],
      [() => broker.kill(), () => broker.restart()],
    ] as const) {
      await away();
      const silent = { code: 'bus.unreachable', status: 503, retryAfter: 1 };
      await expect(bus.ping()).rejects.toMatchObject(silent);
      await back();
      let isBack = false;
      void (async () => {
        while (!isBack)
          isBack = await bus.ping().then(
            () => true,
            () => false,
          );
      })();
      await opened.until('an answer', () => isBack);
    }
    await broker[Symbol.asyncDispose]();
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

  test.each(['freeze', 'kill'] as const)(
    'closing does not wait for a broker that is gone (%s)',
    async (fault) => {
      // One of its own: who was frozen for long is not let into its cluster at once.
      await using broker = await engine.start();
      const opened = await open(broker);
      const bus = await opened.node('a');
      const owner = witness();
      await bus.own(owner);
      await bus.listen(() => {});
      await opened.until('all', () => owner.has.size === opened.partitions);
      await bus.send({ partition: 0, key: 'k', value: '1' });
      await broker[fault]();
      const waiting = bus.send({ partition: 0, key: 'k', value: '2' }).catch((error) => error);
      await opened.pass(100);
      // Nobody answers before it has resolved.
      await bus.close();
      expect(await waiting).toMatchObject({ status: 503 });
      expect(held(owner)).toEqual([]);
    },
  );
});
