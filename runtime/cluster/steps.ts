import { Fault } from '../../core/base/fault.ts';
import { type Step, thaw } from '../../core/plugin/step.ts';
import type { CommitOutcome, ConsumedPlace, StepCommit, StoredActor } from '../../core/ports/store.ts';
import type { RegisteredType } from '../actors/actor-types.ts';
import { stepCommit } from '../actors/step-commit.ts';
import { clusterLimits } from './limits.ts';
import type { PartitionParts, Trouble } from './parts.ts';
import { Pipeline } from './pipeline.ts';
import type { Relay } from './relay.ts';
import { isWorthTelling, retried } from './retried.ts';
import { type ActorState, States } from './states.ts';

/**
 * The steps of one partition under one lease. Each is computed on the latest state, stored or not, and sent to the store
 * without waiting for the one before it; each names the place in the log that the one before it leaves, so that the store
 * takes them in order or not at all. What a step leads to happens when it and all before it are stored.
 */
export class Steps {
  readonly #parts: StepsParts;
  readonly #pipeline: Pipeline;
  readonly #states: States;
  /** Actors and causes that were read ahead. */
  #read = new Map<string, StoredActor | undefined>();
  #consumed = new Set<string>();
  /** Causes of the last steps, which reading ahead may not have seen. */
  readonly #causes = new Set<string>();
  /** Where the last write leaves the log, and how far it is read. */
  #sent: number;
  #seen: number;
  #seenAt = 0;
  /** When something was last sent to the store. */
  #wroteAt: number;

