import { randomBytes } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { KafkaAdmin } from './admin.ts';
import { answerType, type KafkaConnection, requestTimeout } from './client.ts';

/** Finding and creating the topics at the start, ms. Beyond: `bus.unreachable`. */
const openTimeout = 9000;
/** Wait for as many brokers as a topic is to have copies, ms. Beyond: `bus.refused` (`kafka.replication`). */
const brokersWait = 5000;
/** Wait until a broker is asked again about a topic that was just made, ms. */
const askAgain = 50;
const minute = 60_000;
const day = 24 * 60 * minute;
/** ms that commands are kept: the store may be rolled back that far; events for readers outside; what was buried; words to a node. */
const retention = { commands: 7 * day, events: 7 * day, dead: 30 * day, replies: 10 * minute };
/** Bytes of a batch of records: a command is smaller (413 `bus.too_large`). */
const maxBytes = 4 * 1_048_576;

export interface TopicNames {
  readonly commands: string;
  readonly events: string;
  readonly dead: string;
  replies(node: string): string;
}

export function topicNames(namespace: string): TopicNames {
  return {
    commands: `${namespace}.commands`,
    events: `${namespace}.events`,
    dead: `${namespace}.dead`,
    replies: (node) => `${namespace}.replies.${node}`,
  };
}

