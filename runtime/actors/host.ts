import type { AnyMachineSnapshot } from 'xstate';
import { Fault, hasCode, unlessRefused } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Actors, ActorType } from '../../core/plugin/actor.ts';
import { begin, conclude, type JobResult, type Step, step, thaw } from '../../core/plugin/step.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Job, JobWrite } from '../../core/ports/jobs.ts';
import type { CommitOutcome, Lease, LoggedEvent, Order, StepCommit, Store } from '../../core/ports/store.ts';
import { idOf, nameOf, partitionOf } from './actor-name.ts';
import type { ActorTypes } from './actor-types.ts';
import { HotActors } from './hot.ts';
import type { JobQueue } from './jobs/queue.ts';
import { refusals } from './refusals.ts';
import { stepCommit, timerCause, viewOf } from './step-commit.ts';
import type { StepCounts } from './step-counts.ts';
import { TimerQueue, TimerTries } from './timers.ts';

/** Attempts at a step that loses a race. */
const maxConflicts = 5;
/** Actors whose due timers are run at one time. */
export const timersAtOnce = 500;

/**
 * Runs actors: one step at a time for each, every step one commit. Takes commands straight in and timers
 * from the store; hands committed events and orders on.
 */
export class ActorHost implements Actors {
  readonly #options: HostOptions;
  readonly #leases: Map<number, { epoch: number; counter: number }>;
  readonly #types: ActorTypes;
  readonly #hot: HotActors;
  readonly #timers: TimerQueue;
  readonly #tries = new TimerTries();
  /** The last queued work of each actor that has any: steps of one actor never overlap. */
  readonly #tails = new Map<string, Promise<unknown>>();
  /** Actors whose timers are being run, and those whose timers are due and wait for a turn. */
  #firing = 0;
  readonly #late = new Set<string>();
  #isStopped = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#leases = new Map(
      options.leases.map(({ partition, epoch, counter }) => [partition, { epoch, counter }]),
    );
    this.#types = options.types;
    this.#hot = new HotActors(options.hotActors);
    this.#timers = new TimerQueue({ clock: options.clock, fire: (actor) => this.#fire(actor) });
  }

  /**
   * Arms the timers that the store remembers; those that are past fire now. Call it before commands:
   * a command must find what fell due before it. Timers of plugins that are off stay in the store.
   */
  async start(): Promise<void> {
    for (const timer of await this.#options.store.timers()) {
      if (this.#types.knows(timer.actor)) this.#timers.set(timer);
    }
  }

  /** No timer fires and no new step begins; resolves when the running steps are committed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.stop();
    this.#late.clear();
    await Promise.allSettled(this.#tails.values());
  }

  /** Actors kept in memory. */
  get hotActors(): number {
    return this.#hot.size;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  spawn(
    // biome-ignore lint/suspicious/noExplicitAny: the public types are those of the Actors interface
    type: ActorType<any, never>,
    id: string,
    input: unknown,
    options: { cause?: string } = {},
    // biome-ignore lint/suspicious/noExplicitAny: as above
  ): Promise<any> {
    const actor = nameOf(type, id);
    return this.#queue(actor, async () => {
      const at = this.#options.clock.now();
      const first = begin(this.#types.registered(type).type, input, at);
      const outcome = await this.#commit({ actor, step: first, at, sequence: 0, cause: options.cause });
      if (outcome.outcome !== 'ok') throw refusals.exists(actor);
      return viewOf(first.snapshot);
    });
  }

  ask(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    type: ActorType<any, never>,
    id: string,
    command: { readonly type: string },
    options: { cause?: string } = {},
    // biome-ignore lint/suspicious/noExplicitAny: as above
  ): Promise<any> {
    const actor = nameOf(type, id);
    return this.#queue(actor, async () => {
      const { cause } = options;
      await this.#runDue(actor).catch(unlessBug);
      const at = this.#options.clock.now();
      return viewOf(
        await this.#run(actor, { ...command, at }, cause === undefined ? undefined : () => cause),
      );
    });
  }

  /**
   * Gives the result of a job to the actor that asked for it, and finishes the job in the same commit. `stale`: the
   * actor does not wait for it any more, the job is still there. `lost`: this owner does not hold it any more.
   */
  conclude(
    job: Pick<Job, 'id' | 'actor' | 'child'>,
    options: { owner: string; result: JobResult },
  ): Promise<'ok' | 'stale' | 'lost'> {
    const { actor } = job;
    return this.#queue(actor, async () => {
      // A full queue must not keep a job from leaving it.
      await this.#runDue(actor).catch((error) => hasCode(error, 'jobs.full') || unlessBug(error));
      const { type } = this.#types.of(actor);
      for (let attempt = 0; attempt < maxConflicts; attempt += 1) {
        const loaded = await this.#load(actor, type);
        if (!loaded) return 'stale';
        const at = this.#options.clock.now();
        const result = { child: job.child, job: job.id, at, result: options.result };
        const next = conclude(type, loaded.snapshot, result);
        if (!next) return 'stale';
        const { sequence } = loaded;
        // Not the job's id: that holds the cause of the step before, and would grow with every job that follows.
        const cause = `j${actor}#${job.child}.${sequence}`;
        const { outcome } = await this.#commit({
          ...{ actor, step: next, at, sequence, cause },
          finish: { id: job.id, owner: options.owner },
        });
        if (outcome === 'ok' || outcome === 'lost') return outcome;
        this.#hot.drop(actor);
      }
      throw refusals.tooBusy();
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  async read(type: ActorType<any, never>, id: string): Promise<any> {
    // Outside the queue, so a step may commit meanwhile: what was read here must not be kept.
    const loaded = await this.#load(nameOf(type, id), this.#types.registered(type).type);
    return loaded && viewOf(loaded.snapshot);
  }

  /** A step, computed again when the state had moved on. Resolves with the state after it. */
  async #run(actor: string, event: TimedEvent, cause?: CauseOf): Promise<AnyMachineSnapshot> {
    for (let attempt = 0; attempt < maxConflicts; attempt += 1) {
      const snapshot = await this.#step(actor, event, cause);
      if (snapshot) return snapshot;
    }
    throw refusals.tooBusy();
  }

  /** One attempt at a step. Undefined: the state had moved on, try again. */
  async #step(
    actor: string,
    event: TimedEvent,
    causeOf: CauseOf | undefined,
  ): Promise<AnyMachineSnapshot | undefined> {
    const { type } = this.#types.of(actor);
    const loaded = await this.#load(actor, type);
    if (!loaded) throw refusals.notFound(actor);
    this.#hot.put(actor, loaded);
    const { sequence } = loaded;
    const cause = causeOf?.(sequence);
    const next = step(type, loaded.snapshot, event);
    if (!next) {
      // A repeat of what was done already: the state has moved on because of it.
      if (cause !== undefined && (await this.#options.store.isConsumed(cause))) {
        this.#options.counts?.count(type.type, 'duplicate');
        return loaded.snapshot;
      }
      this.#options.counts?.count(type.type, 'refused');
      throw refusals.notPossible(event.type, loaded.snapshot.value);
    }
    const outcome = await this.#commit({ actor, step: next, at: event.at, sequence, cause });
    if (outcome.outcome === 'ok') return next.snapshot;
    this.#hot.drop(actor);
    if (outcome.outcome === 'conflict') return undefined;
    return (await this.#load(actor, type))?.snapshot ?? next.snapshot;
  }

  async #commit(options: {
    actor: string;
    step: Step;
    at: number;
    sequence: number;
    cause: string | undefined;
    finish?: StepCommit['finish'];
  }): Promise<CommitOutcome> {
    const { actor, at, sequence, finish } = options;
    const entry = this.#types.of(actor);
    const partition = partitionOf(idOf(actor), this.#leases.size);
    const lease = this.#lease(partition);
    const counter = options.cause === undefined ? ++lease.counter : undefined;
    const cause = options.cause ?? `d${partition}.${counter}`;
    const composed = stepCommit(entry, { actor, step: options.step, cause, at, sequence });
    const { snapshot, wanted } = composed;
    const { events, orders, timers, cancels } = composed.commit;
    const commit: Omit<StepCommit, 'jobs'> = {
      ...composed.commit,
      partition,
      epoch: lease.epoch,
      ...(counter !== undefined && { counter }),
      ...(finish && { finish }),
    };
    const { clock, counts, store, work } = this.#options;
    this.#options.probe?.('before commit', actor);
    const jobs = wanted.length === 0 ? [] : this.#prepared(wanted, { at, isResult: finish !== undefined });
    const began = clock.now();
    const outcome = await store.commit({ ...commit, jobs }).catch((error: unknown) => {
      // Whether it was written is unknown: the next step must read what the store holds.
      this.#hot.drop(actor);
      counts?.count(entry.type.type, 'failed');
      throw error;
    });
    counts?.committed(clock.now() - began);
    counts?.count(entry.type.type, outcome.outcome);
    this.#options.probe?.('after commit', actor);
    if (outcome.outcome === 'fenced') {
      this.#options.onFenced(partition);
      throw refusals.stopping('Another process has taken over; nothing was written.');
    }
    if (outcome.outcome !== 'ok') return outcome;
    if (options.step.isDone) {
      this.#hot.drop(actor);
      this.#timers.forget(actor);
    } else {
      this.#hot.put(actor, { snapshot, sequence: sequence + 1 });
      for (const { name, due } of timers) this.#timers.set({ actor, name, due });
    }
    this.#options.probe?.('before effects', actor);
    for (const [index, event] of events.entries()) {
      this.#options.onEvent({ ...event, at, position: outcome.events[index] });
    }
    if (orders.length > 0) this.#options.onOrders(orders);
    if (jobs.length > 0 || cancels.length > 0) {
      work?.committed({ at, jobs, cancels });
    }
    return outcome;
  }

  #prepared(...[named, options]: Parameters<JobQueue['prepare']>): JobWrite[] {
    const { work } = this.#options;
    if (!work) throw new Error(`there is no job queue for ${named[0]?.kind}`);
    return work.prepare(named, options);
  }

  async #load(
    actor: string,
    type: ActorType,
  ): Promise<{ snapshot: AnyMachineSnapshot; sequence: number } | undefined> {
    const hot = this.#hot.get(actor);
    if (hot) return hot;
    const stored = await this.#options.store.load(actor);
    if (!stored) return undefined;
    return { snapshot: thaw(type, stored), sequence: stored.sequence };
  }

  /** Thousands of timers may be due at one moment: all at once they would leave no room in the store for commands. */
  #fire(actor: string): void {
    // Its plugin failed at the start: the timers stay in the store.
    if (!this.#types.knows(actor)) {
      this.#timers.forget(actor);
      return;
    }
    if (this.#firing >= timersAtOnce) {
      this.#late.add(actor);
      return;
    }
    this.#firing += 1;
    this.#queue(actor, () => this.#runDue(actor))
      .then(() => this.#tries.passed(actor))
      .catch((error: unknown) => {
        if (this.#isStopped) return;
        const { wait, tries, isTold } = this.#tries.failed(actor, error);
        const { log, clock } = this.#options;
        if (isTold) log.error('a timer could not be run; trying again', { actor, tries, error });
        const now = clock.now();
        this.#timers.retry(actor, { now, at: now + wait });
      })
      .finally(() => {
        this.#firing -= 1;
        const [next] = this.#late;
        if (next === undefined) return;
        this.#late.delete(next);
        this.#fire(next);
      });
  }

  /** Time goes in order: what fell due comes before whatever is done with the actor now. */
  async #runDue(actor: string): Promise<void> {
    const now = this.#options.clock.now();
    for (let timer = this.#timers.due(actor, now); timer; timer = this.#timers.due(actor, now)) {
      const { name, due } = timer;
      const cause: CauseOf = (sequence) => timerCause({ actor, name, due }, sequence);
      // Refused: the actor is gone, or its state does not wait for this timer.
      await this.#run(actor, { type: name, at: due }, cause).catch(unlessRefused);
      this.#timers.done(timer);
    }
  }

  #queue<T>(actor: string, work: () => Promise<T>): Promise<T> {
    if (this.#isStopped) return Promise.reject(refusals.stopping('The server is stopping.'));
    const tail = this.#tails.get(actor);
    const run = tail === undefined ? work() : tail.then(work, work);
    this.#tails.set(actor, run);
    const clear = () => {
      if (this.#tails.get(actor) === run) this.#tails.delete(actor);
    };
    run.then(clear, clear);
    return run;
  }

  #lease(partition: number): { epoch: number; counter: number } {
    const lease = this.#leases.get(partition);
    if (!lease) throw new Error(`partition ${partition} is not owned here`);
    return lease;
  }
}

export interface HostOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly leases: readonly Lease[];
  readonly types: ActorTypes;
  /** Restored snapshots kept in memory, at most this many. */
  readonly hotActors: number;
  onEvent(event: LoggedEvent): void;
  onOrders(orders: readonly Order[]): void;
  /** Another process owns the data now: this one must stop. */
  onFenced(partition: number): void;
  readonly counts?: StepCounts;
  /** Takes the work that machines ask for. */
  readonly work?: JobQueue;
  /** For crash tests: called at each point of a step; may throw to stop there. */
  readonly probe?: (point: 'before commit' | 'after commit' | 'before effects', actor: string) => void;
}

type TimedEvent = { readonly type: string; readonly at: number };
/** The cause of a step, given the number of the state that it starts from. */
type CauseOf = (sequence: number) => string;

/** A timer that a bug keeps from running is logged when it fires, and must not shut out commands as well. */
function unlessBug(error: unknown): void {
  if (error instanceof Fault) throw error;
}
