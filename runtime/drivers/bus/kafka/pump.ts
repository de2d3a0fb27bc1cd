import type { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import { pause } from '../../../../core/base/timing.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { closedFault, fullFault, unknownFault, unreachableFault } from '../checks.ts';

/** Records and bytes of one request; one record alone may be larger. */
const maxBatch = 500;
const maxBatchBytes = 1_048_576;
/** How long who sends waits, ms. Beyond: `bus.unreachable` when it was never sent; else `bus.unknown`, and it is sent again. */
const patience = 8000;
/** Wait before something is sent again, ms; doubles up to the longest. */
const firstRetry = 50;
const longestRetry = 500;
/** How long a topic may seem to be missing before it is, ms: brokers hear of a new one after each other. */
const missingTopic = 1000;
/** How long the end of the program waits for what was sent, ms. */
const closeWait = 1000;
/** Records that wait for an answer, and their bytes. Beyond: 503 `bus.full`. */
const bounds = { records: 20_000, bytes: 64 * 1_048_576 };

export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly value: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Nobody may be there to hear it: it is dropped where there is no such topic. */
  readonly isOptional?: boolean;
}

/** What became of the records of one partition that were sent together. */
export type Outcome =
  /** They are on the log, once. */
  | { readonly kind: 'written' }
  /** Nobody knows: send them again. */
  | { readonly kind: 'unknown' }
  /** Nobody knows, of anything that is not answered, and what is sent again could be written twice. */
  | { readonly kind: 'lost' }
  /** None of them is on the log; one of them never will be. */
  | { readonly kind: 'refused'; readonly fault: Fault }
  /** There is no such topic, as far as it is known. */
  | { readonly kind: 'missing' };

/** Sends records, each list of one partition. Resolves in bounded time, with an outcome for each list. */
export type Transport = (batches: readonly (readonly Outgoing[])[]) => Promise<readonly Outcome[]>;

interface Entry {
  readonly record: Outgoing;
  readonly bytes: number;
  readonly due: number;
  isSent: boolean;
  /** Once. */
  settle(fault?: Fault): void;
}

/**
 * Sends records in their order, with one request under way. What was not answered is sent again unchanged, and before anything
 * later: an idempotent producer takes the next batch for a repeat of one that was given up.
 */
