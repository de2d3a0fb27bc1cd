import { describe, expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { Bus } from '../../../core/ports/bus.ts';
import { memoryBroker } from '../../kit/bus/broker.ts';
import { memoryBus } from '../../kit/bus/memory-bus.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { held, numbers, type OpenedBus, witness } from './check.ts';
import { checkOf, mutants } from './mutants.ts';
import { busChecks } from './suite.ts';

const partitions = 4;

function engine(wrap: (bus: Bus) => Bus = (bus) => bus) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const broker = memoryBroker({ clock });
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} });
  const buses: Bus[] = [];
  const opened: OpenedBus = {
    partitions,
    async node(name) {
      const bus = wrap(memoryBus({ broker, node: name, partitions, clock, log }));
      await bus.open();
      buses.push(bus);
      return bus;
    },
    pass: (ms) => clock.advance(ms),
    async until(what, holds) {
      for (let tries = 0; tries < 500; tries++) {
        if (holds()) return;
        await clock.advance(20);
      }
      throw new Error(`never: ${what}`);
    },
    now: clock.now,
  };
  const close = async () => {
    await Promise.all(buses.map((bus) => bus.close()));
    await clock.advance(10_000);
    expect(clock.pending()).toBe(0);
  };
  return { clock, broker, opened, close, log };
}

describe('bus: memory', () => {
  test.each(busChecks)('$name', async (check) => {
    const { opened, close } = engine();
    await check.run(opened);
    await close();
  });

  test('another count of partitions is refused', async () => {
    const { broker, clock, log, opened } = engine();
    await opened.node('a');
    const other = memoryBus({ broker, node: 'b', partitions: 5, clock, log });
    await expect(other.open()).rejects.toMatchObject({ code: 'bus.partitions' });
  });

  test('a node that is cut off loses its partitions to others, and gets some when it is mended', async () => {
    const { broker, opened, close } = engine();
    const [a, b] = [await opened.node('a'), await opened.node('b')];
    const [first, second] = [witness(), witness()];
    await a.own(first);
    await b.own(second);
    await opened.pass(0);
    broker.cut('a');
    const lost = a.send({ partition: 0, key: 'k', value: 'lost' }).catch((error) => error);
    await opened.pass(6000);
    expect(await lost).toMatchObject({ code: 'bus.unknown', status: 503, retryAfter: 1 });
    expect(held(first)).toEqual([]);
    expect(held(second)).toEqual(numbers(partitions));
    broker.mend('a');
    await opened.pass(0);
    expect(held(first, second)).toEqual(numbers(partitions));
    expect(held(first)).toHaveLength(2);
    first.check();
    second.check();
    await close();
  });

  test('a node that sleeps through its session believes in its partitions until it wakes', async () => {
    const { broker, opened, close } = engine();
    const [a, b] = [await opened.node('a'), await opened.node('b')];
    const [first, second] = [witness(), witness()];
    await a.own(first);
    await b.own(second);
    await opened.pass(0);
    broker.cut('a', { sleeps: true, arrives: true });
    const sent = a.send({ partition: 0, key: 'k', value: 'written' }).catch((error) => error);
    await opened.pass(6000);
    expect(await sent).toMatchObject({ code: 'bus.unknown' });
    expect(held(first)).toHaveLength(2);
    expect(held(second)).toEqual(numbers(partitions));
    expect(second.values()).toEqual(['written']);
    broker.mend('a');
    await opened.pass(0);
    expect(held(first, second)).toEqual(numbers(partitions));
    await close();
  });

  test('words to a node that is cut off come when it is mended', async () => {
    const { broker, opened, close } = engine();
    const [a, b] = [await opened.node('a'), await opened.node('b')];
    const heard: string[] = [];
    await b.listen((message) => heard.push(message));
    broker.cut('b');
    await a.tell('b', '1');
    await opened.pass(100);
    expect(heard).toEqual([]);
    broker.mend('b');
    await opened.pass(0);
    expect(heard).toEqual(['1']);
    await close();
  });

  test('a log that was made anew, or whose beginning is gone, is shown to the owner', async () => {
    const { broker, opened, close } = engine();
    const a = await opened.node('a');
    for (const n of numbers(5)) await a.send({ partition: 0, key: 'k', value: `${n}` });
    broker.trim(0, 3);
    const owner = witness({
      async assigned(_, { first, next }) {
        return next > 0 ? Math.max(first, 3) : 0;
      },
    });
    await a.own(owner);
    await opened.pass(0);
    expect(owner.values()).toEqual(['3', '4']);
    const { log } = await a.open();
    broker.recreate();
    await opened.pass(0);
    expect((await a.open()).log).not.toBe(log);
    expect(
      owner.words.findLast(({ kind, partition }) => kind === 'assigned' && partition === 0),
    ).toMatchObject({
      range: { first: 0, next: 0 },
    });
    await close();
  });

  test('what was published and buried can be looked at', async () => {
    const { broker, opened } = engine();
    const a = await opened.node('a');
    await a.publish([{ key: 'k', value: '1' }]);
    const record = { partition: 0, offset: 1, at: 2, key: 'k', value: '{' };
    await a.bury(record, 'no JSON');
    expect(broker.published()).toEqual([{ key: 'k', value: '1' }]);
    expect(broker.dead()).toEqual([{ record, reason: 'no JSON' }]);
  });
});

describe('the suite of the bus', () => {
  test.each(Object.entries(mutants))('fails a driver that %s', async (_, mutant) => {
    const { opened } = engine(mutant.mutate);
    await expect(checkOf(mutant).run(opened)).rejects.toThrow();
  });
});
