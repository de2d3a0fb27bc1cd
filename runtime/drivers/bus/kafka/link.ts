import type { Broker, Cluster } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import type { LogRange } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { within } from '../within.ts';
import { type KafkaClient, type KafkaConnection, kafkaClient } from './client.ts';
import { group } from './limits.ts';

/**
 * Requests to brokers, without kafkajs's producer and consumer: those repeat, reorder, pause and reset offsets by rules
 * of their own. Nothing is repeated here. Whoever gets an error that is not about a partition calls `renew`.
 */
export interface Link {
  /** Node id of the leader of each partition. Fails with type `UNKNOWN_TOPIC_OR_PARTITION` when there is no such topic. */
  leaders(topic: string): Promise<ReadonlyMap<number, string>>;
  broker(node: string): Promise<RawBroker>;
  /** What a partition has. */
  range(topic: string, partition: number): Promise<LogRange>;
  /** Leaders have changed. */
  forget(): void;
  /** Cuts the connections; the next request makes new ones. */
  renew(): void;
  close(): void;
}

/** What kafkajs's types leave out. */
export type RawBroker = Broker & {
  initProducerId(request: { transactionTimeout: number }): Promise<{
    readonly producerId: string;
    readonly producerEpoch: number;
  }>;
};

interface Connected {
  readonly client: KafkaClient;
  readonly cluster: Cluster;
}

export function link(connection: KafkaConnection, options: { clock: Clock; log: Log }): Link {
  const { clock } = options;
  let current: Promise<Connected> | undefined;
  let leaders = new Map<string, ReadonlyMap<number, string>>();
  let isClosed = false;

  const cut = () => {
    const old = current;
    current = undefined;
    leaders = new Map();
    old?.then(({ client }) => client.destroy()).catch(() => {});
  };

  const open = async (): Promise<Connected> => {
    const client = await kafkaClient(connection, options);
    // The one public way to the protocol: kafkajs hands its cluster to partition assigners. The consumer is never run.
    const captured: Cluster[] = [];
    client.kafka.consumer({
      groupId: 'never-joined',
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
      partitionAssigners: [
        ({ cluster }) => {
          captured.push(cluster);
          return {
            name: 'none',
            version: 0,
            assign: async () => [],
            protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
          };
        },
      ],
    });
    const cluster = captured[0] as Cluster;
    try {
      await within(cluster.connect(), { ms: group.requestTimeout, clock, what: 'connecting to Kafka' });
      return { client, cluster };
    } catch (error) {
      client.destroy();
      throw error;
    }
  };

  const connected = (): Promise<Connected> => {
    if (isClosed) return Promise.reject(new Error('this link is closed'));
    if (!current) {
      const opening = open();
      current = opening;
      opening.then(
        ({ client }) => {
          if (current !== opening) client.destroy();
        },
        () => {
          if (current === opening) current = undefined;
        },
      );
    }
    return current;
  };

  const bounded = <T>(work: Promise<T>, what: string) =>
    within(work, { ms: group.requestTimeout + group.connectTimeout, clock, what });

  const findLeaders = async (topic: string): Promise<ReadonlyMap<number, string>> => {
    const { cluster } = await connected();
    await cluster.addTargetTopic(topic);
    await cluster.refreshMetadata();
    const found = cluster.findTopicPartitionMetadata(topic);
    return new Map(found.map(({ partitionId, leader }) => [partitionId, String(leader)]));
  };

  return {
    async leaders(topic) {
      const known = leaders.get(topic);
      if (known) return known;
      const into = leaders;
      const found = await bounded(findLeaders(topic), 'asking for leaders');
      into.set(topic, found);
      return found;
    },
    async broker(node) {
      const { cluster } = await connected();
      return (await bounded(cluster.findBroker({ nodeId: node }), 'connecting to a broker')) as RawBroker;
    },
    async range(topic, partition) {
      await this.leaders(topic);
      const { cluster } = await connected();
      const at = async (fromBeginning: boolean) => {
        const asked = cluster.fetchTopicsOffset([{ topic, partitions: [{ partition }], fromBeginning }]);
        const [found] = await bounded(asked, 'asking for offsets');
        return Number(found?.partitions[0]?.offset);
      };
      const [first, next] = [await at(true), await at(false)];
      if (!(first >= 0 && next >= first))
        throw new Error(`Kafka says that ${topic}/${partition} is ${first}..${next}`);
      return { first, next };
    },
    forget() {
      leaders = new Map();
    },
    renew: cut,
    close() {
      isClosed = true;
      cut();
    },
  };
}

/** The type of an error that a broker answered; undefined when it was no answer. */
export function answerType(error: unknown): string | undefined {
  return (error as { type?: string } | undefined)?.type;
}
