import type { Message } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { within } from '../within.ts';
import { tooLargeFault } from './faults.ts';
import { group, sending } from './limits.ts';
import { answerType, type Link, type RawBroker } from './link.ts';
import type { Batch, Outcome, Transport } from './pump.ts';

interface Producer {
  readonly producerId: string;
  readonly producerEpoch: number;
}

/** What a broker says of one partition of a request. */
interface Written {
  readonly topicName: string;
  readonly partitions: readonly { readonly partition: number; readonly baseOffset?: string }[];
}

const unknown: Outcome = { kind: 'unknown' };

/** Sends batches as an idempotent producer: acknowledged by all replicas in sync, each written once however often it is sent. */
export function kafkaTransport(options: { link: Link; clock: Clock; log: Log }): Transport {
  const { link, clock, log } = options;
  let producer: Promise<Producer> | undefined;
  /** Producers that Kafka has lost count of. */
  let lost = 0;

  const begin = async (node: string): Promise<Producer> => {
    const broker = await link.broker(node);
    const asked = broker.initProducerId({ transactionTimeout: group.requestTimeout });
    const { producerId, producerEpoch } = await bounded(asked, 'asking for a producer id');
    return { producerId, producerEpoch };
  };

  /** One for all leaders: what was sent as one producer and comes again as another is written twice. */
  const current = (node: string): Promise<Producer> => {
    if (producer) return producer;
    const asked = begin(node);
    producer = asked;
    asked.catch(() => {
      if (producer === asked) producer = undefined;
    });
    return asked;
  };

  const bounded = <T>(work: Promise<T>, what: string) =>
    within(work, { ms: group.requestTimeout + group.connectTimeout, clock, what });

  const request = async (broker: RawBroker, batches: readonly Batch[], as: Producer): Promise<Outcome[]> => {
    const byTopic = Map.groupBy(batches, ({ topic }) => topic);
    const answer = await bounded(
      broker.produce({
        topicData: [...byTopic].map(([topic, of]) => ({
          topic,
          partitions: of.map(({ partition, sequence, records }) => ({
            partition,
            firstSequence: sequence,
            messages: records.map(toMessage),
          })),
        })),
        // Typed as a number, which cannot hold it; the encoder takes text.
        producerId: as.producerId as unknown as number,
        producerEpoch: as.producerEpoch,
        acks: -1,
        timeout: sending.replicaTimeout,
      }),
      'sending',
    );
    const written: readonly Written[] = answer.topics;
    return batches.map(({ topic, partition }) => {
      const found = written
        .find(({ topicName }) => topicName === topic)
        ?.partitions.find((one) => one.partition === partition);
      if (!found) return unknown;
      const offset = Number(found.baseOffset ?? -1);
      return offset >= 0 ? { kind: 'written', offset } : { kind: 'written' };
    });
  };

  /**
   * One request; when a broker answers that something is wrong with one of them, each alone: it does not say which. Once
   * Kafka has lost count the rest is not sent: its sequences are the old producer's, and the sender is to count anew.
   */
  const sendTo = async (
    node: string,
    { batches, lostBefore }: { batches: readonly Batch[]; lostBefore: number },
  ): Promise<Outcome[]> => {
    try {
      const broker = await link.broker(node);
      const as = lost === lostBefore ? await current(node) : undefined;
      if (!as || lost !== lostBefore) return batches.map(() => unknown);
      return await request(broker, batches, as);
    } catch (error) {
      if (answerType(error) !== undefined && batches.length > 1) {
        const outcomes: Outcome[] = [];
        for (const batch of batches) outcomes.push(...(await sendTo(node, { batches: [batch], lostBefore })));
        return outcomes;
      }
      return batches.map(() => judge(error));
    }
  };

  const judge = (error: unknown): Outcome => {
    const type = answerType(error);
    switch (type) {
      case undefined:
        log.warn('sending to Kafka failed; it is tried again', { error: String(error) });
        link.renew();
        return unknown;
      case 'DUPLICATE_SEQUENCE_NUMBER':
        return { kind: 'written' };
      case 'OUT_OF_ORDER_SEQUENCE_NUMBER':
      case 'UNKNOWN_PRODUCER_ID':
      case 'INVALID_PRODUCER_EPOCH':
      case 'INVALID_PRODUCER_ID_MAPPING':
        log.warn('Kafka has lost count of what this node sent: a record may come twice', {
          error: String(error),
        });
        producer = undefined;
        lost += 1;
        return { kind: 'uncounted' };
      case 'MESSAGE_TOO_LARGE':
      case 'RECORD_LIST_TOO_LARGE':
        return { kind: 'refused', fault: tooLargeFault() };
      case 'UNKNOWN_TOPIC_OR_PARTITION':
        link.forget();
        return { kind: 'missing' };
      default:
        log.warn('Kafka refuses to write just now; it is tried again', { error: String(error) });
        link.forget();
        return unknown;
    }
  };

  /** Undefined when the topic is not there. */
  const leaderOf = async ({ topic, partition }: Batch): Promise<string | Outcome> => {
    try {
      return (await link.leaders(topic)).get(partition) ?? judge({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
    } catch (error) {
      return judge(error);
    }
  };

  return async (batches) => {
    const lostBefore = lost;
    const outcomes = new Map<Batch, Outcome>();
    const byLeader = new Map<string, Batch[]>();
    for (const batch of batches) {
      const leader = await leaderOf(batch);
      if (typeof leader === 'string') byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
      else outcomes.set(batch, leader);
    }
    await Promise.all(
      [...byLeader].map(async ([node, of]) => {
        const answers = await sendTo(node, { batches: of, lostBefore });
        for (const [index, batch] of of.entries()) outcomes.set(batch, answers[index] ?? unknown);
      }),
    );
    return batches.map((batch) => outcomes.get(batch) ?? unknown);
  };
}

function toMessage({ key, value, headers }: Batch['records'][number]): Message {
  return { key, value, ...(headers && { headers: { ...headers } }) };
}
