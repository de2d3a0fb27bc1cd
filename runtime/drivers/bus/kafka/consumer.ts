import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import { every, within } from '../../../../core/base/timing.ts';
import type { LogRecord } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { type KafkaClient, type KafkaConnection, kafkaClient, withoutClasses } from './client.ts';
import { group, reading } from './limits.ts';
import { lasting } from './quiet-log.ts';

export interface GroupConsumer {
  /** Records of a partition come from this offset on. */
  read(partition: number, from: number): void;
  /** No more come, but for those that are here already. */
  rest(partition: number): void;
  /** Tells Kafka how far this node has come, for its operator alone. */
  note(places: ReadonlyMap<number, number>): void;
  /** Leaves the group, in bounded time. */
  leave(): Promise<void>;
}

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
  /** Since when Kafka answers other questions, epoch ms. */
  answersSince(): number | undefined;
  /** For tests. */
  readonly connect?: typeof kafkaClient;
}

interface Session {
  readonly client: KafkaClient;
  readonly consumer: Consumer;
  /** Partitions by the last word of the group, and the generation of the group that it was said in, once that is known. */
  share: readonly number[] | undefined;
  generation: number | undefined;
  /** They may be others' by now: the group was said to move on. */
  isInDoubt: boolean;
  /** Since when the group counts on this node (epoch ms) without having told its share. */
  untoldSince: number | undefined;
  /** Epoch ms of the last sign that the group counts on this node. */
  heardAt: number;
  isOver: boolean;
  isNoting: boolean;
}

/**
 * A consumer of kafkajs in a group, which reads where its caller says. Everything is paused until then. A group that does not
 * answer within the session is assumed to have given the partitions away. A consumer that died, or hears nothing for long
 * though Kafka answers, is replaced, for ever; while Kafka is away it is kept, because with its member id it goes on without
 * a rebalance.
 */
