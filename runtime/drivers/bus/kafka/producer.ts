import type { Message, PartitionMetadata, Producer } from 'kafkajs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import { within } from '../../../../core/base/timing.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { answerType, type KafkaClient, type KafkaConnection, kafkaClient, withoutClasses } from './client.ts';
import { group, sending } from './limits.ts';
import type { Batch, Outcome, Transport } from './pump.ts';
import { lasting } from './quiet-log.ts';

interface Opened {
  readonly client: KafkaClient;
  readonly producer: Producer;
}

/** A message and the call it belongs to: all of one call go to one broker. */
type Sent = Message & { readonly call: { leader?: number } };

/** Thrown before anything is sent. */
class TwoLeaders extends Error {}

class Late extends Error {}

const unknown: Outcome = { kind: 'unknown' };
const tooLarge = { status: 413, message: 'Kafka refuses a record as too large' };

/**
 * Sends batches by kafkajs's idempotent producer: a broker writes each once however often it is sent. That holds for a batch that
 * is sent until it is acknowledged, before anything later of its partition, and for calls to one broker: when a call to two fails
 * at one, kafkajs sends to the other again under way, and can count wrongly afterwards. Whoever partitions is told the leaders, and
 * refuses a call for two.
 */
export function kafkaProducer(
  connection: KafkaConnection,
  options: { clock: Clock; log: Log; connect?: typeof kafkaClient },
): { readonly send: Transport; close(): void } {
  const { clock, log, connect = kafkaClient } = options;
  const trouble = lasting(log, { clock, ms: sending.quietTrouble });
  const leaders = new Map<string, readonly PartitionMetadata[]>();
  let current: Promise<Opened> | undefined;
  /** Since when a topic seems to be missing. */
  let missingSince: number | undefined;

  const leaderOf = (topic: string, partition: number) =>
    leaders.get(topic)?.find(({ partitionId }) => partitionId === partition)?.leader;

  const open = async (): Promise<Opened> => {
    const client = await connect(connection, options);
    const producer = client.kafka.producer({
      idempotent: true,
      allowAutoTopicCreation: false,
      metadataMaxAge: group.metadataAge,
      // At least one is demanded.
      retry: { retries: 1, initialRetryTime: sending.retryWait },
      createPartitioner:
        () =>
        ({ topic, partitionMetadata, message }) => {
          leaders.set(topic, partitionMetadata);
          const { partition = 0, call } = message as Sent;
          const leader = leaderOf(topic, partition);
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
  };
  const drop = (old: Promise<Opened> | undefined) => {
    if (current === old) current = missingSince = undefined;
    old?.then(({ client }) => client.destroy()).catch(() => {});
  };

  const sendBatch = async (own: Promise<Opened>, batches: readonly Batch[]): Promise<Outcome[]> => {
    const { producer } = await own;
    const call = {};
    const byTopic = Map.groupBy(batches, ({ topic }) => topic);
    const written = await producer.sendBatch({
      acks: -1,
      timeout: sending.replicaTimeout,
      topicMessages: [...byTopic].map(([topic, of]) => ({
        topic,
        messages: of.flatMap(({ partition, records }) =>
          records.map(
            ({ key, value, headers }): Sent => ({
              ...{ key, value, partition, call },
              ...(headers && { headers: { ...headers } }),
            }),
          ),
        ),
      })),
    });
    return batches.map(({ topic, partition }) => {
      const found = written.find((one) => one.topicName === topic && one.partition === partition);
      const offset = Number(found?.baseOffset ?? -1);
      return offset >= 0 ? { kind: 'written', offset } : { kind: 'written' };
    });
  };

  /** When a broker answers that something is wrong with one of them it does not say which: each is sent alone. */
  const sendTo = async (own: Promise<Opened>, batches: readonly Batch[]): Promise<Outcome[]> => {
    if (current !== own) return batches.map(() => unknown);
    const late = () => new Late('Kafka has not answered');
    try {
      return await within(sendBatch(own, batches), { ms: sending.callTimeout, clock, late });
    } catch (error) {
      if (answerType(error) === undefined || batches.length === 1)
        return batches.map(() => judge(own, error));
      const outcomes: Outcome[] = [];
      for (const batch of batches) outcomes.push(...(await sendTo(own, [batch])));
      return outcomes;
    }
  };

  const judge = (own: Promise<Opened>, error: unknown): Outcome => {
    const told = { error: withoutClasses(String(error)) };
    switch (answerType(error)) {
      case undefined:
        if (!(error instanceof TwoLeaders)) trouble.warn('sending to Kafka failed; it is tried again', told);
        if (error instanceof Late) drop(own);
        return unknown;
      // Also the first: kafkajs takes it for a batch that was not written, and gives its number to the next.
      case 'DUPLICATE_SEQUENCE_NUMBER':
      case 'OUT_OF_ORDER_SEQUENCE_NUMBER':
      case 'UNKNOWN_PRODUCER_ID':
      case 'INVALID_PRODUCER_EPOCH':
      case 'INVALID_PRODUCER_ID_MAPPING':
        log.warn('Kafka has lost count of what this node sent: a record may come twice', told);
        drop(own);
        return unknown;
      case 'MESSAGE_TOO_LARGE':
      case 'RECORD_LIST_TOO_LARGE':
        return { kind: 'refused', fault: new Fault('bus.too_large', tooLarge) };
      case 'UNKNOWN_TOPIC_OR_PARTITION':
        // kafkajs asks about all topics that it has ever sent to: one that was removed since fails the question for all.
        missingSince ??= clock.now();
        if (clock.now() - missingSince > sending.removedTopic) drop(own);
        return { kind: 'missing' };
      default:
        trouble.warn('Kafka refuses to write just now; it is tried again', told);
        return unknown;
    }
  };

  return {
    async send(batches) {
      current ??= open();
      const own = current;
      own.catch(() => drop(own));
      const outcomes = new Map<Batch, Outcome>();
      const byLeader = Map.groupBy(batches, ({ topic, partition }) => leaderOf(topic, partition));
      await Promise.all(
        [...byLeader.values()].map(async (of) => {
          const answers = await sendTo(own, of);
          for (const [index, batch] of of.entries()) outcomes.set(batch, answers[index] ?? unknown);
        }),
      );
      if ([...outcomes.values()].every(({ kind }) => kind === 'written')) {
        missingSince = undefined;
        trouble.isOver();
      }
      return batches.map((batch) => outcomes.get(batch) ?? unknown);
    },
    close: () => drop(current),
  };
}
