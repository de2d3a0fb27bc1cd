import type { Log } from '../../../core/base/log.ts';
import type { LogRange, LogRecord, PartitionOwner } from '../../../core/ports/bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';

/** Records of one delivery to the owner. */
const maxDelivered = 500;
/** Records that wait for the owner, and their characters. Beyond: no more are read until all of them are handled. */
const maxWaiting = 1000;
const maxWaitingText = 2 * 1_048_576;
/** Wait until an owner is asked again that could not take the partition or handle its records, ms; doubles while it cannot. */
const firstRetry = 1000;
const longestRetry = 8000;
/** Shortest time between two beginnings, ms. */
const pace = 100;

/** What an engine does for a partition. */
export interface Feed {
  range(partition: number): Promise<LogRange>;
  /** Records are wanted from this offset on. */
  read(partition: number, from: number): void;
  /** None are wanted. */
  rest(partition: number): void;
}

/** One partition as a node has it, or not: between an engine that reads its log, and its owner. */
export class Holding {
  readonly partition: number;
  readonly #options: HoldingOptions;
  readonly #log: Log;
  /** Counts what the owner was told; an answer to an older one means nothing any more. */
  #generation = 0;
  #isTaken = false;
  /** The owner was asked to take it, and has not been told since that it may be gone. */
  #isTold = false;
  /** Offset of the next record for the owner; undefined while it is not to get any. */
  #next: number | undefined;
  /** Offset of the next record from the engine. */
  #from = 0;
  #waiting: LogRecord[] = [];
  /** Nothing is read, because too many wait. */
  #isFull = false;
  #isDelivering = false;
  /** Resolves when no call to the owner is under way. */
  #idle: Promise<void> = Promise.resolve();
  /** Offset behind the last record of the log, as last heard. */
  #end = 0;
  #beganAt = Number.NEGATIVE_INFINITY;
  #refusals = 0;
  #cancel = () => {};

  constructor(partition: number, options: HoldingOptions) {
    this.partition = partition;
    this.#options = options;
    this.#log = options.log.with({ partition });
  }

  /** Records that are on the log and not handled; undefined while the owner gets nothing. */
  get lag(): number | undefined {
    return this.#next === undefined ? undefined : Math.max(0, this.#end - this.#next);
  }

  /** The engine gave the partition to this node. */
  take(): void {
    if (this.#isTaken) this.#leave();
    this.#isTaken = true;
    this.#generation += 1;
    void this.#begin(this.#generation);
  }

  /** It may be another's by now. */
  release(): void {
    this.#isTaken = false;
    this.#leave();
  }

  /** Both, after a moment. Nothing when the node has not got it. */
  restart(wait = 0): void {
    if (!this.#isTaken) return;
    const { clock } = this.#options;
    this.#leave();
    this.#beginLater(Math.max(wait, this.#beganAt + pace - clock.now()));
  }

  /** The engine has read these, and knows where its log ends. Those that do not follow begin the partition anew. */
  got(records: readonly LogRecord[], end: number): void {
    const last = records.at(-1);
    if (this.#next === undefined || this.#isFull || !last) return;
    const gap = records.findIndex(({ offset }, index) => offset !== this.#from + index);
    if (gap >= 0) {
      // Where the log does not have what is asked for, an engine may go on with the oldest that there is.
      const [expected, got] = [this.#from + gap, records[gap]?.offset];
      this.#log.error('a partition has a gap, and is begun anew', { expected, got });
      this.restart();
      return;
    }
    this.#from = last.offset + 1;
    this.#waiting.push(...records);
    this.#end = end;
    if (this.#waiting.length >= maxWaiting || sizeOf(this.#waiting) >= maxWaitingText) {
      this.#isFull = true;
      this.#options.feed.rest(this.partition);
    }
    void this.#deliver();
  }

  async #begin(own: number): Promise<void> {
    const { owner, feed, clock } = this.#options;
    await this.#idle;
    if (own !== this.#generation) return;
    this.#beganAt = clock.now();
    try {
      const range = await feed.range(this.partition);
      if (own !== this.#generation) return;
      this.#isTold = true;
      const from = await this.#call(() => owner.assigned(this.partition, range));
      if (own !== this.#generation) return;
      if (!(Number.isInteger(from) && from >= 0)) throw new RangeError(`the owner begins at ${from}`);
      this.#refusals = 0;
      this.#next = this.#from = from;
      this.#end = range.next;
      feed.read(this.partition, from);
    } catch (error) {
      if (own !== this.#generation) return;
      this.#isTold = false;
      this.#log.error('a partition was not taken; asked again soon', { error });
      this.#beginLater(Math.min(firstRetry * 2 ** this.#refusals, longestRetry));
      this.#refusals = Math.min(this.#refusals + 1, 10);
    }
  }

  #beginLater(wait: number): void {
    const { clock } = this.#options;
    const own = this.#generation;
    this.#cancel = clock.at(clock.now() + wait, () => void this.#begin(own));
  }

  #leave(): void {
    this.#generation += 1;
    this.#next = undefined;
    this.#waiting = [];
    this.#isFull = false;
    this.#cancel();
    this.#options.feed.rest(this.partition);
    if (this.#isTold) this.#options.owner.revoked(this.partition);
    this.#isTold = false;
  }

  async #deliver(): Promise<void> {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    const { owner, feed } = this.#options;
    while (this.#waiting.length > 0) {
      const own = this.#generation;
      const records = this.#waiting.splice(0, maxDelivered);
      try {
        await this.#call(() => owner.records(this.partition, records));
        if (own !== this.#generation) continue;
        this.#next = (this.#next ?? 0) + records.length;
      } catch (error) {
        this.#log.error('records were not handled; the partition is begun anew', { error, from: this.#next });
        if (own === this.#generation) this.restart(firstRetry);
      }
      if (this.#isFull && this.#waiting.length === 0) {
        this.#isFull = false;
        feed.read(this.partition, this.#from);
      }
    }
    this.#isDelivering = false;
  }

  /** The calls to the owner follow each other; a throw before its first `await` is a rejection too. */
  async #call<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = promise;
    try {
      return await work();
    } finally {
      resolve();
    }
  }
}

interface HoldingOptions {
  readonly owner: PartitionOwner;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly log: Log;
}

/** Characters stand for bytes: it is a bound on memory. */
function sizeOf(records: readonly LogRecord[]): number {
  return records.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
}
