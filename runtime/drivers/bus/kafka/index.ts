import { createHash, randomUUID } from 'node:crypto';
import type { Log } from '../../../../core/base/log.ts';
import { every } from '../../../../core/base/timing.ts';
import type {
  Bus,
  BusCommand,
  LogRange,
  LogRecord,
  PartitionLag,
  PartitionOwner,
} from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import {
  checkCount,
  checkPartition,
  checkRecord,
  checkValue,
  closedFault,
  unreachableFault,
} from '../checks.ts';
import { Holding } from '../holding.ts';
import { KafkaAdmin } from './admin.ts';
import type { KafkaConnection } from './client.ts';
import { GroupConsumer } from './consumer.ts';
import { listening } from './listening.ts';
import { KafkaSender } from './sender.ts';
import { openTopics, readIdentity, type TopicOptions, topicNames, untilKnown } from './topics.ts';

/** ms until the partitions of a node that is gone are others', by default. */
const defaultSession = 6000;
/** What a node may be called; it is part of the name of its topic. */
const nodeName = /^[a-zA-Z0-9._-]{1,100}$/;
/** How often a node looks whether the topic of commands is still the same one, ms. */
const logCheck = 10_000;

export interface KafkaBusOptions {
  /** `host:port`, at least one. */
  readonly brokers: readonly string[];
  /** Topics and the group begin with it: 1 to 100 of `a-z A-Z 0-9 . _ -`. */
  readonly namespace: string;
  /** This node's name: 1 to 100 of the same. */
  readonly node: string;
  /** Of commands and events. Fixed for the life of the data. */
  readonly partitions: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Over TLS: with the authorities of the system, or with these; as PEM. */
  readonly ssl?: KafkaConnection['ssl'];
  readonly sasl?: KafkaConnection['sasl'];
  /** Copies of topics that are made. Default: what the broker has. */
  readonly replication?: number;
  /** How many of them must have a record before it is acknowledged. Default: what the broker has. */
  readonly minInsync?: number;
  /** ms until the partitions of a node that is gone are others'. Default 6 s. */
  readonly sessionTimeout?: number;
}

/** The bus on Kafka: README.md of this folder says how. Nothing is connected before `open`. */
export function kafkaBus(options: KafkaBusOptions): Bus {
  return new KafkaBus({ ...options, log: options.log.with({ bus: 'kafka' }) });
}

class KafkaBus implements Bus {
  readonly #options: KafkaBusOptions;
  readonly #topics: TopicOptions;
  readonly #connection: KafkaConnection;
  readonly #admin: KafkaAdmin;
  /** One for each: a broker answers the requests of one connection one after the other. */
  readonly #senders: Readonly<Record<'commands' | 'replies' | 'events', KafkaSender>>;
  readonly #ends = new Set<() => Promise<void>>();
  #holdings: readonly Holding[] = [];
  #consumer: GroupConsumer | undefined;
  #isClosed = false;
  #identity: string | undefined;
  /** One question for all partitions that are taken together. */
  #identifying: Promise<string> | undefined;

  constructor(options: KafkaBusOptions) {
    const { brokers, namespace, node, clock, log, ssl, sasl } = options;
    this.#options = options;
    this.#topics = { ...options, names: topicNames(namespace) };
    this.#connection = {
      ...{ brokers, clientId: `${namespace}-${node}` },
      ...(ssl !== undefined && { ssl }),
      ...(sasl !== undefined && { sasl }),
    };
    this.#admin = new KafkaAdmin(this.#connection, { clock, log });
    const open = () => new KafkaSender(this.#connection, { clock, log });
    this.#senders = { commands: open(), replies: open(), events: open() };
  }