  constructor(parts: StepsParts) {
    this.#parts = parts;
    this.#pipeline = new Pipeline({
      ...parts,
      depth: clusterLimits.pipeline,
      onBug: (error) => parts.onBroken({ why: 'bug', error }),
    });
    this.#states = new States(parts.hotActors);
    this.#sent = parts.offset;
    this.#seen = parts.offset;
    this.#wroteAt = parts.clock.now();
  }

  /** Actors in memory. */
  get actors(): number {
    return this.#states.size;
  }

  /** Steps and answers that wait for the store. */
  get inFlight(): number {
    return this.#pipeline.size;
  }

  /** Offset of the last record that was taken. */
  get seen(): number {
    return this.#seen;
  }

  /** The record there is taken: a later write stores that. */
  saw(offset: number): void {
    if (this.#seen === this.#sent) this.#seenAt = this.#parts.clock.now();
    this.#seen = offset;
  }

  /** Reads what the next commands need, side by side. */
  async readAhead(actors: Iterable<string>, causes: Iterable<string> = []): Promise<void> {
    const { store, partition } = this.#parts;
    const unknown = [...new Set(actors)].filter((actor) => this.#states.get(actor) === undefined);
    const named = [...new Set(causes)];
    await this.#surely(async () => {
      const [stored, consumed] = await Promise.all([
        Promise.all(unknown.map((actor) => store.load(actor, partition))),
        Promise.all(named.map((cause) => store.isConsumed(cause))),
      ]);
      this.#read = new Map(unknown.map((actor, index) => [actor, stored[index]]));
      this.#consumed = new Set(named.filter((_, index) => consumed[index]));
    });
  }

  /** Null, undefined: it has ended, or never was. */
  async state(actor: string, { type }: RegisteredType): Promise<ActorState | null | undefined> {
    const known = this.#states.get(actor);
    if (known !== undefined) return known;
    const isRead = this.#read.has(actor);
    const { store, partition } = this.#parts;
    const stored = isRead ? this.#read.get(actor) : await this.#surely(() => store.load(actor, partition));
    // It may move on and be forgotten here before it is asked for again.
    this.#read.delete(actor);
    if (!stored) return undefined;
    const state = { snapshot: thaw(type, stored), sequence: stored.sequence };
    this.#states.keep(actor, state);
    return state;
  }

  /** Whether a cause that a caller named was consumed; it must have been read ahead. */
  isConsumed(cause: string): boolean {
    return this.#causes.has(cause) || this.#consumed.has(cause);
  }

  /** Sends a step to the store. Throws a Fault when its jobs cannot be taken, and whatever composing it throws. */
  async send(entry: RegisteredType, sending: Sending): Promise<void> {
    await this.#room();
    const { partition, epoch, store, work, clock, counts, probe } = this.#parts;
    const { actor, cause, at, sequence, to = this.#seen, isCause = false, isResult = false } = sending;
    const { snapshot, wanted, commit } = stepCommit(entry, sending);
    const jobs = wanted.length === 0 ? [] : work.prepare(wanted, { at, isResult });
    const consumed = { from: this.#sent, to, ...(isCause && { isCause }) };
    const whole: StepCommit = { ...commit, partition, epoch, jobs, consumed };
    const isDone = sending.step.isDone;
    this.#states.stepped(actor, isDone ? null : { snapshot, sequence: sequence + 1 });
    if (!isCause) this.#remember(cause);
    this.#sent = to;
    this.#wroteAt = clock.now();
    sending.onSent?.({ timers: whole.timers, isDone });
    this.#pipeline.push({
      write: async () => {
        probe?.('before commit', actor);
        const began = clock.now();
        const outcome = await store.commit(whole);
        counts?.committed(clock.now() - began);
        return outcome;
      },
      settled: (outcome, tries) => {
        if (!outcome) return;
        counts?.count(entry.type.type, outcome.outcome);
        if (!isStored(outcome, tries)) return this.#refused(outcome, sending);
        this.#states.stored(actor);
        this.#happened(whole, outcome);
        sending.onStored?.();
      },
      failed: (error, tries) => {
        counts?.count(entry.type.type, 'failed');
        return this.#failed(error, { tries, sending });
      },
    });
  }

  /** Does something when everything before it is stored; `isPassed`: also how far the log is read. */
  async afterwards(work: () => void, { isPassed = false }: { isPassed?: boolean } = {}): Promise<void> {
    await this.#room();
    if (isPassed) this.consume({ isOverdue: true });
    this.#pipeline.push({ settled: work });
  }

  /**
   * Stores how far the log is read, if no step has done so for a while. A partition with nothing to do asks now and then
   * whether the store is still as this node left it: another may have taken it, or the store may have been rolled back.
   */
  consume({ isOverdue = false }: { isOverdue?: boolean } = {}): void {
    const { partition, epoch, clock } = this.#parts;
    const now = clock.now();
    if (this.#seen === this.#sent) {
      if (isOverdue || this.#pipeline.size > 0 || now - this.#wroteAt < clusterLimits.verify) return;
    } else if (!isOverdue && now - this.#seenAt < clusterLimits.consume) return;
    const place: ConsumedPlace = { partition, epoch, from: this.#sent, to: this.#seen };
    this.#sent = this.#seen;
    this.#wroteAt = now;
    this.#write(place);
  }

  #write(place: ConsumedPlace): void {
    const { store } = this.#parts;
    this.#pipeline.push({
      write: () => store.consume(place),
      settled: (outcome, tries) => {
        if (outcome && !isStored(outcome, tries)) this.#refused(outcome, {});
      },
      failed: (error, tries) => this.#failed(error, { tries, sending: {} }),
    });
  }

  /** Resolves when all that was sent is stored. */
  idle(): Promise<void> {
    return this.#pipeline.idle();
  }

  /** The step is stored, and all before it. */
  #happened(commit: StepCommit, outcome: CommitOutcome): void {
    const { tail, relay, probe } = this.#parts;
    const { actor, at, cause, epoch, events, orders, jobs, cancels } = commit;
    const isKnown = outcome.outcome === 'ok';
    probe?.('after commit', actor);
    if (isKnown) {
      tail.committed(events.map((event, index) => ({ ...event, at, position: outcome.events[index]! })));
    } else if (events.length > 0) {
      tail.wake();
    }
    probe?.('before effects', actor);
    if (events.length + orders.length + jobs.length + cancels.length === 0) return;
    const number = isKnown ? outcome.entry : undefined;
    relay.push({
      ...{ actor, at, cause, epoch, events, orders, jobs, cancels, number },
      ...(!isKnown && { isNumberUnknown: true }),
    });
  }

  #refused({ outcome }: CommitOutcome, { trouble, onRefused }: Partial<Sending>): void {
    if (outcome === 'ok') return;
    onRefused?.(outcome);
    this.#parts.onBroken({ why: outcome, ...(trouble !== undefined && { at: trouble }) });
  }

  /** An outage ends; a mistake of ours does not. */
  #failed(error: unknown, { tries, sending }: { tries: number; sending: Partial<Sending> }): boolean {
    const { log, partition, onBroken } = this.#parts;
    const isOutage = error instanceof Fault && error.status >= 500;
    if (isWorthTelling(tries))
      log.warn('a step could not be stored; it is tried again', { partition, tries, error });
    if (isOutage || tries < clusterLimits.tries) return true;
    const { trouble } = sending;
    onBroken({ why: 'failed', error, isForGood: true, ...(trouble !== undefined && { at: trouble }) });
    return false;
  }

  async #room(): Promise<void> {
    const { signal, relay } = this.#parts;
    await this.#pipeline.room();
    await relay.room();
    signal.throwIfAborted();
  }

  async #surely<T>(work: () => Promise<T>): Promise<T> {
    const { clock, signal, log, partition } = this.#parts;
    const result = await retried(work, {
      clock,
      signal,
      onFailure: (error, tries) => {
        if (isWorthTelling(tries))
          log.warn('actors could not be read; it is tried again', { partition, tries, error });
      },
    });
    signal.throwIfAborted();
    return result as T;
  }

  #remember(cause: string): void {
    this.#causes.add(cause);
    if (this.#causes.size <= clusterLimits.pipeline + clusterLimits.prefetch) return;
    const [oldest] = this.#causes;
    this.#causes.delete(oldest!);
  }
}

/** Written now, or by an earlier attempt at the same write. */
function isStored({ outcome }: CommitOutcome, tries: number): boolean {
  return outcome === 'ok' || (outcome === 'duplicate' && tries > 1);
}

/** What a step is, where it stands, and who waits for it. */
export interface Sending {
  readonly actor: string;
  readonly step: Step;
  readonly cause: string;
  readonly at: number;
  /** Of the state that it starts from. */
  readonly sequence: number;
  /** Offset of its record, where it has one; default: of the last one that was taken. */
  readonly to?: number;
  /** The record is its cause. */
  readonly isCause?: boolean;
  /** It takes the result of a job. */
  readonly isResult?: boolean;
  /** Names it, should it make trouble: the offset of its record, or its timer. */
  readonly trouble?: number | string;
  /** It is on its way, and the state is the one after it. */
  onSent?(sent: { readonly timers: StepCommit['timers']; readonly isDone: boolean }): void;
  /** It is stored, and all before it. */
  onStored?(): void;
  onRefused?(outcome: CommitOutcome['outcome']): void;
}

export interface StepsParts extends PartitionParts {
  readonly epoch: number;
  /** How far the log was consumed when the lease began. */
  readonly offset: number;
  readonly signal: AbortSignal;
  readonly relay: Relay;
  onBroken(trouble: Trouble): void;
}
