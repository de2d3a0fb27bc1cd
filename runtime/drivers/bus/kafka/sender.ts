import type { Message, PartitionMetadata, Producer } from 'kafkajs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import { pause, within } from '../../../../core/base/timing.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { closedFault, fullFault, unknownFault, unreachableFault } from '../checks.ts';
import {
  answerType,
  type KafkaClient,
  type KafkaConnection,
  kafkaClient,
  metadataAge,
  withoutClasses,
} from './client.ts';
import { Trouble } from './trouble.ts';

/** Records and bytes of one request; one record alone may be larger. */
const maxBatch = 500;
const maxBatchBytes = 1_048_576;
/** How long who sends waits, ms. Beyond: `bus.unreachable` when it was never sent; else `bus.unknown`, and it is sent again. */
const patience = 8000;
/** Wait before something is sent again, ms; doubles up to the longest. */
const firstRetry = 50;
const longestRetry = 500;
/** How long a broker waits for its replicas, ms; then it answers that it does not know. */
const replicaTimeout = 4000;
/** How long kafkajs may take for both attempts of a call, ms. */
const callTimeout = 30_000;
/** How long a topic may seem to be missing, ms: brokers hear of a new one after each other. */
const missingTopic = 1000;
/** How long the end of the program waits for what was sent, ms. */
const closeWait = 1000;
/** Records that wait for an answer, and their bytes. Beyond: 503 `bus.full`. */
const bounds = { records: 20_000, bytes: 64 * 1_048_576 };

export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly value: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Nobody may be there to hear it: it is dropped where there is no such topic. */
  readonly isOptional?: boolean;
}

interface Entry {
  readonly record: Outgoing;
  /** Topic and partition, as a key. */
  readonly place: string;
  readonly bytes: number;
  readonly due: number;
  /** When it was first sent; -1: not yet. */
  sentAt: number;
  /** Once. */
  settle(fault?: Fault): void;
}

/** Records of one partition that are sent together, again and again until Kafka has answered. */
type List = readonly Entry[];

interface Opened {
  readonly client: KafkaClient;
  readonly producer: Producer;
}

/** A message and the call it belongs to: all of one call go to one broker. */
type Sent = Message & { readonly call: { leader?: number } };

/** Thrown before anything is sent. */
class TwoLeaders extends Error {}
/** Thrown in the place of a broker that answers so. */
class NoLeader extends Error {
  readonly type = 'LEADER_NOT_AVAILABLE';
}

class Late extends Error {}

/**
 * Sends records in their order, with one request under way, by kafkajs's idempotent producer: a broker writes each once however
 * often it is sent. That holds for what is sent again unchanged until it is acknowledged, before anything later of its partition:
 * otherwise the next batch is taken for a repeat of one that was given up. And it holds for calls to one broker: when a call to two fails at
 * one, kafkajs sends to the other again under way, and can count wrongly afterwards. Whoever partitions is told the leaders, and
 * refuses a call for two (`test/conformance/bus/kafka-sender.test.ts`).
 */
export class KafkaSender {
  readonly #connection: KafkaConnection;
  readonly #options: SenderOptions;
  readonly #bounds: typeof bounds;
  readonly #trouble: Trouble;
  readonly #leaders = new Map<string, readonly PartitionMetadata[]>();
  #current: Promise<Opened> | undefined;
  /** Those whose sender waits, in the order of their coming. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  /** Not sent yet. */
  #waiting: Entry[] = [];
  /** Sent and not answered, in their order. */
  #sent: List[] = [];
  #isRunning = false;
  #isClosing = false;
  readonly #closed = new AbortController();
  #drained = () => {};
  #cancelSweep: (() => void) | undefined;

  constructor(connection: KafkaConnection, options: SenderOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#bounds = { ...bounds, ...options.bounds };
    this.#trouble = new Trouble({ ...options, ms: 1000 });
  }

