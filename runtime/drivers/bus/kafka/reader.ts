import type { Log } from '../../../../core/base/log.ts';
import type { LogRecord } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { within } from '../within.ts';
import { group, reading } from './limits.ts';
import { answerType, type Link } from './link.ts';

/** What one question brought for a partition. */
export interface Fetched {
  readonly partition: number;
  /** The offset that was asked for. */
  readonly from: number;
  /** From there on, without what comes before. */
  readonly records: readonly LogRecord[];
  /** Offset of the next record that the log will get, as its leader knew it after `askedAt`. */
  readonly end: number;
  /** When the question was sent, epoch ms. */
  readonly askedAt: number;
  /** The leader has answered for a while: its `end` is not behind what was acknowledged before it became the leader. */
  readonly isSettled: boolean;
}

export interface Reader {
  /** There is something new to ask for. */
  wake(): void;
  close(): void;
}

interface Answer {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      readonly highWatermark: string;
      readonly messages: readonly {
        readonly offset: string;
        readonly timestamp: string;
        readonly key: Buffer | null;
        readonly value: Buffer | null;
      }[];
    }[];
  }[];
}

/**
 * Asks the leaders of a topic's partitions for records, one question under way to each, for as long as it is open.
 * `wanted` says which partitions to ask for and from which offset; where to go on, and what to do with what comes, is the
 * caller's. After trouble it connects anew; the positions are the caller's, so nothing is skipped.
 */
export function reader(options: {
  link: Link;
  topic: string;
  clock: Clock;
  log: Log;
  wanted: () => ReadonlyMap<number, number>;
  got: (fetched: Fetched) => void;
  /** The log of the partition does not have that offset. */
  outOfRange: (partition: number, from: number) => void;
  /** The topic is not there: what comes under its name may be another one. */
  missing: () => void;
}): Reader {
  const { link, topic, clock, wanted } = options;
  const log = options.log.with({ topic });
  let isOpen = true;
  let failures = 0;
  const followed = new Set<string>();
  const naps = new Set<() => void>();

  /** Until `ms` have passed, or there is something to do. */
  const nap = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        cancel();
        naps.delete(done);
        resolve();
      };
      const cancel = clock.at(clock.now() + ms, done);
      naps.add(done);
    });
  const wake = () => {
    for (const done of [...naps]) done();
  };

  const ask = async (node: string, wants: readonly (readonly [number, number])[]): Promise<Answer> => {
    const broker = await link.broker(node);
    const question = broker.fetch({
      maxWaitTime: reading.fetchWait,
      minBytes: 1,
      maxBytes: reading.fetchBytes,
      topics: [
        {
          topic,
          partitions: wants.map(([partition, from]) => ({
            partition,
            fetchOffset: String(from),
            maxBytes: reading.partitionBytes,
          })),
        },
      ],
    });
    return within(question, { ms: group.requestTimeout + group.connectTimeout, clock, what: 'reading' });
  };

  const pass = (
    answer: Answer,
    asked: ReadonlyMap<number, number>,
    at: { askedAt: number; isSettled: boolean },
  ) => {
    for (const { partition, highWatermark, messages } of answer.responses.flatMap(
      ({ partitions }) => partitions,
    )) {
      const from = asked.get(partition);
      if (from === undefined) continue;
      const records = messages
        // A batch comes whole, also when it begins before what was asked for.
        .filter(({ offset }) => Number(offset) >= from)
        .map(({ offset, timestamp, key, value }) => ({
          partition,
          offset: Number(offset),
          at: Number(timestamp),
          key: key?.toString() ?? '',
          value: value?.toString() ?? '',
        }));
      options.got({ partition, from, records, end: Number(highWatermark), ...at });
    }
  };

  /** Asks one broker, again and again, until something goes wrong. */
  const follow = async (node: string): Promise<void> => {
    let goodSince: number | undefined;
    while (isOpen) {
      const leaders = await link.leaders(topic);
      if (![...leaders.values()].includes(node)) return;
      const wants = [...wanted()].filter(([partition]) => leaders.get(partition) === node);
      if (wants.length === 0) {
        await nap(reading.fetchWait);
        continue;
      }
      const askedAt = clock.now();
      try {
        const answer = await ask(node, wants);
        failures = 0;
        goodSince ??= clock.now();
        pass(answer, new Map(wants), { askedAt, isSettled: askedAt - goodSince >= reading.settling });
      } catch (error) {
        if (answerType(error) === undefined || wants.length === 1) throw withPartition(error, wants);
        // The answer says only that one of them is wrong: each alone, so that it holds up no other.
        await askEach(node, wants);
        goodSince = undefined;
      }
    }
  };

  const askEach = async (node: string, wants: readonly (readonly [number, number])[]): Promise<void> => {
    let trouble: unknown;
    for (const want of wants) {
      const askedAt = clock.now();
      try {
        pass(await ask(node, [want]), new Map([want]), { askedAt, isSettled: false });
      } catch (error) {
        if (answerType(error) === undefined) throw error;
        if (answerType(error) === 'OFFSET_OUT_OF_RANGE') options.outOfRange(...want);
        else trouble = error;
      }
    }
    if (!trouble) return;
    log.warn('Kafka does not give the records of a partition just now', { error: String(trouble) });
    if (answerType(trouble) === 'UNKNOWN_TOPIC_OR_PARTITION') options.missing();
    link.forget();
    await nap(reading.retryWait);
  };

  const recover = async (error: unknown): Promise<void> => {
    const [partition, from] = (error as { want?: readonly [number, number] }).want ?? [];
    if (answerType(error) === 'OFFSET_OUT_OF_RANGE' && partition !== undefined && from !== undefined) {
      options.outOfRange(partition, from);
    } else {
      log.warn('reading from Kafka failed; it is tried again', { error: String(error) });
      if (answerType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') options.missing();
      if (answerType(error) === undefined) link.renew();
      else link.forget();
    }
    const wait = Math.min(reading.retryWait * 2 ** failures, reading.longestRetryWait);
    failures = Math.min(failures + 1, 10);
    await pause(wait);
  };

  const pause = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));

  /** Sees to it that every leader is followed. */
  const run = async (): Promise<void> => {
    while (isOpen) {
      try {
        const leaders = await link.leaders(topic);
        for (const node of new Set(leaders.values())) {
          if (followed.has(node)) continue;
          followed.add(node);
          void follow(node)
            .catch(async (error) => {
              if (isOpen) await recover(error);
            })
            .finally(() => {
              followed.delete(node);
              wake();
            });
        }
        await nap(group.heartbeatInterval);
      } catch (error) {
        if (isOpen) await recover(error);
      }
    }
  };
  void run();

  return {
    wake,
    close() {
      isOpen = false;
      wake();
    },
  };
}

function withPartition(error: unknown, wants: readonly (readonly [number, number])[]): unknown {
  if (error instanceof Error && wants.length === 1) Object.assign(error, { want: wants[0] });
  return error;
}
