import { Fault } from '../../core/base/fault.ts';
import { pause } from '../../core/base/timing.ts';
import type { Bus, LogRange, LogRecord } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { BatchOutcome, LoggedEvent, Order, Store } from '../../core/ports/store.ts';
import { idOf, partitionOf } from '../actors/actor-name.ts';
import type { HostOptions } from '../actors/host.ts';
import { HotActors } from '../actors/hot.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import { Batch, type BatchParts, type Trouble, type Verdict } from './batch.ts';
import { Deadlines } from './deadlines.ts';
import type { EventTail } from './event-tail.ts';
import type { Mail } from './mail.ts';
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
const tick = JSON.stringify({ type: 'tick' });

/** What came of a commit; `failed`: the store threw, and not because of an outage. */
type Outcome = BatchOutcome | { readonly outcome: 'failed' };

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
  /** Aborted when nothing more is to be done with what this knows. */
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  #queue: LogRecord[] = [];
  /** Up to when the log has been read: what is due by then fires. */
  #time = 0;
  /** A record is on its way that tells the time. */
  #isTicking = false;
  #isFinishing = false;
  #epoch = 0;
  /** Offset that is stored. */
  #place = -1;
  #committedAt = 0;
  #loop: Promise<void> = Promise.resolve();
  #inFlight = 0;
  #waiting: (() => void)[] = [];
  /** Records of the next batch: one after a bug, to find out which of them is to blame, then more again. */
  #most = maxBatch;
  /** What was found out of records and timers that could not be committed, until they are passed. */
  readonly #verdicts = new Map<Trouble, Verdict>();

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
    this.#place = offset;
    this.#committedAt = clock.now();
    await this.#forget();
    // A former owner may have died before it ran them. Those that run already are known by their ids.
    runOrders(await store.orders([partition]));
    this.#over.signal.throwIfAborted();
    this.#loop = this.#run();
    this.look();
    return offset + 1;
  }

  /** Resolves when there is room for more; where this is over, when somebody has said so. */
  async records(records: readonly LogRecord[]): Promise<void> {
    this.#queue.push(...records);
    this.#changed();
    while (this.#queue.length > maxQueued && !this.#isOver()) await this.#change();
    if (this.#isOver()) await this.#gone.promise;
  }

  /**
   * Comes again and again. Time passes with the log: when a timer is due and nothing stands there that is later, a record is put
   * there. So all that came before it is dealt with first, and every reading of the log has the same order.
   */
  look(): void {
    const { clock, bus, partition } = this.#parts;
    if (this.#isDoubtful()) this.#changed();
    const isDue = this.#deadlines.first <= clock.now() && this.#deadlines.first > this.#time;
    if (!isDue || this.#isTicking || this.#queue.length > 0) return;
    this.#isTicking = true;
    bus.send({ partition, key: 'tick', value: tick }).catch(() => {
      this.#isTicking = false;
    });
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
        // One by one, so that what fails is known: a timer that is due goes before the record.
        const isAlone = this.#most === 1;
        const late = isAlone ? this.#deadlines.take(this.#time, 1) : [];
        const records = late.length > 0 ? [] : this.#queue.splice(0, this.#most);
        if (records.some(({ value }) => value === tick)) this.#isTicking = false;
        const until = Math.max(this.#time, records.at(-1)?.at ?? 0);
        const actors = isAlone ? late : this.#deadlines.take(until, this.#most);
        if (records.length + actors.length === 0 && !this.#isDoubtful()) await this.#change();
        else await this.#take(records, { actors, until });
        this.#changed();
      }
    } catch (error) {
      this.#broken({ why: 'bug', error });
    }
  }

  /** Nothing was heard of the store for a while. */
  #isDoubtful(): boolean {
    return this.#parts.clock.now() - this.#committedAt >= verifyInterval;
  }

  /** Computes and commits, again and again until it is stored. */
  async #take(...[records, due]: Parameters<Batch['compute']>): Promise<void> {
    const { partition, clock, log } = this.#parts;
    const { signal } = this.#over;
    for (let tries = 1; !signal.aborted; ) {
      const batch = await this.#computed(records, due);
      if (records.length + batch.steps.length === 0 && !this.#isDoubtful()) return;
      const to = records.at(-1)?.offset ?? this.#place;
      const outcome = await this.#committed(batch, to);
      if (!outcome || signal.aborted) return;
      if (outcome.outcome === 'ok') {
        this.#time = due.until;
        return this.#settle(batch, { to, positions: outcome.events });
      }
      if (outcome.outcome === 'fenced' || outcome.outcome === 'gap' || outcome.outcome === 'duplicate')
        return this.#broken({ why: outcome.outcome });
      // Nothing of it is stored.
      await this.#forget();
      if (outcome.outcome === 'refused' && outcome.why === 'lost') {
        this.#verdicts.set(batch.troubles[outcome.step]!, { outcome: 'lost' });
        continue;
      }
      log.warn('a batch of steps is computed again', { partition, ...outcome, tries });
      if (records.length + due.actors.length > 1) {
        this.#queue.unshift(...records);
        this.#most = 1;
        return;
      }
      const problem = 'it could not be stored';
      if (tries >= maxTries) for (const trouble of batch.troubles) this.#verdicts.set(trouble, { problem });
      else await pause(clock.now() + waitAfter(tries), { clock, signal });
      tries += 1;
    }
  }

  async #computed(...[records, due]: Parameters<Batch['compute']>): Promise<Batch> {
    const { store, bus, log, partition, onBuried } = this.#parts;
    const batch = new Batch({
      ...{ parts: this.#parts, hot: this.#hot, deadlines: this.#deadlines, verdicts: this.#verdicts },
      loadAll: (...asked) => this.#surely('actors could not be read', () => store.loadAll(...asked)),
      bury: async (record, why) => {
        const { offset, key } = record;
        log.error('a command is buried', { partition, offset, key, why });
        await this.#surely('a command could not be buried', () => bus.bury(record, why));
        onBuried();
      },
    });
    await batch.compute(records, due);
    return batch;
  }

  /** When nobody knows what came of it, the same is sent again until somebody does: the store takes it once. Undefined: this is over. */
  async #committed({ steps }: Batch, to: number): Promise<Outcome | undefined> {
    const { store, clock, log, partition, counts, probe } = this.#parts;
    const { signal } = this.#over;
    const batch = { partition, epoch: this.#epoch, from: this.#place, to, steps };
    const count = (outcome: Parameters<StepCounts['count']>[1]) => {
      for (const { actor } of steps) counts?.count(actor.slice(0, actor.indexOf('/')), outcome);
    };
    this.#inFlight = steps.length;
    for (let tries = 1; !signal.aborted; tries += 1) {
      for (const { actor } of steps) probe?.('before commit', actor);
      const began = clock.now();
      try {
        const outcome = await store.commitAll(batch);
        if (steps.length > 0) counts?.committed(clock.now() - began);
        this.#inFlight = 0;
        if (tries > 1 && isRepeat(outcome)) return { outcome: 'ok', events: [] };
        count(outcome.outcome === 'refused' ? outcome.why : outcome.outcome);
        return outcome;
      } catch (error) {
        if (signal.aborted) break;
        count('failed');
        if (isWorthTelling(tries))
          log.warn('steps could not be stored; they are sent again', { partition, tries, error });
        if (!(error instanceof Fault && error.status >= 500)) return { outcome: 'failed' };
        await pause(clock.now() + waitAfter(tries), { clock, signal });
      }
    }
    return undefined;
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
    this.#most = Math.min(maxBatch, this.#most * 2);
    for (const trouble of this.#verdicts.keys()) {
      if (typeof trouble === 'string' || trouble <= to) this.#verdicts.delete(trouble);
    }
    for (const { actor } of batch.steps) probe?.('after commit', actor);
    const events = batch.steps.flatMap(({ events, at }) => events.map((event) => ({ ...event, at })));
    // Those of a commit that was not answered have places that nobody here knows.
    if (positions.length < events.length) tail.wake();
    else
      tail.committed(events.map((event, index): LoggedEvent => ({ ...event, position: positions[index]! })));
    for (const { actor } of batch.steps) probe?.('before effects', actor);
    for (const { at, orders, jobs, cancels } of batch.steps) {
      if (orders.length > 0) runOrders(orders);
      if (jobs.length + cancels.length > 0) work.committed({ at, jobs, cancels });
    }
    for (const { command, answer } of batch.answers) mail.answer(command.replyTo, { id: command.id, answer });
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
    const result = await retried(work, { clock, signal, failure, log: log.with({ partition }) });
    signal.throwIfAborted();
    return result as T;
  }

  #broken(why: Broken): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#onBroken(why);
  }
}

/** What a partition shares with others of its node. */
export interface PartitionParts extends BatchParts {
  readonly store: Store;
  readonly bus: Bus;
  /** Identity of the command log. */
  readonly logId: string;
  readonly clock: Clock;
  /** Of this partition, kept in memory. */
  readonly hotActors: number;
  readonly mail: Mail;
  readonly tail: EventTail;
  readonly probe?: HostOptions['probe'];
  runOrders(orders: readonly Order[]): void;
  onBuried(): void;
}

/** Why a partition cannot go on from where it stands. */
export interface Broken {
  readonly why: 'fenced' | 'gap' | 'duplicate' | 'bug';
  readonly error?: unknown;
}

/** Of a batch that was sent before: it was written then. */
function isRepeat(outcome: BatchOutcome): boolean {
  const isRefused = outcome.outcome === 'refused' && outcome.step === 0 && outcome.why === 'duplicate';
  return outcome.outcome === 'duplicate' || isRefused;
}

function misfit({ partition, offset, range }: { partition: number; offset: number; range: LogRange }): Fault {
  const { first, next } = range;
  return new Fault('partition.misfit', {
    status: 500,
    message: `partition ${partition} is consumed up to offset ${offset}, but its log has ${first} to ${next - 1}; it is not the log that the data comes from, or a part of it is missing`,
  });
}
