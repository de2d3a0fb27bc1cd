import { expect, test } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { Link, RawBroker } from '../../../runtime/drivers/bus/kafka/link.ts';
import { pump } from '../../../runtime/drivers/bus/kafka/pump.ts';
import { kafkaTransport } from '../../../runtime/drivers/bus/kafka/transport.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

interface Request {
  readonly producerId: string;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence: number;
      readonly messages: readonly { readonly value: string }[];
    }[];
  }[];
}

/**
 * Brokers that count as Kafka does: of a producer that it has not met in a partition one takes any sequence, of another
 * the one that follows; a repeat it acknowledges and does not write. One error fails the request, after the rest is written.
 */
function brokers(leaders: ReadonlyMap<number, string>) {
  const clock = virtualClock({ start: 0 });
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} });
  const written = new Map<number, string[]>();
  const counts = new Map<string, { first: number; next: number; offset: number }>();
  const producers: string[] = [];
  /** Partitions that take no more of a producer that they have met. */
  const forgetful = new Set<number>();

  const write = (
    producer: string,
    { partition, firstSequence: first, messages }: Request['topicData'][0]['partitions'][0],
  ): number => {
    const name = `${producer}/${partition}`;
    const last = counts.get(name);
    if (last && forgetful.has(partition)) throw typed('OUT_OF_ORDER_SEQUENCE_NUMBER');
    forgetful.delete(partition);
    const next = first + messages.length;
    if (last && last.first === first && last.next === next) return last.offset;
    if (last && last.next !== first) throw typed('OUT_OF_ORDER_SEQUENCE_NUMBER');
    const kept = written.get(partition) ?? [];
    written.set(partition, kept);
    const offset = kept.length;
    counts.set(name, { first, next, offset });
    kept.push(...messages.map(({ value }) => value));
    return offset;
  };
  const broker = {
    async initProducerId() {
      producers.push(`p${producers.length + 1}`);
      await new Promise<void>((resolve) => void clock.at(clock.now() + 5, resolve));
      return { producerId: producers.at(-1), producerEpoch: 0 };
    },
    async produce({ producerId, topicData }: Request) {
      await new Promise<void>((resolve) => void clock.at(clock.now() + 5, resolve));
      let trouble: unknown;
      const topics = topicData.map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map((one) => {
          try {
            return { partition: one.partition, baseOffset: String(write(producerId, one)) };
          } catch (error) {
            trouble = error;
            return { partition: one.partition };
          }
        }),
      }));
      if (trouble) throw trouble;
      return { topics };
    },
  };
  const link: Link = {
    leaders: async () => leaders,
    broker: async () => broker as unknown as RawBroker,
    range: async () => ({ first: 0, next: 0 }),
    forget: () => {},
    renew: () => {},
    close: () => {},
  };
  const sender = pump({ transport: kafkaTransport({ link, clock, log }), clock, log });
  const send = (partition: number, value: string) => sender.send({ topic: 't', partition, key: 'k', value });
  return { clock, forgetful, producers, send, written };
}

function typed(type: string): Error {
  return Object.assign(new Error(type), { type });
}

test('what is acknowledged after Kafka has lost count of another partition is on the log', async () => {
  const { clock, forgetful, send, written } = brokers(
    new Map([
      [0, 'b'],
      [1, 'b'],
    ]),
  );
  const first = send(0, 'first');
  await clock.advance(50);
  await first;
  forgetful.add(0);
  const both = Promise.all([send(0, 'second'), send(1, 'a')]);
  await clock.advance(1000);
  await both;
  const last = send(1, 'b');
  await clock.advance(1000);
  await last;
  expect(written.get(1)?.at(-1)).toBe('b');
  expect(written.get(0)).toContain('second');
});

test('all leaders are sent to as one producer', async () => {
  const { clock, producers, send } = brokers(
    new Map([
      [0, 'b'],
      [1, 'c'],
    ]),
  );
  const both = Promise.all([send(0, 'x'), send(1, 'y')]);
  await clock.advance(100);
  await both;
  expect(producers).toHaveLength(1);
});
