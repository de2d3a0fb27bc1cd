import type { Message, PartitionMetadata, Producer } from 'kafkajs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import { within } from '../../../../core/base/timing.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import {
  answerType,
  type KafkaClient,
  type KafkaConnection,
  kafkaClient,
  metadataAge,
  withoutClasses,
} from './client.ts';
import type { Outcome, Outgoing, Transport } from './pump.ts';
import { Trouble } from './trouble.ts';

/** How long a broker waits for its replicas, ms; then it answers that it does not know. */
const replicaTimeout = 4000;
/** How long kafkajs may take for both attempts of a call, ms. */
const callTimeout = 30_000;
/** How long a topic that was there may seem to be missing, ms: then it was removed, and kafkajs would ask for it with every other. */
const removedTopic = 5000;

interface Opened {
  readonly client: KafkaClient;
  readonly producer: Producer;
}

/** A message and the call it belongs to: all of one call go to one broker. */
type Sent = Message & { readonly call: { leader?: number } };

type Batch = readonly Outgoing[];

/** Thrown before anything is sent. */
class TwoLeaders extends Error {}

class Late extends Error {}

const unknown: Outcome = { kind: 'unknown' };
const tooLarge = { status: 413, message: 'Kafka refuses a record as too large' };

/**
 * Sends batches by kafkajs's idempotent producer: a broker writes each once however often it is sent. That holds for a batch that
 * is sent until it is acknowledged, before anything later of its partition, and for calls to one broker: when a call to two fails
 * at one, kafkajs sends to the other again under way, and can count wrongly afterwards. Whoever partitions is told the leaders, and
 * refuses a call for two (`test/conformance/bus/kafka-producer.test.ts`).
 */
export class KafkaProducer {
  readonly #connection: KafkaConnection;
  readonly #options: ProducerOptions;
  readonly #trouble: Trouble;
  readonly #leaders = new Map<string, readonly PartitionMetadata[]>();
  #current: Promise<Opened> | undefined;
  /** Since when a topic seems to be missing. */
  #missingSince: number | undefined;

  constructor(connection: KafkaConnection, options: ProducerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#trouble = new Trouble({ ...options, ms: 1000 });
  }

  readonly send: Transport = async (batches) => {
    this.#current ??= this.#open();
    const own = this.#current;
    own.catch(() => this.#drop(own));
    const byLeader = Map.groupBy(
      batches,
      ([record]) => record && this.#leaderOf(record.topic, record.partition),
    );
    const outcomes = new Map<Batch, Outcome>();
    await Promise.all(
      [...byLeader.values()].map(async (some) => {
        const found = await this.#sendTo(own, some);
        for (const [index, batch] of some.entries()) outcomes.set(batch, found[index] ?? unknown);
      }),
    );
    const found = batches.map((batch) => outcomes.get(batch) ?? unknown);
    if (found.every(({ kind }) => kind === 'written')) {
      this.#missingSince = undefined;
      this.#trouble.isOver();
    }
    return found;
  };

  close(): void {
    this.#drop(this.#current);
  }

  #leaderOf(topic: string, partition: number): number | undefined {
    return this.#leaders.get(topic)?.find(({ partitionId }) => partitionId === partition)?.leader;
  }

  async #open(): Promise<Opened> {
    const { connect = kafkaClient } = this.#options;
    const client = await connect(this.#connection, this.#options);
    const producer = client.kafka.producer({
      ...{ idempotent: true, allowAutoTopicCreation: false, metadataMaxAge: metadataAge },
      // At least one is demanded.
      retry: { retries: 1, initialRetryTime: 50 },
      createPartitioner:
        () =>
        ({ topic, partitionMetadata, message }) => {
          this.#leaders.set(topic, partitionMetadata);
          const { partition = 0, call } = message as Sent;
          const leader = this.#leaderOf(topic, partition);
          call.leader ??= leader;
          if (leader !== call.leader)
            throw new TwoLeaders('the partitions of a request have several leaders');
          return partition;
        },
    });
    producer.on(producer.events.REQUEST_TIMEOUT, client.cut);
    try {
      await producer.connect();
      return { client, producer };
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  #drop(old: Promise<Opened> | undefined): void {
    if (this.#current === old) this.#current = this.#missingSince = undefined;
    old?.then(({ client }) => client.destroy()).catch(() => {});
  }

  /** When a broker answers that something is wrong with one of them it does not say which: each is sent alone. */
  async #sendTo(own: Promise<Opened>, batches: readonly Batch[]): Promise<Outcome[]> {
    if (this.#current !== own) return batches.map(() => unknown);
    const late = () => new Late('Kafka has not answered');
    try {
      await within(this.#call(own, batches), { ms: callTimeout, clock: this.#options.clock, late });
      return batches.map(() => ({ kind: 'written' }));
    } catch (error) {
      if (answerType(error) === undefined || batches.length === 1)
        return batches.map(() => this.#judge(own, error));
      const outcomes: Outcome[] = [];
      for (const batch of batches) outcomes.push(...(await this.#sendTo(own, [batch])));
      return outcomes;
    }
  }

  async #call(own: Promise<Opened>, batches: readonly Batch[]): Promise<void> {
    const { producer } = await own;
    const call = {};
    const sent = ({ key, value, partition, headers }: Outgoing): Sent => ({
      ...{ key, value, partition, call },
      ...(headers && { headers: { ...headers } }),
    });
    const byTopic = Map.groupBy(batches.flat(), ({ topic }) => topic);
    await producer.sendBatch({
      ...{ acks: -1, timeout: replicaTimeout },
      topicMessages: [...byTopic].map(([topic, records]) => ({ topic, messages: records.map(sent) })),
    });
  }

  #judge(own: Promise<Opened>, error: unknown): Outcome {
    const { clock, log } = this.#options;
    const told = { error: withoutClasses(String(error)) };
    switch (answerType(error)) {
      case undefined:
        if (!(error instanceof TwoLeaders))
          this.#trouble.warn('sending to Kafka failed; it is tried again', told);
        if (!(error instanceof Late)) return unknown;
        this.#drop(own);
        return { kind: 'lost' };
      // Also the first: kafkajs takes it for a batch that was not written, and gives its number to the next.
      case 'DUPLICATE_SEQUENCE_NUMBER':
      case 'OUT_OF_ORDER_SEQUENCE_NUMBER':
      case 'UNKNOWN_PRODUCER_ID':
      case 'INVALID_PRODUCER_EPOCH':
      case 'INVALID_PRODUCER_ID_MAPPING':
        log.warn('Kafka has lost count of what this node sent: what was not acknowledged is unknown', told);
        this.#drop(own);
        return { kind: 'lost' };
      case 'MESSAGE_TOO_LARGE':
      case 'RECORD_LIST_TOO_LARGE':
        return { kind: 'refused', fault: new Fault('bus.too_large', tooLarge) };
      case 'UNKNOWN_TOPIC_OR_PARTITION':
        // kafkajs asks about all topics that it has ever sent to: one that was removed since fails the question for all.
        this.#missingSince ??= clock.now();
        if (clock.now() - this.#missingSince <= removedTopic) return { kind: 'missing' };
        this.#drop(own);
        return { kind: 'lost' };
      default:
        this.#trouble.warn('Kafka refuses to write just now; it is tried again', told);
        return unknown;
    }
  }
}

interface ProducerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** For tests. */
  readonly connect?: typeof kafkaClient;
}