export class Pump {
  readonly #options: PumpOptions;
  readonly #bounds: typeof bounds;
  /** Those whose sender waits, in the order of their coming. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  /** Not sent yet. */
  #waiting: Entry[] = [];
  /** Sent and not answered: lists of one partition each. */
  #sent: (readonly Entry[])[] = [];
  #isRunning = false;
  #isClosing = false;
  readonly #closed = new AbortController();
  #drained = () => {};
  #cancelSweep: (() => void) | undefined;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#bounds = { ...bounds, ...options.bounds };
  }

  /** Resolves when it is on the log. Faults: `bus.full`, `bus.unreachable` (never sent), `bus.unknown`, `bus.closed`. */
  send(record: Outgoing): Promise<void> {
    if (this.#isClosing) return Promise.reject(closedFault());
    const { clock } = this.#options;
    const bytes = Buffer.byteLength(record.value) + (record.key?.length ?? 0) + 64;
    const isFull = this.#entries.size >= this.#bounds.records || this.#bytes + bytes > this.#bounds.bytes;
    if (isFull) return Promise.reject(fullFault(this.#entries.size));
    return new Promise((resolve, reject) => {
      const settle = (fault?: Fault) => {
        if (!this.#entries.delete(entry)) return;
        this.#bytes -= bytes;
        if (fault) reject(fault);
        else resolve();
        if (this.#entries.size === 0) this.#drained();
      };
      const entry: Entry = { record, bytes, due: clock.now() + patience, isSent: false, settle };
      this.#entries.add(entry);
      this.#bytes += bytes;
      this.#waiting.push(entry);
      this.#cancelSweep ??= clock.at(entry.due, () => this.#sweep());
      void this.#run();
    });
  }

  /** Waits a moment for what is under way. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isClosing = true;
    if (this.#entries.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#drained = resolve;
      const cancel = clock.at(clock.now() + closeWait, resolve);
      await promise;
      cancel();
    }
    this.#closed.abort();
    this.#cancelSweep?.();
    for (const { settle, isSent } of this.#entries)
      settle(isSent ? unknownFault('the bus was closed before Kafka answered') : closedFault());
  }

  /** Tells those that have waited long enough: all wait equally long. */
  #sweep(): void {
    const { clock } = this.#options;
    this.#cancelSweep = undefined;
    for (const { due, isSent, settle } of this.#entries) {
      if (due > clock.now()) {
        this.#cancelSweep = clock.at(due, () => this.#sweep());
        return;
      }
      if (isSent) settle(unknownFault('Kafka has not answered in time'));
      else settle(unreachableFault('Kafka does not answer; this was not sent'));
    }
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { clock } = this.#options;
    const { signal } = this.#closed;
    // What is sent in one turn goes together.
    await Promise.resolve();
    while (!signal.aborted) {
      this.#take();
      if (this.#sent.length === 0) break;
      const since = clock.now();
      for (let wait = firstRetry; this.#sent.length > 0; wait = Math.min(wait * 2, longestRetry)) {
        const isStuck = await this.#try(clock.now() - since >= missingTopic);
        if (isStuck) await pause(clock.now() + wait, { clock, signal });
        if (signal.aborted) break;
      }
    }
    this.#isRunning = false;
  }

  #take(): void {
    const taken: Entry[] = [];
    let bytes = 0;
    while (this.#waiting[0] && taken.length < maxBatch) {
      const [entry] = this.#waiting;
      // Those that waited too long have been told that they were not sent.
      if (this.#entries.has(entry)) {
        bytes += entry.bytes;
        if (taken.length > 0 && bytes > maxBatchBytes) break;
        entry.isSent = true;
        taken.push(entry);
      }
      this.#waiting.shift();
    }
    this.#sent = [...Map.groupBy(taken, (entry) => partitionOf([entry])).values()];
  }

  /** One request. Answers whether it is to be sent again after a while. */
  async #try(isLate: boolean): Promise<boolean> {
    const { transport, log } = this.#options;
    const lists = [...new Map(this.#sent.toReversed().map((list) => [partitionOf(list), list])).values()];
    const outcomes = await transport(lists.map((list) => list.map(({ record }) => record))).catch(
      (error): Outcome[] => {
        log.error('a request to Kafka failed in a way that nobody expected', { error });
        return [];
      },
    );
    let isStuck = false;
    const end = (list: readonly Entry[], fault?: Fault) => {
      for (const { settle } of list) settle(fault);
      return [];
    };
    const goOn = (list: readonly Entry[]): (readonly Entry[])[] => {
      const index = lists.indexOf(list);
      if (index < 0) return [list];
      const outcome = outcomes[index] ?? { kind: 'unknown' };
      if (outcome.kind === 'written') return end(list);
      if (outcome.kind === 'refused')
        return list.length === 1 ? end(list, outcome.fault) : list.map((entry) => [entry]);
      if (outcome.kind === 'missing' && isLate && list.every(({ record }) => record.isOptional))
        return end(list);
      isStuck = true;
      return [list];
    };
    const isLost = outcomes.some(({ kind }) => kind === 'lost');
    this.#sent = isLost
      ? end(this.#sent.flat(), unknownFault('Kafka has lost count of what this node sent'))
      : this.#sent.flatMap(goOn);
    return isStuck;
  }
}

interface PumpOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  /** Others than usual, for tests. */
  readonly bounds?: Partial<typeof bounds>;
}

function partitionOf([entry]: readonly Entry[]): string {
  return `${entry?.record.topic}/${entry?.record.partition}`;
}
