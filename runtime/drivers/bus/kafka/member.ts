import type { Consumer } from 'kafkajs';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { pause, within } from '../within.ts';
import { type KafkaClient, type KafkaConnection, kafkaClient, withoutClasses } from './client.ts';
import { group } from './limits.ts';

export interface Member {
  /** Tells Kafka how far this node has come, for its operator alone. */
  note(places: ReadonlyMap<number, number>): void;
  /** Leaves the group, in bounded time. */
  leave(): Promise<void>;
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
 * A node's place in a consumer group, by kafkajs's consumer with every partition paused: it joins, says that it is there,
 * and takes part in rebalances; records are read elsewhere. So a slow owner never costs the place, and no rule of
 * kafkajs decides about an offset. `given` and `taken` alternate. A group that does not answer within the session is
 * assumed to have given the partitions away. A consumer that died, or hears nothing for long though Kafka answers, is
 * replaced, for ever; while Kafka is away it is kept, because with its member id it goes on without a rebalance.
 */
export function member(
  connection: KafkaConnection,
  options: {
    groupId: string;
    topic: string;
    sessionTimeout: number;
    clock: Clock;
    log: Log;
    given: (partitions: readonly number[]) => void;
    taken: () => void;
    /** Resolves when Kafka answers. */
    probe: () => Promise<void>;
    /** For tests. */
    connect?: typeof kafkaClient;
  },
): Member {
  const { groupId, topic, sessionTimeout, clock, log, connect = kafkaClient } = options;
  let isOpen = true;
  let hasShare = false;
  let session: Session | undefined;
  let failures = 0;
  let cancelCheck = () => {};
  /** Since when Kafka answers though the group is silent. */
  let answersSince: number | undefined;
  let isProbing = false;
  let probedAt = 0;

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
    const client = await connect(connection, { clock, log });
    const consumer = client.kafka.consumer({
      groupId,
      sessionTimeout,
      rebalanceTimeout: sessionTimeout,
      heartbeatInterval: Math.min(group.heartbeatInterval, Math.floor(sessionTimeout / 3)),
      // How often its loop comes around, as everything is paused.
      maxWaitTimeInMs: group.heartbeatCheck,
      allowAutoTopicCreation: false,
      retry: {
        retries: group.groupRetries,
        initialRetryTime: group.heartbeatCheck,
        maxRetryTime: group.groupRetryWait,
        multiplier: 1.5,
        // It would wait for requests that nobody answers. Replaced below.
        restartOnFailure: async () => false,
      },
    });
    const own: Session = {
      client,
      consumer,
      share: undefined,
      generation: undefined,
      isInDoubt: false,
      untoldSince: undefined,
      heardAt: clock.now(),
      isOver: false,
      isNoting: false,
    };
    if (!isOpen) return client.destroy();
    session = own;
    const { GROUP_JOIN, HEARTBEAT, REBALANCING, CRASH } = consumer.events;
    consumer.on(GROUP_JOIN, ({ payload }) => {
      if (own.isOver) return;
      // In this very turn: nothing is to be fetched before.
      consumer.pause([{ topic }]);
      own.share = payload.memberAssignment[topic] ?? [];
      own.generation = undefined;
      own.isInDoubt = false;
      own.untoldSince = undefined;
      own.heardAt = clock.now();
      failures = 0;
      log.info('this node has partitions', { partitions: own.share.join(' ') });
      give(own.share);
    });
    consumer.on(HEARTBEAT, ({ payload }) => {
      if (own.isOver) return;
      own.heardAt = clock.now();
      const { groupGenerationId: generation } = payload;
      if (!own.isInDoubt) own.generation = generation;
      // It did not move on after all: kafkajs takes a broker that has just started for that, and when it cannot join
      // there either, it goes on as the member that it was and says so to nobody.
      else if (own.share && generation === own.generation) own.isInDoubt = false;
      own.untoldSince = own.isInDoubt ? (own.untoldSince ?? clock.now()) : undefined;
      // Given up in a silence that the group did not take for an absence.
      if (own.share && !own.isInDoubt && !hasShare) give(own.share);
    });
    consumer.on(REBALANCING, () => {
      if (own.isOver) return;
      own.isInDoubt = true;
      take();
    });
    consumer.on(CRASH, ({ payload }) => {
      if (!own.isOver) replace(own, withoutClasses(String(payload.error)));
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatch: async () => {} });
    } catch (error) {
      if (!own.isOver) replace(own, withoutClasses(String(error)));
    }
  };

  const replace = (own: Session, reason: string) => {
    own.isOver = true;
    take();
    own.client.destroy();
    // Its promises may never end; without connections it does nothing any more.
    own.consumer.disconnect().catch(() => {});
    if (session !== own) return;
    session = undefined;
    if (!isOpen) return;
    const wait = Math.min(group.rejoinWait * 2 ** failures, group.longestRejoinWait);
    failures = Math.min(failures + 1, 10);
    log.warn('the consumer group is joined anew', { reason, wait });
    void pause(wait, clock).then(begin);
  };

  const begin = async (): Promise<void> => {
    if (!isOpen) return;
    await start().catch((error) => log.error('the consumer group cannot be joined', { error }));
  };

  const check = () => {
    cancelCheck = clock.at(clock.now() + group.heartbeatCheck, check);
    if (!session) return;
    const { untoldSince } = session;
    if (untoldSince !== undefined && clock.now() - untoldSince > group.shareWait)
      return replace(session, 'the group counts on this node and has not told its share');
    const silence = clock.now() - session.heardAt;
    if (silence > sessionTimeout && hasShare) {
      log.warn('the consumer group does not answer; this node gives its partitions up', { silence });
      take();
    }
    if (silence <= sessionTimeout) answersSince = undefined;
    else probe();
    const deaf = answersSince === undefined ? 0 : clock.now() - answersSince;
    if (deaf > Math.max(group.groupSilence, 2 * sessionTimeout)) {
      answersSince = undefined;
      replace(session, `no word of the group for ${silence} ms, though Kafka answers`);
    }
  };
  const probe = () => {
    if (isProbing || clock.now() - probedAt < group.probeInterval) return;
    isProbing = true;
    probedAt = clock.now();
    options
      .probe()
      .then(
        () => {
          answersSince ??= clock.now();
        },
        () => {
          answersSince = undefined;
        },
      )
      .finally(() => {
        isProbing = false;
      });
  };
  check();
  void begin();

  return {
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
      cancelCheck();
      take();
      const own = session;
      session = undefined;
      if (!own) return;
      own.isOver = true;
      const goodbye = own.consumer.disconnect();
      await within(goodbye, { ms: group.closeTimeout, clock, what: 'leaving the group' }).catch((error) =>
        log.warn('the consumer group was left without a word', { error: String(error) }),
      );
      own.client.destroy();
    },
  };
}
