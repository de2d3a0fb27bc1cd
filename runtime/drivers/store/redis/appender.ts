import type { EventWrite, OutboxEntry } from '../../../../core/ports/store.ts';
import type { Engine } from './engine.ts';
import type { Newest } from './event-log.ts';
import type { Keys, Shard } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Outboxes } from './outboxes.ts';
import { eventArguments } from './step-arguments.ts';

const most = redisLimits.appended;
const page = redisLimits.left;

/** Brings the events of commits from the outbox of their shard, where the commit wrote them, to the one log. */
export interface Appender {
  /** Appends what a commit has just written. Answers the positions. */
  append(shard: Shard, events: readonly EventWrite[], at: number): Promise<number[]>;
  /** Something of this shard may be in its outbox and not in the log: the next append begins with that. */
  suspect(shard: Shard): void;
  /** Appends what there is of suspected shards, or of the one that is named. */
  recover(shard?: Shard): Promise<void>;
  /** Appends the events of these entries, as far as that was not done: then they may be forgotten. */
  ensure(entries: readonly OutboxEntry[]): Promise<void>;
}

interface Waiting {
  readonly values: string[];
  resolve(positions: number[]): void;
  reject(error: unknown): void;
}

export function appender(options: {
  engine: Engine;
  keys: Keys;
  outbox: Outboxes;
  newest: Newest;
}): Appender {
  const { engine, keys, outbox, newest } = options;
  const head = keys.log('head');
  const suspects = new Map<Shard, Promise<void> | undefined>();
  let queue: Waiting[] = [];

  /** All that was committed in one turn of the event loop goes in one call, in the order of the commits. */
  const flush = () => {
    const batch = queue;
    queue = [];
    const calls: string[][] = [];
    const values = batch.flatMap((one) => one.values);
    for (let from = 0; from < values.length; from += most * width) {
      calls.push(values.slice(from, from + most * width));
    }
    Promise.all(calls.map((call) => engine.change('append', head, ['0', ...call]))).then(
      (answers) => {
        const positions = (answers as string[][]).flat().map(Number);
        newest.position = Math.max(newest.position, ...positions);
        let from = 0;
        for (const { values, resolve } of batch) {
          resolve(positions.slice(from, from + values.length / width));
          from += values.length / width;
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  };

  const enqueue = (values: string[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      if (queue.push({ values, resolve, reject }) === 1) setImmediate(flush);
    });

  const ensure = async (entries: readonly OutboxEntry[]) => {
    const values = entries.flatMap(({ at, events }) => events.flatMap((event) => eventArguments(event, at)));
    for (let from = 0; from < values.length; from += most * width) {
      await engine.change('append', head, ['1', ...values.slice(from, from + most * width)]);
    }
  };

  /** From the oldest on, so that the order is that of the commits; what is in the log already stays where it is. */
  const repeat = async (shard: Shard) => {
    let left: OutboxEntry[];
    let number = 0;
    do {
      left = await outbox.after(shard, number, page);
      number = left.at(-1)?.number ?? number;
      await ensure(left);
    } while (left.length === page);
  };

  const clear = (shard: Shard): Promise<void> => {
    const running =
      suspects.get(shard) ??
      repeat(shard).then(
        () => {
          if (suspects.get(shard) === running) suspects.delete(shard);
        },
        (error: unknown) => {
          if (suspects.get(shard) === running) suspects.set(shard, undefined);
          throw error;
        },
      );
    suspects.set(shard, running);
    return running;
  };

  return {
    ensure,
    async append(shard, events, at) {
      if (suspects.has(shard)) await clear(shard);
      return enqueue(events.flatMap((event) => eventArguments(event, at)));
    },
    suspect(shard) {
      // Also when one is running: it may have passed the place by now.
      suspects.set(shard, undefined);
    },
    async recover(shard) {
      if (shard !== undefined) return repeat(shard);
      await Promise.all([...suspects.keys()].map(clear));
    },
  };
}

/** Arguments of one event. */
const width = 6;