export function groupConsumer(connection: KafkaConnection, options: GroupOptions): GroupConsumer {
  const { topic, sessionTimeout, clock, log, connect = kafkaClient } = options;
  const trouble = lasting(log, { clock, ms: group.quietTrouble });
  let isOpen = true;
  let hasShare = false;
  let session: Session | undefined;
  let failures = 0;
  let cancelRejoin = () => {};

  const give = (partitions: readonly number[]) => {
    take();
    hasShare = true;
    options.given(partitions);
  };
  const take = () => {
    if (!hasShare) return;
    hasShare = false;
    options.taken();
  };

  const start = async (): Promise<void> => {
    const client = await connect(connection, { clock, log, retry });
    const own: Session = {
      ...{ client, consumer: client.kafka.consumer(settings(options)) },
      ...{ share: undefined, generation: undefined, isInDoubt: false, untoldSince: undefined },
      ...{ heardAt: clock.now(), isOver: false, isNoting: false },
    };
    if (!isOpen) return client.destroy();
    session = own;
    watch(own);
    try {
      await own.consumer.connect();
      await own.consumer.subscribe({ topics: [topic], fromBeginning: true });
      await own.consumer.run({ autoCommit: false, eachBatch: async (fetched) => pass(own, fetched) });
    } catch (error) {
      replace(own, withoutClasses(String(error)));
    }
  };

  const watch = (own: Session) => {
    const { consumer } = own;
    const { GROUP_JOIN, HEARTBEAT, REBALANCING, CRASH, REQUEST_TIMEOUT } = consumer.events;
    const on: typeof consumer.on = (name: string, hear: (event: never) => void) =>
      (consumer.on as (name: string, hear: (event: never) => void) => () => void)(name, (event) => {
        if (!own.isOver) hear(event);
      });
    on(GROUP_JOIN, ({ payload }) => {
      own.share = payload.memberAssignment[topic] ?? [];
      // In this very turn: nothing is to be fetched before. By number: to pause one of "all" would resume the others.
      consumer.pause([{ topic, partitions: [...own.share] }]);
      Object.assign(own, { generation: undefined, isInDoubt: false, untoldSince: undefined });
      own.heardAt = clock.now();
      failures = 0;
      trouble.isOver();
      log.info('this node has partitions', { topic, partitions: own.share.join(' ') });
      give(own.share);
    });
    on(HEARTBEAT, ({ payload }) => {
      own.heardAt = clock.now();
      const { groupGenerationId: generation } = payload;
      own.generation ??= own.isInDoubt ? undefined : generation;
      const isKnown = generation === own.generation;
      // A group can move on without a word. It can also not move on after all: kafkajs takes a broker that has just started
      // for that, and when it cannot join there either, it goes on as the member that it was and says so to nobody.
      if (own.share) own.isInDoubt = !isKnown;
      own.untoldSince = own.isInDoubt ? (own.untoldSince ?? clock.now()) : undefined;
      if (own.isInDoubt) take();
      // Given up in a silence that the group did not take for an absence.
      else if (own.share && !hasShare) give(own.share);
    });
    on(REBALANCING, () => {
      own.isInDoubt = true;
      take();
    });
    on(REQUEST_TIMEOUT, own.client.cut);
    on(CRASH, ({ payload }) => replace(own, withoutClasses(String(payload.error))));
  };

  const pass = (own: Session, { batch, isStale }: EachBatchPayload) => {
    if (own.isOver || isStale()) return;
    const { partition, messages, highWatermark } = batch;
    const records = messages.map(({ offset, timestamp, key, value }) => ({
      ...{ partition, offset: Number(offset), at: Number(timestamp) },
      ...{ key: key?.toString() ?? '', value: value?.toString() ?? '' },
    }));
    options.got(partition, { records, end: Number(highWatermark) });
  };

  const replace = (own: Session, reason: string) => {
    if (own.isOver) return;
    own.isOver = true;
    take();
    own.client.destroy();
    // Its promises may never end; without connections it does nothing any more.
    own.consumer.disconnect().catch(() => {});
    if (session === own) session = undefined;
    if (!isOpen) return;
    const wait = Math.min(group.rejoinWait * 2 ** failures, group.longestRejoinWait);
    failures = Math.min(failures + 1, 10);
    trouble.warn('a consumer group is joined anew', { topic, reason, wait });
    cancelRejoin = clock.at(clock.now() + wait, begin);
  };
  const begin = () => {
    start().catch((error) => log.error('a consumer group cannot be joined', { topic, error }));
  };

  const check = () => {
    if (!session) return;
    const { untoldSince } = session;
    if (untoldSince !== undefined && clock.now() - untoldSince > group.shareWait)
      return replace(session, 'the group counts on this node and has not told its share');
    const silence = clock.now() - session.heardAt;
    if (silence <= sessionTimeout) return;
    if (hasShare) {
      log.warn('the consumer group does not answer; this node gives its partitions up', { topic, silence });
      take();
    }
    const answered = options.answersSince();
    const deaf = clock.now() - Math.max(session.heardAt, answered ?? clock.now());
    if (deaf > Math.max(group.groupSilence, 2 * sessionTimeout))
      replace(session, `no word of the group for ${silence} ms, though Kafka answers`);
  };
  const stopChecks = every(group.heartbeatCheck, { clock, work: check });
  begin();

  /** A consumer that has just died takes no orders; whoever follows it gets new ones. */
  const told = (order: (consumer: Consumer) => void) => {
    if (!session) return;
    try {
      order(session.consumer);
    } catch (error) {
      log.debug('the consumer takes no orders', { error: String(error) });
    }
  };
  return {
    read: (partition, from) =>
      told((consumer) => {
        consumer.seek({ topic, partition, offset: String(from) });
        consumer.resume([{ topic, partitions: [partition] }]);
      }),
    rest: (partition) => told((consumer) => consumer.pause([{ topic, partitions: [partition] }])),
    note(places) {
      const own = session;
      if (!own?.share || own.isInDoubt || own.isNoting || places.size === 0) return;
      own.isNoting = true;
      const offsets = [...places].map(([partition, next]) => ({ topic, partition, offset: String(next) }));
      own.consumer
        .commitOffsets(offsets)
        .catch(() => {})
        .finally(() => {
          own.isNoting = false;
        });
    },
    async leave() {
      isOpen = false;
      stopChecks();
      cancelRejoin();
      take();
      const own = session;
      session = undefined;
      if (!own) return;
      own.isOver = true;
      const late = () => new Error('it does not answer');
      await within(own.consumer.disconnect(), { ms: group.closeTimeout, clock, late }).catch((error) =>
        log.warn('a consumer group was left without a word', { topic, error: String(error) }),
      );
      own.client.destroy();
    },
  };
}

/** A consumer that gives up while no broker answers comes back as another member, and the group waits for the end of the first. */
const retry = {
  retries: group.retries,
  initialRetryTime: group.heartbeatCheck,
  maxRetryTime: group.retryWait,
  multiplier: 1.5,
};

function settings({
  groupId,
  sessionTimeout,
}: GroupOptions): Parameters<KafkaClient['kafka']['consumer']>[0] {
  return {
    groupId,
    sessionTimeout,
    rebalanceTimeout: sessionTimeout,
    heartbeatInterval: Math.min(group.heartbeatInterval, Math.floor(sessionTimeout / 3)),
    maxWaitTimeInMs: reading.fetchWait,
    maxBytes: reading.fetchBytes,
    maxBytesPerPartition: reading.partitionBytes,
    metadataMaxAge: group.metadataAge,
    allowAutoTopicCreation: false,
    // It would wait for requests that nobody answers. Replaced instead.
    retry: { ...retry, restartOnFailure: async () => false },
  };
}
