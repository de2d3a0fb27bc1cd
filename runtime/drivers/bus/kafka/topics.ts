import { randomBytes } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { kafkaAdmin } from './admin.ts';
import { answerType, type KafkaConnection } from './client.ts';
import { group, topic as limits } from './limits.ts';

export interface Topics {
  readonly commands: string;
  readonly events: string;
  readonly dead: string;
  replies(node: string): string;
}

export function topicNames(namespace: string): Topics {
  return {
    commands: `${namespace}.commands`,
    events: `${namespace}.events`,
    dead: `${namespace}.dead`,
    replies: (node) => `${namespace}.replies.${node}`,
  };
}

export interface TopicOptions {
  readonly topics: Topics;
  readonly node: string;
  readonly partitions: number;
  /** -1: what the broker has by default. */
  readonly replicationFactor: number;
  /** Undefined: what the broker has by default. */
  readonly minInsync?: number;
  /** ms. */
  readonly commandRetention: number;
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
  return withAdmin(connection, options, async (admin) => {
    const { topics, node, partitions, commandRetention, replicationFactor, minInsync } = options;
    const create = async (topic: string, made: Made) => {
      if (await isThere(admin, topic)) return;
      const settings = {
        ...made.settings,
        ...(minInsync !== undefined && { 'min.insync.replicas': minInsync }),
      };
      const whole = { ...made, settings, topic, replicationFactor };
      return asking(() => createTopic(admin, whole), {
        isTransient: (error) => refusalOf(error) === 'kafka.replication',
        ...{ clock: options.clock, within: group.brokersWait },
      });
    };
    await create(topics.commands, {
      numPartitions: partitions,
      settings: {
        'retention.ms': commandRetention,
        'retention.bytes': marked + BigInt(`0x${randomBytes(6).toString('hex')}`),
        // Deadlines count from when the broker took a command, by one clock.
        'message.timestamp.type': 'LogAppendTime',
      },
    });
    await create(topics.events, {
      numPartitions: partitions,
      settings: { 'retention.ms': limits.eventRetention },
    });
    await create(topics.dead, {
      numPartitions: 1,
      settings: { 'retention.ms': limits.deadRetention },
    });
    await create(topics.replies(node), {
      numPartitions: 1,
      settings: { 'retention.ms': limits.replyRetention, 'segment.ms': limits.replyRetention },
    });
    const all = [topics.commands, topics.events, topics.dead, topics.replies(node)];
    const found = await untilKnown(options.clock, () => admin.fetchTopicMetadata({ topics: all }));
    const counted: readonly string[] = [topics.commands, topics.events];
    const wrong = found.topics.filter(
      (topic) => counted.includes(topic.name) && topic.partitions.length !== partitions,
    );
    if (wrong.length > 0) {
      const message = wrong.map(
        ({ name, partitions: has }) =>
          `${name} has ${has.length} partitions; kafka.partitions is ${partitions}, and neither can be changed`,
      );
      throw new Fault('bus.partitions', { status: 500, message });
    }
    // A leader answers when it knows that it is one.
    for (const topic of all) await untilKnown(options.clock, () => admin.fetchTopicOffsets(topic));
    return untilKnown(options.clock, () => readIdentity(admin, options));
  });
}

/** Brokers hear of a new topic one after the other: its maker's next question may come to one that has not. */
export function untilKnown<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  const isTransient = (error: unknown) => unheardOf.has(answerType(error) ?? '');
  return asking(ask, { isTransient, clock, within: group.openTimeout });
}

/** Asks again while what is wrong may pass. */
async function asking<T>(
  ask: () => Promise<T>,
  options: { isTransient: (error: unknown) => boolean; clock: Clock; within: number },
): Promise<T> {
  const { isTransient, clock, within: most } = options;
  const limit = clock.now() + most;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTransient(error) || clock.now() >= limit) throw error;
      await new Promise<void>((resolve) => void clock.at(clock.now() + group.createWait, resolve));
    }
  }
}

const unheardOf = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']);

/** The identity of the log as it is now. */
export async function readIdentity(
  admin: Admin,
  { topics, log }: Pick<TopicOptions, 'topics' | 'log'>,
): Promise<string> {
  const { ConfigResourceTypes } = await import('kafkajs');
  const [{ clusterId }, { resources }] = await Promise.all([
    admin.describeCluster(),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: topics.commands,
          configNames: ['retention.bytes', 'message.timestamp.type'],
        },
      ],
    }),
  ]);
  const settings = new Map(
    resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]),
  );
  const mark = BigInt(settings.get('retention.bytes') ?? -1);
  if (mark < marked)
    log.warn(
      'the topic of commands was not made by this program: that it is made anew would not be noticed',
      { topic: topics.commands },
    );
  if (settings.get('message.timestamp.type') !== 'LogAppendTime')
    log.warn("the topic of commands has no times of the broker: deadlines count by its senders' clocks", {
      topic: topics.commands,
    });
  return `${clusterId}/${mark < marked ? 'unmarked' : (mark - marked).toString(36)}`;
}

interface Made {
  readonly numPartitions: number;
  readonly settings: Readonly<Record<string, string | number | bigint>>;
}

/** Asks about no other: a topic of somebody else may have no leader, which fails a question about all of them. */
async function isThere(admin: Admin, topic: string): Promise<boolean> {
  try {
    await admin.fetchTopicMetadata({ topics: [topic] });
    return true;
  } catch (error) {
    if (answerType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
    throw error;
  }
}

async function createTopic(
  admin: Admin,
  made: Made & { topic: string; replicationFactor: number },
): Promise<void> {
  const { topic, numPartitions, replicationFactor } = made;
  const settings = { 'max.message.bytes': limits.messageBytes, 'cleanup.policy': 'delete', ...made.settings };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value: String(value) }));
  // False when another node was quicker.
  await admin.createTopics({
    topics: [{ topic, numPartitions, replicationFactor, configEntries }],
    waitForLeaders: false,
    timeout: group.requestTimeout,
  });
}

async function withAdmin<T>(
  connection: KafkaConnection,
  { clock, log }: TopicOptions,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const questions = kafkaAdmin(connection, { clock, log, retries: 5 });
  try {
    return await questions.ask(work, { ms: group.openTimeout });
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

/** The key of the config that is wrong; undefined when nobody answered, or another attempt may succeed. */
function refusalOf(error: unknown): string | undefined {
  const told: unknown[] = [];
  for (
    let one = error;
    one && told.length < 10;
    one = (one as { cause?: unknown; originalError?: unknown }).cause
  )
    told.push(one, ...((one as { errors?: readonly unknown[] }).errors ?? []));
  const names = told
    .map((one) => `${(one as Error).name} ${answerType(one)} ${(one as Error).message}`)
    .join(' ');
  if (/SASLAuthentication|SASL_AUTHENTICATION_FAILED|SASL_MECHANISM|SaslMechanism/i.test(names))
    return 'kafka.sasl';
  if (/\bcertificate\b|\bcertification\b|CERT_/i.test(names)) return 'kafka.ssl';
  if (names.includes('INVALID_REPLICATION_FACTOR')) return 'kafka.replication';
  if (/_AUTHORIZATION_FAILED/.test(names)) return 'kafka.sasl';
  return undefined;
}

/** kafkajs gathers what went wrong with each topic. */
function reasonOf(error: unknown): string {
  const all = (error as { errors?: readonly Error[] }).errors ?? [];
  return [error as Error, ...all].map(({ message }) => message).join(': ');
}
