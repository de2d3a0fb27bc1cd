import { Fault } from '../../core/base/fault.ts';
import { pause } from '../../core/base/timing.ts';
import type { LogRange, LogRecord } from '../../core/ports/bus.ts';
import type { BatchOutcome, LoggedEvent } from '../../core/ports/store.ts';
import { idOf, partitionOf } from '../actors/actor-name.ts';
import { HotActors } from '../actors/hot.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import { type Answer, mistake, unknownOutcome } from './answer.ts';
import { Batch, type Trouble } from './batch.ts';
import { parsedCommand } from './command.ts';
import { Deadlines } from './deadlines.ts';
import { copyWindow, KnownCommands } from './known-commands.ts';
import type { PartitionParts } from './parts.ts';
import { isWorthTelling, retried, waitAfter } from './retried.ts';

/** Records, and actors with due timers, of one commit. A larger one makes the first command wait longer for its answer. */
const maxBatch = 256;
/** Records that wait for their batch. Beyond: the bus delivers no more until some are taken. */
const maxQueued = 1000;
/** How often something is tried that fails because of a bug, and not of an outage; then it is given up. */
export const maxTries = 5;
/**
 * How long a partition without steps waits before it asks the store whether it still has it, ms: another node may have taken
 * it, or the store may have been rolled back.
 */
export const verifyInterval = 5000;

/**
 * One partition, while this node has it. A loop takes what is queued of its log, computes the steps in order on the states
 * in memory, commits them together, and only then tells anybody. What it cannot go on from ends it; then it begins again
 * from what is stored.
 */
export class Partition {
  readonly #parts: PartitionParts;
  readonly #onBroken: (why: Broken) => void;
  readonly #hot: HotActors;
  readonly #deadlines = new Deadlines();
  readonly #known = new KnownCommands();
  /** Aborted when nothing more is to be done with what this knows. */
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  #queue: LogRecord[] = [];
  /** Up to when the log is known to be read, as long as that has not been dealt with. */
  #reached: number | undefined;
  #isFinishing = false;
  #epoch = 0;
  /** Records up to this one were consumed before this node had the partition. */
  #start = -1;
  /** Offset that is stored. */
  #place = -1;
  #committedAt = 0;
  #loop: Promise<void> = Promise.resolve();
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  /** Records of the next batch: one after a bug, to find out which of them is to blame, then more again. */
  #most = maxBatch;
  /** What was found out of records and timers that could not be committed, until they are passed. */
  readonly #verdicts = new Map<Trouble, Answer>();
  readonly #repeats = new Set<string>();
  readonly #buried = new Set<number>();

  constructor(parts: PartitionParts, onBroken: (why: Broken) => void) {
    this.#parts = parts;
    this.#onBroken = onBroken;
    this.#hot = new HotActors(parts.hotActors);
  }

  get timers(): number {
    return this.#deadlines.size;
  }

  get actors(): number {
    return this.#hot.size;
  }

  /** Steps that wait for the store. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Takes it over. Resolves with the offset to read from. Faults: `store.*`, `partition.misfit`. */
  async open(range: LogRange): Promise<number> {
    const { store, partition, partitions, logId, clock, runOrders } = this.#parts;
    const [lease] = await store.acquire(partitions, { partitions: [partition], log: logId });
    if (!lease) throw new Error(`the store gave no lease of partition ${partition}`);
    const { epoch, offset } = lease;
    if (offset + 1 < range.first || offset >= range.next) throw misfit({ partition, offset, range });
    this.#epoch = epoch;
    this.#start = offset;
    this.#place = offset;
    this.#committedAt = clock.now();
    await this.#forget();
    // A former owner may have died before it ran them. Those that run already are known by their ids.
    runOrders(await store.orders([partition]));
    this.#over.signal.throwIfAborted();
    this.#loop = this.#run();
    // Those before it tell which of the next ones are copies.
    return Math.max(range.first, offset + 1 - copyWindow);
  }