  /**
   * Resolves when it is on the log. Faults: `bus.too_large`, `bus.full`, `bus.unreachable` (never sent), `bus.unknown`,
   * `bus.closed`.
   */
  send(record: Outgoing): Promise<void> {
    if (this.#isClosing) return Promise.reject(closedFault());
    const { clock } = this.#options;
    const bytes = Buffer.byteLength(record.value) + (record.key?.length ?? 0) + 64;
    const isFull = this.#entries.size >= this.#bounds.records || this.#bytes + bytes > this.#bounds.bytes;
    if (isFull) return Promise.reject(fullFault(this.#entries.size));
    return new Promise((resolve, reject) => {
      const settle = (fault?: Fault) => {
        if (!this.#entries.delete(entry)) return;
        this.#bytes -= bytes;
        if (fault) reject(fault);
        else resolve();
        if (this.#entries.size === 0) this.#drained();
      };
      const place = `${record.topic}/${record.partition}`;
      const entry: Entry = { record, place, bytes, due: clock.now() + patience, sentAt: -1, settle };
      this.#entries.add(entry);
      this.#bytes += bytes;
      this.#waiting.push(entry);
      this.#cancelSweep ??= clock.at(entry.due, () => this.#sweep());
      void this.#run();
    });
  }

  /** Waits a moment for what is under way. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isClosing = true;
    if (this.#entries.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#drained = resolve;
      const cancel = clock.at(clock.now() + closeWait, resolve);
      await promise;
      cancel();
    }
    this.#closed.abort();
    this.#cancelSweep?.();
    for (const { settle, sentAt } of this.#entries)
      settle(sentAt >= 0 ? unknownFault('the bus was closed before Kafka answered') : closedFault());
    this.#drop(this.#current);
  }

  /** Tells those that have waited long enough: all wait equally long. */
  #sweep(): void {
    const { clock } = this.#options;
    this.#cancelSweep = undefined;
    for (const { due, sentAt, settle } of this.#entries) {
      if (due > clock.now()) {
        this.#cancelSweep = clock.at(due, () => this.#sweep());
        return;
      }
      if (sentAt >= 0) settle(unknownFault('Kafka has not answered in time'));
      else settle(unreachableFault('Kafka does not answer; this was not sent'));
    }
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { clock } = this.#options;
    const { signal } = this.#closed;
    // What is sent in one turn goes together.
    await Promise.resolve();
    for (let wait = firstRetry; !signal.aborted; ) {
      // What nobody waits for any more is given up, once all else is answered.
      if (this.#sent.every((list) => this.#isAwaited(list))) this.#take();
      if (this.#sent.length === 0) break;
      const under = this.#sent.length;
      const isAnswered = await this.#request();
      // Others go on meanwhile, and wait no longer than they must.
      if (this.#sent.length < under) wait = firstRetry;
      if (!isAnswered) await pause(clock.now() + wait, { clock, signal });
      wait = isAnswered ? firstRetry : Math.min(wait * 2, longestRetry);
    }
    this.#isRunning = false;
  }

  /** Takes what waits for partitions of which nothing is unanswered: one without a leader holds up no other. */
  #take(): void {
    const busy = new Set(this.#sent.map(placeOf));
    const taken: Entry[] = [];
    const left: Entry[] = [];
    const now = this.#options.clock.now();
    let bytes = 0;
    for (const entry of this.#waiting) {
      // Those that waited too long have been told that they were not sent.
      if (!this.#entries.has(entry)) continue;
      const isFull = taken.length === maxBatch || (taken.length > 0 && bytes + entry.bytes > maxBatchBytes);
      if (isFull || busy.has(entry.place)) {
        left.push(entry);
        // In their order: nothing of this partition goes before it.
        busy.add(entry.place);
        continue;
      }
      bytes += entry.bytes;
      entry.sentAt = now;
      taken.push(entry);
    }
    this.#waiting = left;
    this.#sent.push(...Map.groupBy(taken, ({ place }) => place).values());
  }

  #isAwaited(list: List): boolean {
    return list.some((entry) => this.#entries.has(entry));
  }

  /** Sends the first list of each partition. Answers whether something is known now of each of them. */
  async #request(): Promise<boolean> {
    this.#current ??= this.#open();
    const own = this.#current;
    own.catch(() => this.#drop(own));
    const firsts = new Map<string | undefined, List>();
    for (const list of this.#sent) if (!firsts.has(placeOf(list))) firsts.set(placeOf(list), list);
    const byLeader = Map.groupBy(firsts.values(), ([entry]) => this.#leaderOf(entry!.record));
    const known = await Promise.all([...byLeader.values()].map((lists) => this.#sendTo(own, lists)));
    return known.every(Boolean);
  }

  /** When a broker answers that something is wrong with one of them it does not say which: each is sent alone. */
  async #sendTo(own: Promise<Opened>, lists: readonly List[]): Promise<boolean> {
    if (this.#current !== own) return false;
    const late = () => new Late('Kafka has not answered');
    try {
      await within(this.#call(own, lists.flat()), { ms: callTimeout, clock: this.#options.clock, late });
      for (const list of lists) this.#settle(list);
      this.#trouble.isOver();
      return true;
    } catch (error) {
      if (answerType(error) === undefined || lists.length === 1) return this.#judge(own, { lists, error });
      let isKnown = true;
      for (const list of lists) isKnown = (await this.#sendTo(own, [list])) && isKnown;
      return isKnown;
    }
  }

  async #call(own: Promise<Opened>, entries: readonly Entry[]): Promise<void> {
    const { producer } = await own;
    const call = {};
    const message = ({ record: { key, value, partition, headers } }: Entry): Sent => ({
      ...{ key, value, partition, call },
      ...(headers && { headers: { ...headers } }),
    });
    const byTopic = Map.groupBy(entries, ({ record }) => record.topic);
    await producer.sendBatch({
      ...{ acks: -1, timeout: replicaTimeout },
      topicMessages: [...byTopic].map(([topic, own]) => ({ topic, messages: own.map(message) })),
    });
  }

  /** Answers whether it is known what became of them. */
  #judge(own: Promise<Opened>, { lists, error }: { lists: readonly List[]; error: unknown }): boolean {
    const { clock, log } = this.#options;
    const [list = []] = lists;
    const told = { error: withoutClasses(String(error)) };
    const type = answerType(error);
    // The first also when it is none: kafkajs takes it for a batch that was not written, and gives its number to the next.
    if (type && /^(DUPLICATE_SEQUENCE|OUT_OF_ORDER_SEQUENCE|UNKNOWN_PRODUCER|INVALID_PRODUCER)/.test(type)) {
      log.warn('Kafka has lost count of what this node sent: what was not acknowledged is unknown', told);
      return this.#giveUp(own);
    }
    if (type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE') {
      const message = 'Kafka refuses a record as too large';
      if (list.length === 1) this.#settle(list, new Fault('bus.too_large', { status: 413, message }));
      // Nothing of it is on the log, so it may be sent otherwise.
      else this.#sent = this.#sent.flatMap((one) => (one === list ? one.map((entry) => [entry]) : [one]));
      return true;
    }
    const isMissing =
      type === 'UNKNOWN_TOPIC_OR_PARTITION' && clock.now() - (list[0]?.sentAt ?? 0) >= missingTopic;
    if (isMissing && list.every(({ record }) => record.isOptional)) {
      this.#settle(list);
      return true;
    }
    if (!(error instanceof TwoLeaders))
      this.#trouble.warn('sending to Kafka failed; it is tried again', told);
    // Kafka answers, and never well: who waited has been told, and what comes later must not wait for it.
    const isHopeless = type !== undefined && !this.#sent.some((one) => this.#isAwaited(one));
    return (error instanceof Late || isHopeless) && this.#giveUp(own);
  }

  #settle(list: List, fault?: Fault): void {
    this.#sent = this.#sent.filter((one) => one !== list);
    for (const { settle } of list) settle(fault);
  }

  /** Of what is not answered it will never be known whether it is on the log: sent again by another producer it could be twice. */
  #giveUp(own: Promise<Opened>): boolean {
    this.#drop(own);
    for (const { settle } of this.#sent.splice(0).flat())
      settle(unknownFault('it is not known whether Kafka has what this node sent'));
    return true;
  }

  #leaderOf({ topic, partition }: Pick<Outgoing, 'topic' | 'partition'>): number | undefined {
    return this.#leaders.get(topic)?.find(({ partitionId }) => partitionId === partition)?.leader;
  }

  async #open(): Promise<Opened> {
    const { connect = kafkaClient } = this.#options;
    const client = await connect(this.#connection, this.#options);
    const producer = client.kafka.producer({
      ...{ idempotent: true, allowAutoTopicCreation: false, metadataMaxAge: metadataAge },
      // At least one is demanded.
      retry: { retries: 1, initialRetryTime: firstRetry },
      createPartitioner:
        () =>
        ({ topic, partitionMetadata, message }) => {
          this.#leaders.set(topic, partitionMetadata);
          const { partition = 0, call } = message as Sent;
          const leader = this.#leaderOf({ topic, partition });
          if (leader === -1) throw new NoLeader(`partition ${partition} of ${topic} has no leader`);
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
    if (this.#current === old) this.#current = undefined;
    old?.then(({ client }) => client.destroy()).catch(() => {});
  }
}

interface SenderOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** For tests. */
  readonly connect?: typeof kafkaClient;
  readonly bounds?: Partial<typeof bounds>;
}

function placeOf([entry]: List): string | undefined {
  return entry?.place;
}
