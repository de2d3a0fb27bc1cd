import type { Message, PartitionMetadata } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { jsonLog } from '../../../core/base/log.ts';
import type { KafkaClient } from '../../../runtime/drivers/bus/kafka/client.ts';
import { KafkaSender } from '../../../runtime/drivers/bus/kafka/sender.ts';
import { numbers } from './check.ts';

interface Request {
  readonly producerId: string;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence: number;
      readonly messages: readonly Message[];
    }[];
  }[];
}

/** What befalls a request, and the answer to it. */
type Fate = 'good' | 'lost' | 'unanswered';

const { default: createProducer } = await import('kafkajs/src/producer/index.js' as string);
const logger = { namespace: () => logger, debug() {}, info() {}, warn() {}, error() {} };
const clock = {
  now: () => Date.now(),
  at(time: number, work: () => void) {
    const timer = setTimeout(work, time - Date.now());
    return () => clearTimeout(timer);
  },
};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * kafkajs's own producer on brokers that count as Kafka does: of a producer that it has not met in a partition one takes any
 * sequence, of another the one that follows; a repeat it acknowledges and does not write. One error fails the request, after the
 * rest is written.
 */
function brokers(leaders: Map<number, number>, fate: () => Fate = () => 'good') {
  const lines: string[] = [];
  const log = jsonLog({ level: 'warn', now: clock.now, write: (line) => lines.push(line) });
  const written = new Map<number, string[]>();
  const counts = new Map<string, { first: number; next: number; offset: number }[]>();
  const producers: string[] = [];
  /** Partitions that take no more of a producer that they have met. */
  const forgetful = new Set<number>();
  let known: PartitionMetadata[] = [];

  const write = (producer: string, request: Request['topicData'][0]['partitions'][0]): number => {
    const { partition, firstSequence: first, messages } = request;
    const last = counts.get(`${producer}/${partition}`) ?? [];
    if (last.length > 0 && forgetful.has(partition)) throw typed('OUT_OF_ORDER_SEQUENCE_NUMBER');
    forgetful.delete(partition);
    const next = first + messages.length;
    const repeat = last.find((one) => one.first === first && one.next === next);
    if (repeat) return repeat.offset;
    if (last.length > 0 && last.at(-1)?.next !== first) throw typed('OUT_OF_ORDER_SEQUENCE_NUMBER');
    const kept = written.get(partition) ?? [];
    written.set(partition, kept);
    const offset = kept.length;
    counts.set(`${producer}/${partition}`, [...last, { first, next, offset }].slice(-5));
    kept.push(...messages.map(({ value }) => String(value)));
    return offset;
  };
  const broker = (nodeId: number) => ({
    nodeId,
    async initProducerId() {
      producers.push(`p${producers.length + 1}`);
      return { producerId: producers.at(-1), producerEpoch: 0 };
    },
    async produce({ producerId, topicData }: Request) {
      const own = fate();
      await new Promise<void>((resolve) => setTimeout(resolve, own === 'good' ? 5 : 40));
      if (own === 'lost') throw retriable('it was not answered');
      let trouble: unknown;
      const topics = topicData.map(({ topic, partitions }) => ({
        topicName: topic,
        partitions: partitions.map((one) => {
          try {
            if (leaders.get(one.partition) !== nodeId) throw typed('NOT_LEADER_FOR_PARTITION');
            return { partition: one.partition, baseOffset: String(write(producerId, one)) };
          } catch (error) {
            trouble = error;
            return { partition: one.partition };
          }
        }),
      }));
      if (trouble) throw trouble;
      if (own === 'unanswered') throw retriable('it was not answered');
      return { topics };
    },
  });
  const all = new Map([1, 2].map((nodeId) => [nodeId, broker(nodeId)]));
  const refreshMetadata = async () => {
    known = [...leaders].map(([partitionId, leader]) => ({
      ...{ partitionId, leader, partitionErrorCode: 0, replicas: [1, 2], isr: [1, 2] },
    }));
  };
  const cluster = {
    ...{ refreshMetadata, retry: {}, connect: async () => {}, isConnected: () => true, removeBroker() {} },
    async refreshMetadataIfNecessary() {
      if (known.length === 0) await refreshMetadata();
    },
    async addMultipleTargetTopics() {},
    findTopicPartitionMetadata: () => known,
    findLeaderForPartitions(_: string, partitions: readonly string[]) {
      const of = (partition: string) => known.find((one) => one.partitionId === Number(partition))?.leader;
      return Object.fromEntries(Map.groupBy(partitions.map(Number), (one) => of(String(one))));
    },
    findBroker: async ({ nodeId }: { nodeId: string }) => all.get(Number(nodeId)),
    findControllerBroker: async () => all.get(1),
  };
  const kafka = { producer: (options: object) => createProducer({ ...options, logger, cluster }) };
  const connect = async () => ({ kafka, destroy() {}, cut() {} }) as unknown as KafkaClient;
  const sender = new KafkaSender({ brokers: [], clientId: 't' }, { clock, log, connect });
  const send = (partition: number, value: string) => sender.send({ topic: 't', partition, key: 'k', value });
  return { forgetful, lines, producers, send, written };
}

