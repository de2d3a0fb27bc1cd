import { createHash, randomUUID } from 'node:crypto';
import type { Log } from '../../../../core/base/log.ts';
import { every } from '../../../../core/base/timing.ts';
import type { Bus, PartitionOwner } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import {
  checkCount,
  checkPartition,
  checkRecord,
  checkValue,
  closedFault,
  unreachableFault,
} from '../checks.ts';
import { kafkaAdmin } from './admin.ts';
import type { KafkaConnection } from './client.ts';
import { groupConsumer } from './consumer.ts';
import { group, topic as limits, reading } from './limits.ts';
import { listening } from './listening.ts';
import { kafkaProducer } from './producer.ts';
import { pulse } from './pulse.ts';
import { pump } from './pump.ts';
import { quietLog } from './quiet-log.ts';
import { type Share, share } from './share.ts';
import { openTopics, readIdentity, topicNames, untilKnown } from './topics.ts';

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
  /** ms. Default 7 days. */
  readonly commandRetention?: number;
  /** ms until the partitions of a node that is gone are others'. Default 6 s. */
  readonly sessionTimeout?: number;
}

/** The bus on Kafka: README.md of this folder says how. Nothing is connected before `open`. */
export function kafkaBus(options: KafkaBusOptions): Bus {
  const { clock, partitions, node } = options;
  checkName('namespace', options.namespace);
  checkName('node', node);
  const log = quietLog(options.log.with({ bus: 'kafka' }), { clock });
  const topics = topicNames(options.namespace);
  const connection = {
    brokers: options.brokers,
    clientId: `${options.namespace}-${node}`,
    ...(options.ssl !== undefined && { ssl: options.ssl }),
    ...(options.sasl !== undefined && { sasl: options.sasl }),
  };
  const engine = { clock, log };
  const topicOptions = {
    ...{ ...engine, topics, node, partitions, minInsync: options.minInsync },
    replicationFactor: options.replication ?? -1,
    commandRetention: options.commandRetention ?? limits.commandRetention,
  };
  const admin = kafkaAdmin(connection, engine);
  // Connections of their own: a broker answers the requests of one connection one after the other.
  const openPump = () => {
    const producer = kafkaProducer(connection, engine);
    const own = pump({ transport: producer.send, ...engine });
    return {
      send: own.send,
      async close() {
        await own.close();
        producer.close();
      },
    };
  };
  const pumps = { commands: openPump(), replies: openPump(), events: openPump() };
  const sessionTimeout = options.sessionTimeout ?? group.sessionTimeout;
  const ends = new Set<() => Promise<void>>();
  let isClosed = false;
  let identity: string | undefined;
  let owned: Share | undefined;
  // Nobody waits for it before somebody owns or listens.
  let beat: ReturnType<typeof pulse> | undefined;
  const listened = () => {
    beat ??= pulse({ admin, topic: topics.commands, clock, seen: (range) => owned?.seen(range) });
    return beat;
  };

  const ending = (end: () => Promise<void>) => {
    const once = async () => {
      if (ends.delete(once)) await end();
    };
    ends.add(once);
    return once;
  };
  const checkOpen = () => {
    if (isClosed) throw closedFault();
  };

  /** One question for all partitions that are taken together. A failure is not remembered. */
  let known: { readonly at: number; readonly log: Promise<string> } | undefined;
  const currentLog = (): Promise<string> => {
    if (known && clock.now() - known.at < reading.rememberLog) return known.log;
    const own = { at: clock.now(), log: admin.ask((asked) => readIdentity(asked, topicOptions)) };
    known = own;
    own.log.catch(() => {
      if (known === own) known = undefined;
    });
    return own.log;
  };
  /** Rejects when the log is another one than at the start: its offsets mean nothing to anybody. */
  const checkLog = async () => {
    const now = await currentLog();
    identity ??= now;
    if (now === identity) return;
    throw new Error(
      `${topics.commands} is ${now}, and was ${identity} when this node started: start it again`,
    );
  };

  return {
    async open() {
      checkOpen();
      identity = await openTopics(connection, topicOptions);
      return { log: identity };
    },
    async send({ partition, key, value }) {
      checkOpen();
      checkPartition(partition, { partitions });
      checkRecord({ key, value });
      await pumps.commands.send({ topic: topics.commands, partition, key, value });
    },
    async own(owner: PartitionOwner) {
      checkOpen();
      const { answersSince } = listened();
      const mine = share({
        ...{ partitions, owner, clock, log },
        async range(partition) {
          await checkLog();
          const ranges = await untilKnown(clock, () => admin.ranges(topics.commands));
          const range = ranges.get(partition);
          if (!range) throw new Error(`Kafka does not know partition ${partition} of ${topics.commands}`);
          return range;
        },
        read: (partition, from) => joined.read(partition, from),
        rest: (partition) => joined.rest(partition),
      });
      owned = mine;
      const joined = groupConsumer(connection, {
        ...{ topic: topics.commands, sessionTimeout, clock, log, answersSince },
        groupId: `${options.namespace}.actors`,
        given: mine.give,
        taken: mine.take,
        got: mine.got,
      });
      const lookAtLog = async () => {
        if ((await currentLog()) !== identity) mine.restartAll();
      };
      const stops = [
        every(group.placeInterval, { clock, work: () => joined.note(mine.places()) }),
        every(group.logCheck, { clock, work: () => void lookAtLog().catch(() => {}) }),
      ];
      return ending(async () => {
        for (const stop of stops) stop();
        owned = undefined;
        await joined.leave();
      });
    },
    restart: (partition) => owned?.restart(partition),
    async tell(other, message) {
      checkOpen();
      checkName('node', other);
      checkValue(message);
      const record = { topic: topics.replies(other), partition: 0, key: null, value: message };
      await pumps.replies.send(record, { orNobody: true });
    },
    async listen(hear) {
      checkOpen();
      const { answersSince } = listened();
      const heard = { topic: topics.replies(node), groupId: `${topics.replies(node)}.${randomUUID()}` };
      return ending(
        await listening(connection, { ...heard, sessionTimeout, clock, log, admin, hear, answersSince }),
      );
    },
    async publish(records) {
      checkOpen();
      checkCount(records.length);
      for (const record of records) checkRecord(record);
      const sent = records.map(({ key, value }) =>
        pumps.events.send({ topic: topics.events, partition: partitionOf(key, partitions), key, value }),
      );
      await Promise.all(sent);
    },
    async bury({ partition, offset, at, key, value }, reason) {
      checkOpen();
      const headers = { partition: String(partition), offset: String(offset), at: String(at), reason };
      await pumps.events.send({ topic: topics.dead, partition: 0, key, value, headers });
    },
    async ping() {
      checkOpen();
      try {
        await admin.ask((asked) => asked.fetchTopicMetadata({ topics: [topics.commands] }));
      } catch (error) {
        if (isClosed) throw closedFault();
        throw unreachableFault(`Kafka does not answer: ${String(error)}`, error);
      }
    },
    lags: () => owned?.lags() ?? [],
    async close() {
      isClosed = true;
      await Promise.all([...ends].map((end) => end()));
      await Promise.all(Object.values(pumps).map((one) => one.close()));
      admin.close();
      // What it asked for last is nobody's concern.
      void beat?.stop();
    },
  };
}

/** Events of one key stay in one partition. No engine of ours reads them, so the hash may be any that stays the same. */
function partitionOf(key: string, partitions: number): number {
  return createHash('sha1').update(key).digest().readUInt32BE(0) % partitions;
}

function checkName(what: string, name: string): void {
  if (!/^[a-zA-Z0-9._-]{1,100}$/.test(name))
    throw new RangeError(
      `${what} is ${JSON.stringify(name.slice(0, 120))}, not 1 to 100 of a-z A-Z 0-9 . _ -`,
    );
}
