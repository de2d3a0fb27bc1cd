import type { Log } from '../../../core/base/log.ts';
import type { LogRange, LogRecord, PartitionOwner } from '../../../core/ports/bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { assignRetry, longestAssignRetry, restartPace } from './limits.ts';

/** One partition as one node has it, or not: who is told what, and in which order. Any engine. */
export interface Holding {
  readonly partition: number;
  /** Offset of the next record that the owner has to get; undefined while it is not to get any. */
  next(): number | undefined;
  /** The engine gave the partition to this node. */
  take(): void;
  /** It may be another's by now. */
  release(): void;
  /** Both, after a moment. Nothing when the node has not got it. */
  restart(): void;
  /**
   * Records from `next` on, at most once at a time. Resolves when they are handled, or nobody wants them any more:
   * look at `next` then.
   */
  deliver(records: readonly LogRecord[]): Promise<void>;
  /** All that was on the log at `at` lies before `end`. Passed on if the owner has handled everything before `end`. */
  reached(at: number, end: number): void;
}

/** What an engine does for a partition. */
export interface Feed {
  range(partition: number): Promise<LogRange>;
  /** Deliver from this offset on. */
  start(partition: number, offset: number): void;
  /** Deliver nothing. */
  stop(partition: number): void;
}

export function holding(
  partition: number,
  options: { owner: PartitionOwner; feed: Feed; clock: Clock; log: Log },
): Holding {
  const { owner, feed, clock } = options;
  const log = options.log.with({ partition });
  /** Counts what the owner was told; an answer to an older one means nothing any more. */
  let generation = 0;
  let isTaken = false;
  /** The owner was asked to take it, and has not been told since that it may be gone. */
  let isTold = false;
  let next: number | undefined;
  /** Resolves when no call to the owner is under way. */
  let idle: Promise<void> = Promise.resolve();
  let isBusy = false;
  let beganAt = Number.NEGATIVE_INFINITY;
  let cancel = () => {};
  let refusals = 0;

  const begin = async (own: number): Promise<void> => {
    await idle;
    if (own !== generation) return;
    beganAt = clock.now();
    let from: number;
    try {
      const range = await feed.range(partition);
      if (own !== generation) return;
      isTold = true;
      // The calls of one generation follow each other; the next one waits for this.
      const asked = owner.assigned(partition, range);
      idle = settled(asked);
      from = await asked;
      if (own !== generation) return;
      if (!(Number.isInteger(from) && from >= 0)) throw new RangeError(`the owner begins at ${from}`);
    } catch (error) {
      if (own !== generation) return;
      isTold = false;
      log.error('a partition was not taken; asked again soon', { error });
      later(own, Math.min(assignRetry * 2 ** refusals, longestAssignRetry));
      refusals = Math.min(refusals + 1, 10);
      return;
    }
    refusals = 0;
    next = from;
    feed.start(partition, from);
  };

  const later = (own: number, wait: number) => {
    cancel = clock.at(clock.now() + wait, () => void begin(own));
  };

  const leave = () => {
    generation += 1;
    next = undefined;
    cancel();
    feed.stop(partition);
    if (!isTold) return;
    isTold = false;
    tell(() => owner.revoked(partition));
  };

  /** The engine goes on whatever an owner does. */
  const tell = (word: () => void) => {
    try {
      word();
    } catch (error) {
      log.error('the owner of a partition threw at what it was told', { error });
    }
  };

  const restart = (wait: number) => {
    if (!isTaken) return;
    leave();
    later(generation, Math.max(0, wait, beganAt + restartPace - clock.now()));
  };

  return {
    partition,
    next: () => next,
    take() {
      if (isTaken) leave();
      isTaken = true;
      generation += 1;
      void begin(generation);
    },
    release() {
      isTaken = false;
      leave();
    },
    restart: () => restart(0),
    async deliver(records) {
      const own = generation;
      const last = records.at(-1);
      if (next === undefined || !last) return;
      const gap = records.findIndex((record, index) => record.offset !== (next ?? 0) + index);
      if (gap >= 0) {
        log.error('a partition has a gap, and is begun anew', {
          expected: next + gap,
          got: records[gap]?.offset,
        });
        restart(assignRetry);
        return;
      }
      isBusy = true;
      const handled = call(() => owner.records(partition, records));
      idle = settled(handled);
      try {
        await handled;
        if (own === generation) next = last.offset + 1;
      } catch (error) {
        log.error('records were not handled; the partition is begun anew', {
          error,
          offset: records[0]?.offset,
        });
        if (own === generation) restart(assignRetry);
      } finally {
        isBusy = false;
      }
    },
    reached(at, end) {
      if (next !== undefined && !isBusy && next >= end) tell(() => owner.reached(partition, at));
    },
  };
}

/** A throw before the first await is a rejection too. */
async function call(work: () => Promise<void>): Promise<void> {
  await work();
}

function settled(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => {},
    () => {},
  );
}