function typed(type: string): Error {
  return Object.assign(new Error(type), {
    ...{ name: 'KafkaJSProtocolError', type, retriable: type.startsWith('NOT_LEADER') },
  });
}

function retriable(message: string): Error {
  return Object.assign(new Error(message), { name: 'KafkaJSRequestTimeoutError', retriable: true });
}

describe('with the producer of kafkajs', () => {
  test('what is acknowledged after Kafka has lost count of another partition is on the log', async () => {
    const { forgetful, send, written, producers } = brokers(
      new Map([
        [0, 1],
        [1, 1],
      ]),
    );
    await Promise.all([send(0, 'first'), vi.advanceTimersByTimeAsync(50)]);
    forgetful.add(0);
    const outcomes = [send(0, 'second'), send(1, 'a')].map((sent) => sent.catch(({ code }) => code));
    await vi.advanceTimersByTimeAsync(1000);
    // Nobody knows of either, and neither is sent again: it could be written twice.
    expect(await Promise.all(outcomes)).toEqual(['bus.unknown', 'bus.unknown']);
    await Promise.all([send(0, 'third'), send(1, 'b'), vi.advanceTimersByTimeAsync(1000)]);
    expect(written.get(1)?.at(-1)).toBe('b');
    expect(written.get(0)).toEqual(['first', 'third']);
    expect(producers).toHaveLength(2);
  });

  test('all leaders are sent to as one producer', async () => {
    const { producers, send, lines } = brokers(
      new Map([
        [0, 1],
        [1, 2],
      ]),
    );
    await Promise.all([send(0, 'x'), send(1, 'y'), vi.advanceTimersByTimeAsync(500)]);
    expect(producers).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  test.each(numbers(30, 1))(
    'seed %i: what is acknowledged is written once, in order, whatever requests suffer and whoever leads',
    async (seed) => {
      let state = seed * 2_654_435_761;
      const chance = () => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return state / 0x7fff_ffff;
      };
      const trouble = chance() * 0.5;
      const leaders = new Map(numbers(4).map((partition) => [partition, 1 + (partition % 2)]));
      const { send, written, lines } = brokers(leaders, () =>
        chance() > trouble ? 'good' : chance() > 0.5 ? 'lost' : 'unanswered',
      );
      const acknowledged: string[][] = [[], [], [], []];
      const work = [];
      for (const n of numbers(200)) {
        const partition = Math.floor(chance() * 4);
        work.push(
          send(partition, `${n}`).then(
            () => acknowledged[partition]?.push(`${n}`),
            () => {},
          ),
        );
        if (chance() > 0.7) await vi.advanceTimersByTimeAsync(Math.floor(chance() * 20));
        if (chance() > 0.95) leaders.set(Math.floor(chance() * 4), 1 + Math.floor(chance() * 2));
      }
      await vi.advanceTimersByTimeAsync(60_000);
      await Promise.all(work);
      expect(lines.filter((line) => line.includes('lost count'))).toEqual([]);
      for (const partition of numbers(4)) {
        const kept = written.get(partition) ?? [];
        expect(kept).toEqual([...kept].sort((a, b) => Number(a) - Number(b)));
        expect(new Set(kept).size).toBe(kept.length);
        expect(acknowledged[partition]?.filter((value) => !kept.includes(value))).toEqual([]);
      }
      expect(acknowledged.flat().length).toBeGreaterThan(100);
    },
  );
});