  /** Resolves when there is room for more; where this is over, when somebody has said so. */
  async records(records: readonly LogRecord[]): Promise<void> {
    for (const record of records) {
      if (record.offset > this.#start) this.#queue.push(record);
      else {
        const command = parsedCommand(record.value);
        // A former owner may have answered it.
        if (!('problem' in command)) {
          const { refusal } = this.#known.find(command.id, record.offset) ?? { refusal: unknownOutcome };
          this.#known.add(command.id, record.offset, refusal);
        }
      }
    }
    this.#changed();
    while (this.#queue.length > maxQueued && !this.#isOver()) await this.#change();
    if (this.#isOver()) await this.#gone.promise;
  }

  /** The log is read up to `at`: what is due by then fires, once what was delivered is dealt with. */
  reached(at: number): void {
    this.#reached = Math.max(this.#reached ?? at, at);
    this.#changed();
  }

  /** Takes nothing more. Resolves when what was taken is stored. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    this.#changed();
    await this.#loop;
  }

  /** It may be another node's. */
  drop(): void {
    this.#over.abort();
    this.#gone.resolve();
    this.#changed();
  }

  #isOver(): boolean {
    return this.#isFinishing || this.#over.signal.aborted;
  }

  /** Resolves when something has come or gone. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #changed(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isOver()) {
        const records = this.#queue.splice(0, this.#most);
        const until = records.at(-1)?.at ?? this.#reached;
        if (until === undefined) {
          await this.#change();
          continue;
        }
        if (records.length === 0) this.#reached = undefined;
        this.#changed();
        await this.#take(records, Math.min(until, this.#parts.clock.now()));
      }
    } catch (error) {
      this.#broken({ why: 'bug', error });
    }
  }

  /** Computes and commits, again and again until it is stored. */
  async #take(delivered: readonly LogRecord[], until: number): Promise<void> {
    const { partition, clock } = this.#parts;
    const { signal } = this.#over;
    let records = delivered;
    let tries = 1;
    while (!signal.aborted) {
      const actors = this.#deadlines.take(until, this.#most);
      if (this.#most === 1 && actors.length > 0) {
        // One by one, so that what fails is known: a timer that is due goes before the record.
        this.#queue.unshift(...records);
        records = [];
      }
      // More may be due than one batch takes.
      if (actors.length === this.#most) this.#reached = Math.max(this.#reached ?? until, until);
      const batch = await this.#computed(records, { actors, until });
      const to = records.at(-1)?.offset ?? this.#place;
      const isIdle = records.length === 0 && batch.steps.length === 0;
      if (isIdle && clock.now() - this.#committedAt < verifyInterval) return;
      const outcome = await this.#committed(batch, to);
      if (!outcome || signal.aborted) return;
      if (outcome.outcome === 'ok') return this.#settle(batch, { to, positions: outcome.events });
      if (outcome.outcome === 'fenced' || outcome.outcome === 'gap' || outcome.outcome === 'duplicate') {
        return this.#broken({ why: outcome.outcome });
      }
      await this.#forget();
      if (outcome.outcome === 'failed' && records.length + actors.length > 1) {
        this.#queue.unshift(...records);
        if (records.length === 0) this.#reached = until;
        this.#most = 1;
        return;
      }
      // A result that came too late is known now; of the others it is not known whether the next time will do.
      if (this.#judge(batch, { outcome, tries })) continue;
      this.#parts.log.warn('a batch of steps is computed again', { partition, ...outcome, tries });
      await pause(clock.now() + waitAfter(tries), { clock, signal });
      tries += 1;
    }
  }

  async #computed(...[records, due]: Parameters<Batch['compute']>): Promise<Batch> {
    const { store, bus, log, partition, onBuried } = this.#parts;
    const batch = new Batch({
      ...{ parts: this.#parts, hot: this.#hot, deadlines: this.#deadlines, known: this.#known },
      ...{ verdicts: this.#verdicts, repeats: this.#repeats },
      loadAll: (...asked) => this.#surely('actors could not be read', () => store.loadAll(...asked)),
      bury: async (record, why) => {
        const { offset, key } = record;
        if (this.#buried.has(offset)) return;
        log.error('a command is buried', { partition, offset, key, why });
        await this.#surely('a command could not be buried', () => bus.bury(record, why));
        this.#buried.add(offset);
        onBuried();
      },
    });
    await batch.compute(records, due);
    return batch;
  }

  /**
   * What came of it. When nobody knows, the same is sent again until somebody does: the store takes it once. `failed`: because of a
   * bug. Undefined: this is over.
   */
  async #committed({ steps }: Batch, to: number): Promise<BatchOutcome | { outcome: 'failed' } | undefined> {
    const { store, clock, log, partition, counts, probe } = this.#parts;
    const { signal } = this.#over;
    const batch = { partition, epoch: this.#epoch, from: this.#place, to, steps };
    const count = (outcome: Parameters<StepCounts['count']>[1]) => {
      for (const { actor } of steps) counts?.count(actor.slice(0, actor.indexOf('/')), outcome);
    };
    this.#inFlight = steps.length;
    try {
      for (let tries = 1; !signal.aborted; tries += 1) {
        for (const { actor } of steps) probe?.('before commit', actor);
        const began = clock.now();
        try {
          const outcome = await store.commitAll(batch);
          if (steps.length > 0) counts?.committed(clock.now() - began);
          const isRepeat =
            outcome.outcome === 'duplicate' ||
            (outcome.outcome === 'refused' && outcome.step === 0 && outcome.why === 'duplicate');
          if (tries > 1 && isRepeat) return { outcome: 'ok', events: [] };
          count(outcome.outcome === 'refused' ? outcome.why : outcome.outcome);
          return outcome;
        } catch (error) {
          if (signal.aborted) return undefined;
          count('failed');
          if (isWorthTelling(tries))
            log.warn('steps could not be stored; they are sent again', { partition, tries, error });
          if (!(error instanceof Fault && error.status >= 500)) return { outcome: 'failed' };
          await pause(clock.now() + waitAfter(tries), { clock, signal });
        }
      }
      return undefined;
    } finally {
      this.#inFlight = 0;
    }
  }

  /** It is stored: now it takes effect. */
  #settle(batch: Batch, { to, positions }: { to: number; positions: readonly number[] }): void {
    const { tail, work, mail, probe, clock, runOrders } = this.#parts;
    this.#place = to;
    this.#committedAt = clock.now();
    for (const [actor, state] of batch.states) {
      if (state) this.#hot.put(actor, state);
      else this.#hot.drop(actor);
    }
    for (const [id, { offset, refusal }] of batch.seen) this.#known.add(id, offset, refusal);
    this.#most = Math.min(maxBatch, this.#most * 2);
    this.#repeats.clear();
    for (const offset of this.#buried) if (offset <= to) this.#buried.delete(offset);
    for (const trouble of this.#verdicts.keys()) {
      if (typeof trouble === 'string' || trouble <= to) this.#verdicts.delete(trouble);
    }
    const events = batch.steps.flatMap(({ events, at }) => events.map((event) => ({ ...event, at })));
    for (const { actor } of batch.steps) probe?.('after commit', actor);
    if (positions.length === events.length) {
      tail.committed(events.map((event, index): LoggedEvent => ({ ...event, position: positions[index]! })));
    } else tail.wake();
    for (const { actor } of batch.steps) probe?.('before effects', actor);
    for (const { at, orders, jobs, cancels } of batch.steps) {
      if (orders.length > 0) runOrders(orders);
      if (jobs.length + cancels.length > 0) work.committed({ at, jobs, cancels });
    }
    for (const { command, answer } of batch.answers) mail.answer(command.replyTo, { id: command.id, answer });
  }

  /** What is to be done otherwise the next time. Answers whether the batch can be computed again at once. */
  #judge(
    { steps, troubles }: Batch,
    { outcome, tries }: { outcome: BatchOutcome | { outcome: 'failed' }; tries: number },
  ): boolean {
    const isLast = tries >= maxTries;
    if (outcome.outcome === 'refused') {
      const { step, why } = outcome;
      const trouble = troubles[step]!;
      if (why === 'lost' && !this.#verdicts.has(trouble)) {
        this.#verdicts.set(trouble, { outcome: 'lost' });
        return true;
      }
      if (isLast) this.#verdicts.set(trouble, { fault: mistake });
      else if (why === 'duplicate') this.#repeats.add(steps[step]!.cause);
    } else if (isLast) {
      for (const trouble of troubles) this.#verdicts.set(trouble, { fault: mistake });
    }
    return false;
  }

  /** From here on only what is stored counts. */
  async #forget(): Promise<void> {
    const { store, partition, partitions, types } = this.#parts;
    this.#hot.clear();
    const timers = await this.#surely('timers could not be read', () => store.timers([partition]));
    const isOwn = (actor: string) => partitionOf(idOf(actor), partitions) === partition && types.knows(actor);
    this.#deadlines.reset(timers.filter(({ actor }) => isOwn(actor)));
  }

  /** Does it until it succeeds; throws when this is over. */
  async #surely<T>(failure: string, work: () => Promise<T>): Promise<T> {
    const { clock, log, partition } = this.#parts;
    const { signal } = this.#over;
    const result = await retried(work, {
      clock,
      signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries)) log.warn(`${failure}; it is tried again`, { partition, tries, error });
      },
    });
    signal.throwIfAborted();
    return result as T;
  }

  #broken(why: Broken): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#onBroken(why);
  }
}

/** Why a partition cannot go on from where it stands. */
export interface Broken {
  readonly why: 'fenced' | 'gap' | 'duplicate' | 'bug';
  readonly error?: unknown;
}

function misfit({ partition, offset, range }: { partition: number; offset: number; range: LogRange }): Fault {
  const { first, next } = range;
  return new Fault('partition.misfit', {
    status: 500,
    message: `partition ${partition} is consumed up to offset ${offset}, but its log has ${first} to ${next - 1}; it is not the log that the data comes from, or a part of it is missing`,
  });
}
