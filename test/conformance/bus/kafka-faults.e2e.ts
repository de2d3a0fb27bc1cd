import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { engineFor } from '../../kit/engines.ts';
import { held, numbers, witness } from './check.ts';
import { expectComplete, ledger, sender } from './kafka-ledger.ts';
import { kafkaOpener } from './kafka-opened.ts';

const engine = await engineFor('kafka');
const open = kafkaOpener(engine);

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
      const counts = numbers(opened.partitions).map((partition) => kept.values.get(partition)?.length ?? 0);
      await opened.until('all is read', () =>
        counts.every((before, partition) => (kept.values.get(partition)?.length ?? 0) > before),
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
