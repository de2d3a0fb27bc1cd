import type { Consumer, EachBatchPayload, InstrumentationEvent } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import { every, within } from '../../../../core/base/timing.ts';
import type { LogRecord } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import {
  type KafkaClient,
  type KafkaConnection,
  kafkaClient,
  metadataAge,
  withoutClasses,
} from './client.ts';
import { Trouble } from './trouble.ts';

/** How long a broker keeps a question for new records, and a seek waits for its answer, ms. */
const fetchWait = 100;
/** Bytes of one answer and of one partition in it, unless one record alone is larger. */
const fetchBytes = 8 * 1_048_576;
const partitionBytes = 1_048_576;
/** How often a node says that it is there, and hears that others came or went, ms. */
const heartbeatInterval = 1000;
/** How often it is looked at whether the group still answers, ms. */
const checkInterval = 250;
/** How long Kafka may answer others while the group is silent, and the group count on a node without telling its share, ms. */
const groupSilence = 6000;
const shareWait = 2000;
/** Wait before a group is joined anew, ms; doubles up to the longest. */
const firstRejoin = 500;
const longestRejoin = 4000;
/** Trouble with joining that is not worth a warning, ms: the first group of a Kafka waits for a topic. */
const quietTrouble = 10_000;
/** Saying goodbye to a group, ms. Beyond: others get the partitions after the session timeout. */
const leaveTimeout = 2000;
/** A consumer that gives up while no broker answers comes back as another member, and the group waits for the end of the first. */
const retry = { retries: 200, initialRetryTime: 250, maxRetryTime: 500, multiplier: 1.5 };

export interface GroupOptions {
  readonly groupId: string;
  readonly topic: string;
  readonly sessionTimeout: number;
  readonly clock: Clock;
  readonly log: Log;
  /** The group gave these partitions to this node. None is read before `read`. Alternates with `taken`. */
  given(partitions: readonly number[]): void;
  taken(): void;
  /** Records, and the offset behind the last one of the log. */
  got(partition: number, fetched: { readonly records: readonly LogRecord[]; readonly end: number }): void;
  /** Resolves when Kafka answers. */
  ask(): Promise<unknown>;
  /** For tests. */
  readonly connect?: typeof kafkaClient;
}

interface Session {
  readonly client: KafkaClient;
  readonly consumer: Consumer;
  /** Partitions by the last word of the group, and the generation of the group that it was said in, once that is known. */
  share?: readonly number[];
  generation?: number | undefined;
  /** Since when they may be others' (epoch ms): the group was said to move on, and has not told the share. */
  doubtSince?: number | undefined;
  /** Epoch ms of the last sign that the group counts on this node. */
  heardAt: number;
  /** Since when Kafka answers other questions in its silence, epoch ms; undefined: it does not, or was not asked. */
  answersSince?: number | undefined;
  isAsking?: boolean;
}

/**
 * A consumer of kafkajs in a group, which reads where its caller says. Everything is paused until then. A group that does not
 * answer within the session is assumed to have given the partitions away. A consumer that died, or hears nothing for long
 * though Kafka answers, is replaced, for ever; while Kafka is away it is kept, because with its member id it goes on without
 * a rebalance.
 */
export class GroupConsumer {
  readonly #connection: KafkaConnection;
  readonly #options: GroupOptions;
  readonly #trouble: Trouble;
  readonly #stopChecks: () => void;
  #session: Session | undefined;
  #isOpen = true;
  #hasShare = false;
  #failures = 0;
  #cancelRejoin = () => {};
  /** Epoch ms of the last records, or the last word that there are none. */
  #readAt: number;

  constructor(connection: KafkaConnection, options: GroupOptions) {
    const { log, clock } = options;
    this.#connection = connection;
    this.#options = options;
    this.#trouble = new Trouble({ log, clock, ms: quietTrouble });
    this.#readAt = clock.now();
    this.#stopChecks = every(checkInterval, { clock, work: () => this.#check() });
    this.#begin();
  }

  get readAt(): number {
    return this.#readAt;
  }

  /** Records of a partition come from this offset on. */
  read(partition: number, from: number): void {
    const { topic } = this.#options;
    this.#tell((consumer) => {
      consumer.seek({ topic, partition, offset: String(from) });
      consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  /** No more come, but for those that are here already. */
  rest(partition: number): void {
    const { topic } = this.#options;
    this.#tell((consumer) => consumer.pause([{ topic, partitions: [partition] }]));
  }

  /** Leaves the group, in bounded time. */
  async leave(): Promise<void> {
    const { topic, clock, log } = this.#options;
    this.#isOpen = false;
    this.#stopChecks();
    this.#cancelRejoin();
    this.#take();
    const own = this.#session;
    this.#session = undefined;
    if (!own) return;
    const late = () => new Error('it does not answer');
    await within(own.consumer.disconnect(), { ms: leaveTimeout, clock, late }).catch((error) =>
      log.warn('a consumer group was left without a word', { topic, error: String(error) }),
    );
    own.client.destroy();
  }

  #begin(): void {
    const { topic, log } = this.#options;
    this.#start().catch((error) => log.error('a consumer group cannot be joined', { topic, error }));
  }