  async open(): Promise<{ readonly log: string }> {
    this.#checkOpen();
    this.#identity = await openTopics(this.#connection, this.#topics);
    return { log: this.#identity };
  }

  async send({ partition, key, value }: BusCommand): Promise<void> {
    this.#checkOpen();
    checkPartition(partition, this.#options);
    checkRecord({ key, value });
    await this.#senders.commands.send({ topic: this.#topics.names.commands, partition, key, value });
  }

  async own(owner: PartitionOwner): Promise<() => Promise<void>> {
    this.#checkOpen();
    const { namespace, partitions, clock, log } = this.#options;
    const feed = {
      range: (partition: number) => this.#range(partition),
      read: (partition: number, from: number) => consumer.read(partition, from),
      rest: (partition: number) => consumer.rest(partition),
    };
    const holdings = Array.from(
      { length: partitions },
      (_, partition) => new Holding(partition, { owner, feed, clock, log }),
    );
    const consumer = new GroupConsumer(this.#connection, {
      ...this.#group(`${namespace}.actors`, this.#topics.names.commands),
      given(given) {
        for (const partition of given) holdings[partition]?.take();
      },
      taken() {
        for (const holding of holdings) holding.release();
      },
      got: (partition, { records, end }) => holdings[partition]?.got(records, end),
    });
    this.#holdings = holdings;
    this.#consumer = consumer;
    const look = async () => {
      if ((await this.#currentLog()) !== this.#identity) for (const holding of holdings) holding.restart();
    };
    const stopLooking = every(logCheck, { clock, work: () => void look().catch(() => {}) });
    return this.#ending(async () => {
      stopLooking();
      this.#holdings = [];
      await consumer.leave();
    });
  }

  restart(partition: number): void {
    this.#holdings[partition]?.restart();
  }

  async tell(node: string, message: string): Promise<void> {
    this.#checkOpen();
    if (!nodeName.test(node))
      throw new RangeError(`${JSON.stringify(node.slice(0, 120))} is no name of a node`);
    checkValue(message);
    const topic = this.#topics.names.replies(node);
    await this.#senders.replies.send({ topic, partition: 0, key: null, value: message, isOptional: true });
  }

  async listen(hear: (message: string) => void): Promise<() => Promise<void>> {
    this.#checkOpen();
    const topic = this.#topics.names.replies(this.#options.node);
    const group = this.#group(`${topic}.${randomUUID()}`, topic);
    return this.#ending(await listening(this.#connection, { ...group, admin: this.#admin, hear }));
  }

  async publish(records: readonly { readonly key: string; readonly value: string }[]): Promise<void> {
    this.#checkOpen();
    checkCount(records.length);
    for (const record of records) checkRecord(record);
    const topic = this.#topics.names.events;
    const sent = records.map(({ key, value }) =>
      this.#senders.events.send({ topic, partition: this.#partitionOf(key), key, value }),
    );
    await Promise.all(sent);
  }

  async bury({ partition, offset, at, key, value }: LogRecord, reason: string): Promise<void> {
    this.#checkOpen();
    const headers = { partition: String(partition), offset: String(offset), at: String(at), reason };
    const { dead: topic } = this.#topics.names;
    await this.#senders.events.send({ topic, partition: 0, key, value, headers });
  }

  async ping(): Promise<void> {
    this.#checkOpen();
    try {
      await this.#ask();
    } catch (error) {
      this.#checkOpen();
      throw unreachableFault(`Kafka does not answer: ${String(error)}`, error);
    }
  }

  lags(): readonly PartitionLag[] {
    const heardAt = this.#consumer?.readAt ?? 0;
    return this.#holdings.flatMap(({ partition, lag: records }) =>
      records === undefined ? [] : { partition, records, heardAt },
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#ends].map((end) => end()));
    await Promise.all(Object.values(this.#senders).map((sender) => sender.close()));
    this.#admin.close();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedFault();
  }

  #ask(): Promise<unknown> {
    return this.#admin.ask((admin) => admin.fetchTopicMetadata({ topics: [this.#topics.names.commands] }));
  }

  #group(groupId: string, topic: string) {
    const { sessionTimeout = defaultSession, clock, log } = this.#options;
    return { groupId, topic, sessionTimeout, clock, log, ask: () => this.#ask() };
  }

  /** Also for `close`, and once. */
  #ending(end: () => Promise<void>): () => Promise<void> {
    const once = async () => {
      if (this.#ends.delete(once)) await end();
    };
    this.#ends.add(once);
    return once;
  }

  #currentLog(): Promise<string> {
    this.#identifying ??= this.#admin
      .ask((admin) => readIdentity(admin, this.#topics))
      .finally(() => {
        this.#identifying = undefined;
      });
    return this.#identifying;
  }

  /** Rejects when the log is another one than at the start: its offsets mean nothing to anybody. */
  async #range(partition: number): Promise<LogRange> {
    const { commands } = this.#topics.names;
    const current = await this.#currentLog();
    this.#identity ??= current;
    if (current !== this.#identity)
      throw new Error(
        `${commands} is ${current}, and was ${this.#identity} when this node started: start it again`,
      );
    const ranges = await untilKnown(this.#options.clock, () => this.#admin.ranges(commands));
    const range = ranges.get(partition);
    if (!range) throw new Error(`Kafka does not know partition ${partition} of ${commands}`);
    return range;
  }

  /** Events of one key stay in one partition. No engine of ours reads them, so the hash may be any that stays the same. */
  #partitionOf(key: string): number {
    return createHash('sha1').update(key).digest().readUInt32BE(0) % this.#options.partitions;
  }
}
