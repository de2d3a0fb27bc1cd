import { createHash } from 'node:crypto';
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
import type { KafkaConnection } from './client.ts';
import { group, topic as limits, reading as readLimits } from './limits.ts';
import { type Link, link } from './link.ts';
import { listening } from './listening.ts';
import { member } from './member.ts';
import { type Pump, pump } from './pump.ts';
import { quietLog } from './quiet-log.ts';
import { reader } from './reader.ts';
import { type Share, share } from './share.ts';
import { logIdentity, openTopics, topicNames } from './topics.ts';
import { kafkaTransport } from './transport.ts';

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

/** The bus on Kafka: README.md of this folder says how, and why not as kafkajs would. Nothing is connected before `open`. */
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
  const topicOptions = {
    topics,
    node,
    partitions,
    replicationFactor: options.replication ?? -1,
    minInsync: options.minInsync,
    commandRetention: options.commandRetention ?? limits.commandRetention,
    clock,
    log,
  };
  // Connections of their own: a broker answers the requests of one connection one after the other.
  const links: Link[] = [];
  const openLink = () => {
    const opened = link(connection, { clock, log });
    links.push(opened);
    return opened;
  };
  const openPump = (): Pump =>
    pump({ transport: kafkaTransport({ link: openLink(), clock, log }), clock, log });
  const pumps = { commands: openPump(), replies: openPump(), events: openPump() };
  const ends = new Set<() => Promise<void>>();
  let isClosed = false;
  let identity: string | undefined;
  let owned: Share | undefined;
  let pings: Link | undefined;

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

  const currentLog = remembered({ ms: readLimits.rememberLog, clock }, () =>
    logIdentity(connection, topicOptions),
  );
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
      const reads = openLink();
      const mine = share({
        partitions,
        owner,
        async range(partition) {
          await checkLog();
          return reads.range(topics.commands, partition);
        },
        wake: () => reading.wake(),
        clock,
        log,
      });
      owned = mine;
      const reading = reader({
        link: reads,
        topic: topics.commands,
        clock,
        log,
        wanted: mine.wanted,
        got: mine.got,
        outOfRange(partition, from) {
          log.error('the log of a partition does not have the next record', { partition, from });
          mine.restart(partition);
        },
        missing: mine.restartAll,
      });
      const joined = member(connection, {
        groupId: `${options.namespace}.actors`,
        topic: topics.commands,
        sessionTimeout: options.sessionTimeout ?? group.sessionTimeout,
        clock,
        log,
        given: mine.give,
        taken: mine.take,
        async probe() {
          reads.forget();
          await reads.leaders(topics.commands);
        },
      });
      const lookAtLog = () => {
        currentLog().then(
          (now) => {
            if (now !== identity) mine.restartAll();
          },
          () => {},
        );
      };
      const stops = [
        every(group.placeInterval, { clock, work: () => joined.note(mine.places()) }),
        every(group.logCheck, { clock, work: lookAtLog }),
      ];
      return ending(async () => {
        for (const stop of stops) stop();
        owned = undefined;
        await joined.leave();
        mine.take();
        reading.close();
        reads.close();
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
      const heard = openLink();
      const end = await listening({ link: heard, topic: topics.replies(node), hear, clock, log });
      return ending(async () => {
        end();
        heard.close();
      });
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
      pings ??= openLink();
      pings.forget();
      try {
        await pings.leaders(topics.commands);
      } catch (error) {
        pings.renew();
        if (isClosed) throw closedFault();
        throw unreachableFault(`Kafka does not answer: ${String(error)}`, error);
      }
    },
    lags: () => owned?.lags() ?? [],
    async close() {
      isClosed = true;
      await Promise.all([...ends].map((end) => end()));
      await Promise.all(Object.values(pumps).map((one) => one.close()));
      for (const one of links) one.close();
    },
  };
}

/** Events of one key stay in one partition. No engine of ours reads them, so the hash may be any that stays the same. */
function partitionOf(key: string, partitions: number): number {
  return createHash('sha1').update(key).digest().readUInt32BE(0) % partitions;
}

/** Asks once for all who want to know within `ms`. A failure is not remembered. */
function remembered<T>(options: { ms: number; clock: Clock }, work: () => Promise<T>): () => Promise<T> {
  const { ms, clock } = options;
  let last: { at: number; answer: Promise<T> } | undefined;
  return () => {
    if (last && clock.now() - last.at < ms) return last.answer;
    const asked = { at: clock.now(), answer: work() };
    last = asked;
    asked.answer.catch(() => {
      if (last === asked) last = undefined;
    });
    return asked.answer;
  };
}

function checkName(what: string, name: string): void {
  if (!/^[a-zA-Z0-9._-]{1,100}$/.test(name))
    throw new RangeError(
      `${what} is ${JSON.stringify(name.slice(0, 120))}, not 1 to 100 of a-z A-Z 0-9 . _ -`,
    );
}