export interface TopicOptions {
  readonly names: TopicNames;
  readonly node: string;
  readonly partitions: number;
  readonly replication?: number;
  readonly minInsync?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * A topic whose retention by size is above this was marked by us: the rest of the number is chance. Kafka makes a topic and
 * its settings in one step and removes them together, its older protocol tells no topic ids, and no partition will
 * ever have an exbibyte: so this is the identity of the log.
 */
const marked = 1n << 60n;

/** Creates what is missing and checks the rest. Resolves with the identity of the log of commands. */
export async function openTopics(connection: KafkaConnection, options: TopicOptions): Promise<string> {
  const { clock, log } = options;
  const questions = new KafkaAdmin(connection, { clock, log, retries: 5 });
  try {
    return await questions.ask((admin) => opened(admin, options), openTimeout);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const message = `Kafka at ${connection.brokers.join(', ')}: ${reasonOf(error)}`;
    const refusal = refusalOf(error);
    if (refusal)
      throw new Fault('bus.refused', { status: 500, message: `${refusal}: ${message}`, cause: error });
    throw new Fault('bus.unreachable', { status: 503, message, retryAfter: 1, cause: error });
  } finally {
    questions.close();
  }
}

async function opened(admin: Admin, options: TopicOptions): Promise<string> {
  const { names, node, partitions, clock, log } = options;
  const replies = names.replies(node);
  await create(admin, options, {
    [names.commands]: {
      'retention.ms': retention.commands,
      'retention.bytes': marked + BigInt(`0x${randomBytes(6).toString('hex')}`),
      // Deadlines count from when the broker took a command, by one clock.
      'message.timestamp.type': 'LogAppendTime',
    },
    [names.events]: { 'retention.ms': retention.events },
    [names.dead]: { 'retention.ms': retention.dead },
    [replies]: { 'retention.ms': retention.replies, 'segment.ms': retention.replies },
  });
  const all = [names.commands, names.events, names.dead, replies];
  const { topics } = await untilKnown(clock, () => admin.fetchTopicMetadata({ topics: all }));
  const message = topics.flatMap(({ name, partitions: { length } }) =>
    (name === names.commands || name === names.events) && length !== partitions
      ? `${name} has ${length} partitions; kafka.partitions is ${partitions}, and neither can be changed`
      : [],
  );
  if (message.length > 0) throw new Fault('bus.partitions', { status: 500, message });
  // A leader answers when it knows that it is one.
  for (const topic of all) await untilKnown(clock, () => admin.fetchTopicOffsets(topic));
  const { mark, times } = await untilKnown(clock, () => settingsOf(admin, names.commands));
  const topic = names.commands;
  if (mark < marked)
    log.warn('the topic of commands was not made by this program: it is not seen when it is made anew', {
      topic,
    });
  if (times !== 'LogAppendTime')
    log.warn("the topic of commands has no times of the broker: deadlines go by its senders' clocks", {
      topic,
    });
  return readIdentity(admin, options);
}

/** Makes those that are not there. Asks about no other: a topic of somebody else may have no leader, which fails such a question. */
async function create(
  admin: Admin,
  options: TopicOptions,
  topics: Readonly<Record<string, Readonly<Record<string, string | number | bigint>>>>,
): Promise<void> {
  const { names, partitions, replication = -1, minInsync, clock } = options;
  for (const [topic, own] of Object.entries(topics)) {
    if (await isThere(admin, topic)) continue;
    const settings = {
      ...{ 'max.message.bytes': maxBytes, 'cleanup.policy': 'delete', ...own },
      ...(minInsync !== undefined && { 'min.insync.replicas': minInsync }),
    };
    const made = {
      ...{ topic, replicationFactor: replication },
      numPartitions: topic === names.commands || topic === names.events ? partitions : 1,
      configEntries: Object.entries(settings).map(([name, value]) => ({ name, value: String(value) })),
    };
    // False when another node was quicker.
    await asking(
      () => admin.createTopics({ topics: [made], waitForLeaders: false, timeout: requestTimeout }),
      { isTransient: (error) => refusalOf(error) === 'kafka.replication', clock, ms: brokersWait },
    );
  }
}

async function isThere(admin: Admin, topic: string): Promise<boolean> {
  try {
    await admin.fetchTopicMetadata({ topics: [topic] });
    return true;
  } catch (error) {
    if (answerType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
    throw error;
  }
}

/** Brokers hear of a new topic one after the other: its maker's next question may come to one that has not. */
export function untilKnown<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  const isTransient = (error: unknown) =>
    /^(UNKNOWN_TOPIC_OR_PARTITION|LEADER_NOT_AVAILABLE|NOT_LEADER_FOR_PARTITION)$/.test(
      answerType(error) ?? '',
    );
  return asking(ask, { isTransient, clock, ms: openTimeout });
}

/** Asks again while what is wrong may pass. */
async function asking<T>(
  ask: () => Promise<T>,
  { isTransient, clock, ms }: { isTransient: (error: unknown) => boolean; clock: Clock; ms: number },
): Promise<T> {
  for (const limit = clock.now() + ms; ; ) {
    try {
      return await ask();
    } catch (error) {
      if (!isTransient(error) || clock.now() >= limit) throw error;
      await new Promise<void>((resolve) => void clock.at(clock.now() + askAgain, resolve));
    }
  }
}

/** The identity of the log as it is now. */
export async function readIdentity(admin: Admin, { names }: Pick<TopicOptions, 'names'>): Promise<string> {
  const { clusterId } = await admin.describeCluster();
  const { mark } = await settingsOf(admin, names.commands);
  return `${clusterId}/${mark < marked ? 'unmarked' : (mark - marked).toString(36)}`;
}

async function settingsOf(admin: Admin, topic: string): Promise<{ mark: bigint; times: string | undefined }> {
  const { ConfigResourceTypes } = await import('kafkajs');
  const configNames = ['retention.bytes', 'message.timestamp.type'];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames }],
  });
  const [mark, times] = configNames.map(
    (name) => resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue,
  );
  return { mark: BigInt(mark ?? -1), times };
}

/** The key of the config that is wrong; undefined when nobody answered, or another attempt may succeed. */
function refusalOf(error: unknown): string | undefined {
  const told = causesOf(error)
    .map((one) => `${(one as Error).name} ${answerType(one)} ${(one as Error).message}`)
    .join(' ');
  if (/SASL_?Authentication|SASL_?Mechanism|_AUTHORIZATION_FAILED/i.test(told)) return 'kafka.sasl';
  if (/\bcertificate\b|\bcertification\b|CERT_/i.test(told)) return 'kafka.ssl';
  return told.includes('INVALID_REPLICATION_FACTOR') ? 'kafka.replication' : undefined;
}

/** An error with all that it came of; kafkajs gathers what went wrong with each topic. */
function causesOf(error: unknown, depth = 0): readonly unknown[] {
  if (!error || depth > 10) return [];
  const {
    cause,
    originalError,
    errors = [],
  } = error as Record<'cause' | 'originalError', unknown> & {
    errors?: readonly unknown[];
  };
  return [error, ...errors, ...causesOf(cause ?? originalError, depth + 1)];
}

function reasonOf(error: unknown): string {
  const all = (error as { errors?: readonly Error[] }).errors ?? [];
  return [error as Error, ...all].map(({ message }) => message).join(': ');
}
