import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { kafkaClient } from '../../../runtime/drivers/bus/kafka/client.ts';
import { GroupConsumer } from '../../../runtime/drivers/bus/kafka/consumer.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

const names = ['GROUP_JOIN', 'HEARTBEAT', 'REBALANCING', 'CRASH', 'REQUEST_TIMEOUT', 'FETCH'] as const;

/** A consumer whose kafkajs is the test's: what kafkajs would say of the group is said by `last`. */
function joining() {
  const clock = virtualClock({ start: 0, idle: () => Promise.resolve() });
  const consumers: EventEmitter[] = [];
  const told: string[] = [];
  const state = { isAway: false };
  const connect = async () => {
    const consumer = new EventEmitter();
    consumers.push(consumer);
    const nothing = async () => {};
    Object.assign(consumer, {
      events: Object.fromEntries(names.map((name) => [name, name])),
      ...{ connect: nothing, subscribe: nothing, run: nothing, disconnect: nothing },
      pause: () => {},
      seek: ({ partition, offset }: { partition: number; offset: string }) =>
        told.push(`seek ${partition} ${offset}`),
      resume: () => {},
    });
    return { kafka: { consumer: () => consumer }, destroy: () => {}, cut: () => {} };
  };
  const own = new GroupConsumer(
    { brokers: [], clientId: 'test' },
    {
      ...{ groupId: 'group', topic: 'topic', sessionTimeout: 6000, clock },
      log: jsonLog({ level: 'error', now: () => 0, write: () => {} }),
      given: (partitions: readonly number[]) => void told.push(`given ${partitions.join(' ')}`),
      taken: () => void told.push('taken'),
      got: () => {},
      ask: async () => {
        if (state.isAway) throw new Error('away');
      },
      connect: connect as unknown as typeof kafkaClient,
    },
  );
  const say = (name: (typeof names)[number], payload: object = {}) =>
    consumers.at(-1)?.emit(name, { payload });
  return {
    ...{ clock, consumers, told, own, state },
    join: (partitions: number[]) => say('GROUP_JOIN', { memberAssignment: { topic: partitions } }),
    beat: (groupGenerationId: number) => say('HEARTBEAT', { groupGenerationId }),
    move: () => say('REBALANCING'),
    /** Beats once a second. */
    async live(seconds: number, generation: number) {
      for (let n = 0; n < seconds; n += 1) {
        say('HEARTBEAT', { groupGenerationId: generation });
        await clock.advance(1000);
      }
    },
  };
}

describe('the place in a group', () => {
  it('is taken and given with the group, and with its silence', async () => {
    const { clock, told, own, join, beat, move } = joining();
    await clock.advance(0);
    join([1, 2]);
    beat(7);
    await clock.advance(7000);
    beat(7);
    move();
    join([2]);
    expect(told).toEqual(['given 1 2', 'taken', 'given 1 2', 'taken', 'given 2']);
    await own.leave();
  });

  it('is as it was when the group is said to move on and does not', async () => {
    const { clock, told, own, consumers, join, beat, move, live } = joining();
    await clock.advance(0);
    join([1, 2]);
    beat(7);
    // The broker is back and knows nothing yet of the group; kafkajs cannot join, and beats again as before.
    move();
    await clock.advance(1000);
    await live(10, 7);
    expect(told).toEqual(['given 1 2', 'taken', 'given 1 2']);
    expect(consumers).toHaveLength(1);
    await own.leave();
  });

  it('is left for a new one when the group has moved on and nobody told the share', async () => {
    const { clock, told, own, consumers, join, beat, move, live } = joining();
    await clock.advance(0);
    join([1, 2]);
    beat(7);
    move();
    await live(4, 8);
    expect(consumers).toHaveLength(2);
    join([2]);
    expect(told).toEqual(['given 1 2', 'taken', 'given 2']);
    await live(10, 9);
    expect(consumers).toHaveLength(2);
    await own.leave();
  });

  it('is in doubt when the group moves on without a word', async () => {
    const { clock, told, own, consumers, join, live } = joining();
    await clock.advance(0);
    join([1, 2]);
    await live(2, 7);
    await live(4, 8);
    expect(told).toEqual(['given 1 2', 'taken']);
    expect(consumers).toHaveLength(2);
    await own.leave();
  });

  it('is kept while Kafka is away, and left for a new one when Kafka answers and the group does not', async () => {
    const { clock, told, own, consumers, state, join, beat } = joining();
    await clock.advance(0);
    join([1]);
    beat(7);
    state.isAway = true;
    await clock.advance(60_000);
    expect(told).toEqual(['given 1', 'taken']);
    expect(consumers).toHaveLength(1);
    beat(7);
    expect(told.at(-1)).toBe('given 1');
    state.isAway = false;
    await clock.advance(13_000);
    expect(consumers).toHaveLength(2);
    await own.leave();
  });

  it('gives orders to the consumer that there is', async () => {
    const { clock, told, own, join } = joining();
    await clock.advance(0);
    join([3]);
    own.read(3, 17);
    expect(told).toEqual(['given 3', 'seek 3 17']);
    await own.leave();
  });
});