  async #start(): Promise<void> {
    const { topic, clock, log, connect = kafkaClient } = this.#options;
    const client = await connect(this.#connection, { clock, log, retry });
    if (!this.#isOpen) return client.destroy();
    const consumer = client.kafka.consumer(settingsOf(this.#options));
    const own: Session = { client, consumer, heardAt: clock.now() };
    this.#session = own;
    this.#watch(own);
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatch: async (fetched) => this.#pass(own, fetched) });
    } catch (error) {
      this.#replace(own, withoutClasses(String(error)));
    }
  }

  #watch(own: Session): void {
    const { clock, topic, log } = this.#options;
    const { GROUP_JOIN, HEARTBEAT, REBALANCING, CRASH, REQUEST_TIMEOUT, FETCH } = own.consumer.events;
    const on = <T>(name: string, hear: (payload: T) => void) =>
      own.consumer.on(name as typeof CRASH, (event) => {
        if (this.#session === own) hear((event as unknown as InstrumentationEvent<T>).payload);
      });
    on<{ memberAssignment: Record<string, number[]> }>(GROUP_JOIN, ({ memberAssignment }) => {
      own.share = memberAssignment[topic] ?? [];
      // In this very turn: nothing is to be fetched before. By number: to pause one of "all" would resume the others.
      own.consumer.pause([{ topic, partitions: [...own.share] }]);
      own.generation = own.doubtSince = undefined;
      own.heardAt = clock.now();
      this.#failures = 0;
      this.#trouble.isOver();
      log.info('this node has partitions', { topic, partitions: own.share.join(' ') });
      this.#give(own.share);
    });
    on<{ groupGenerationId: number }>(HEARTBEAT, ({ groupGenerationId }) => {
      own.heardAt = clock.now();
      if (own.doubtSince === undefined) own.generation ??= groupGenerationId;
      // A group can move on without a word. It can also not move on after all: kafkajs takes a broker that has just started
      // for that, and when it cannot join there either, it goes on as the member that it was and says so to nobody.
      const isKnown = groupGenerationId === own.generation;
      own.doubtSince = isKnown ? undefined : (own.doubtSince ?? clock.now());
      if (!isKnown) this.#take();
      // Given up in a silence that the group did not take for an absence.
      else if (own.share && !this.#hasShare) this.#give(own.share);
    });
    on(REBALANCING, () => {
      own.doubtSince = clock.now();
      this.#take();
    });
    on(FETCH, () => {
      this.#readAt = clock.now();
    });
    on<{ broker: string }>(REQUEST_TIMEOUT, (payload) => own.client.cut({ payload }));
    on<{ error: Error }>(CRASH, ({ error }) => this.#replace(own, withoutClasses(String(error))));
  }

  #pass(own: Session, { batch, isStale }: EachBatchPayload): void {
    if (this.#session !== own || isStale()) return;
    const { partition, messages, highWatermark } = batch;
    const records = messages.map(({ offset, timestamp, key, value }) => ({
      ...{ partition, offset: Number(offset), at: Number(timestamp) },
      ...{ key: key?.toString() ?? '', value: value?.toString() ?? '' },
    }));
    this.#options.got(partition, { records, end: Number(highWatermark) });
  }

  #give(partitions: readonly number[]): void {
    this.#take();
    this.#hasShare = true;
    this.#options.given(partitions);
  }

  #take(): void {
    if (!this.#hasShare) return;
    this.#hasShare = false;
    this.#options.taken();
  }

  #check(): void {
    const { clock, topic, sessionTimeout, log } = this.#options;
    const own = this.#session;
    if (!own) return;
    const now = clock.now();
    const silence = now - own.heardAt;
    const isUntold = now - (own.doubtSince ?? now) > shareWait && silence < shareWait;
    const isDeaf = now - Math.max(own.answersSince ?? now, own.heardAt) > groupSilence;
    if (isUntold) this.#replace(own, 'the group counts on this node and has not told its share');
    if (silence <= sessionTimeout) return;
    if (this.#hasShare)
      log.warn('the consumer group does not answer; this node gives its partitions up', { topic, silence });
    this.#take();
    if (isDeaf) this.#replace(own, `no word of the group for ${silence} ms, though Kafka answers`);
    else void this.#ask(own);
  }

  async #ask(own: Session): Promise<void> {
    if (own.isAsking) return;
    own.isAsking = true;
    const isThere = await this.#options.ask().then(
      () => true,
      () => false,
    );
    own.answersSince = isThere ? (own.answersSince ?? this.#options.clock.now()) : undefined;
    own.isAsking = false;
  }

  #replace(own: Session, reason: string): void {
    if (this.#session !== own) return;
    const { clock, topic } = this.#options;
    this.#session = undefined;
    this.#take();
    own.client.destroy();
    // Its promises may never end; without connections it does nothing any more.
    own.consumer.disconnect().catch(() => {});
    const wait = Math.min(firstRejoin * 2 ** this.#failures, longestRejoin);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#trouble.warn('a consumer group is joined anew', { topic, reason, wait });
    this.#cancelRejoin = clock.at(clock.now() + wait, () => this.#begin());
  }

  /** A consumer that has just died takes no orders; whoever follows it gets new ones. */
  #tell(order: (consumer: Consumer) => void): void {
    if (!this.#session) return;
    try {
      order(this.#session.consumer);
    } catch (error) {
      this.#options.log.debug('the consumer takes no orders', { error: String(error) });
    }
  }
}

function settingsOf({
  groupId,
  sessionTimeout,
}: GroupOptions): Parameters<KafkaClient['kafka']['consumer']>[0] {
  return {
    ...{ groupId, sessionTimeout, rebalanceTimeout: sessionTimeout, metadataMaxAge: metadataAge },
    heartbeatInterval: Math.min(heartbeatInterval, Math.floor(sessionTimeout / 3)),
    ...{ maxWaitTimeInMs: fetchWait, maxBytes: fetchBytes, maxBytesPerPartition: partitionBytes },
    allowAutoTopicCreation: false,
    // It would wait for requests that nobody answers. Replaced instead.
    retry: { ...retry, restartOnFailure: async () => false },
  };
}
