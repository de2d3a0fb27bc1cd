import type { Job, JobWrite } from '../../../core/ports/jobs.ts';
import { Claims } from './claims.ts';
import type { JobKind } from './kind.ts';
import { Leases } from './leases.ts';
import type { JobCounts } from './metrics.ts';
import type { CommittedJobs, JobQueue } from './queue.ts';
import { type Interruption, interrupt, type Run, type RunOptions, worked } from './run.ts';
import { type Slots, SlotTable } from './slots.ts';

/** How long effects may take to end when the program stops, ms; then their leases end by themselves. */
const stopTimeout = 4000;
/** Where nodes share a queue: how old the count may be that `queue` is held against, ms. */
const recountInterval = 5000;

/**
 * Runs jobs, at most as many of a kind as it has slots. It wakes when a commit adds one, when a slot becomes free, and
 * when the time of the next has come.
 */
export class JobWorkers implements JobQueue {
  readonly #options: WorkersOptions;
  readonly #slots: SlotTable;
  readonly #runs = new Map<string, Run>();
  readonly #leases: Leases;
  readonly #claims: Claims;
  #givenUp = 0;
  #onEnded = () => {};
  #recounting: Promise<void> | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#slots = new SlotTable(options.kinds);
    this.#leases = new Leases({ ...options, onLost: (id) => this.#interrupt(id, 'lost') });
    this.#claims = new Claims({
      ...options,
      slots: this.#slots,
      isRunning: (id) => this.#runs.has(id),
      begin: (slots, claimed) => this.#begin(slots, claimed),
    });
  }

  async start(): Promise<void> {
    const { jobs, log } = this.#options;
    for (const { kind, count } of await jobs.totals()) {
      const slots = this.#slots.find(kind);
      if (slots) slots.unfinished = count;
      else log.warn('jobs wait for an effect of no enabled plugin', { kind, count });
    }
    this.#claims.open();
  }

  /**
   * Claims no more, tells every effect to stop, and hands its job back. Resolves when all have ended, or when they
   * have had the time to.
   */
  async stop(): Promise<void> {
    const { clock, log } = this.#options;
    const closed = this.#claims.close();
    for (const id of this.#runs.keys()) this.#interrupt(id, 'stopping');
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.at(clock.now() + stopTimeout, resolve);
    });
    await Promise.race([late, closed.then(() => this.#idle())]);
    cancel();
    this.#leases.stop();
    for (const { job } of this.#runs.values()) log.error('an effect did not stop', { job: job.id });
  }

  /** Looks for jobs now: some may have become ready that the queue does not announce to this process. */
  wake(): void {
    this.#claims.wake();
  }

  /** Jobs of this kind that are being run here. */
  running(kind: string): number {
    let running = 0;
    for (const { job } of this.#runs.values()) if (job.kind === kind) running += 1;
    return running;
  }

  /** Jobs of all kinds that are being run here, with those that were given up and go on all the same. */
  get allRunning(): number {
    return this.#runs.size + this.#givenUp;
  }

  prepare(...[wanted, options]: Parameters<JobQueue['prepare']>): JobWrite[] {
    const { isShared = false, clock } = this.#options;
    if (isShared && clock.now() - this.#countedAt >= recountInterval) this.#recount();
    try {
      return this.#slots.admitted(wanted, options);
    } catch (error) {
      this.#recount();
      throw error;
    }
  }

  committed({ at, jobs, cancels }: CommittedJobs): void {
    for (const id of cancels) {
      const slots = this.#slots.find(kindOf(id));
      if (slots) slots.unfinished -= 1;
      this.#interrupt(id, 'cancelled');
    }
    for (const { kind, due } of jobs) {
      const slots = this.#slots.of(kind);
      slots.unfinished += 1;
      if (due > at) this.#claims.wakeAt(due);
      else {
        slots.isBehind = true;
        this.#claims.wake();
      }
    }
  }

  #begin(slots: Slots, { job, until }: { job: Job; until: number }): void {
    const { counts, log } = this.#options;
    const run: Run = { job, slots, abort: new AbortController() };
    this.#runs.set(job.id, run);
    this.#leases.hold(job.id, { until, length: slots.kind.lease });
    // What was claimed while the program began to stop goes back like the others.
    if (!this.#claims.isOpen) interrupt(run, 'stopping');
    worked(run, {
      ...this.#options,
      onPutBack: (due) => this.#claims.wakeAt(due),
      onGivenUp: (ended) => {
        this.#givenUp += 1;
        void ended.then(() => {
          this.#givenUp -= 1;
        });
      },
    })
      .then((end) => {
        counts?.count(job.kind, end);
        if (end !== 'lost') return;
        // Another worker has it, and it comes back should that one die; or it is ours by a beat that was answered late.
        this.#claims.wake();
        this.#recount();
      })
      .catch((error: unknown) => {
        log.error('a job could not be put back; its lease must end first', { job: job.id, error });
        this.#claims.wake();
      })
      .finally(() => this.#ended(run));
  }

  #ended({ job, slots }: Run): void {
    this.#leases.drop(job.id);
    this.#runs.delete(job.id);
    slots.taken -= 1;
    if (slots.isBehind) this.#claims.wake();
    this.#onEnded();
  }

  /** Resolves when no job is being run. */
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEnded = () => {
        if (this.#runs.size === 0) resolve();
      };
      this.#onEnded();
    });
  }

  /** What others did with jobs is seen in the queue alone. */
  #recount(): void {
    const { jobs, log, clock } = this.#options;
    this.#countedAt = clock.now();
    this.#recounting ??= jobs
      .totals()
      .then((totals) => {
        const counts = new Map(totals.map(({ kind, count }) => [kind, count]));
        for (const slots of this.#slots.all) slots.unfinished = counts.get(slots.kind.kind) ?? 0;
      })
      .catch((error: unknown) => log.warn('jobs could not be counted', { error }))
      .finally(() => {
        this.#recounting = undefined;
      });
  }

  #interrupt(id: string, why: Interruption): void {
    const run = this.#runs.get(id);
    if (run) interrupt(run, why);
  }
}

export interface WorkersOptions extends Omit<RunOptions, 'onPutBack' | 'onGivenUp'> {
  readonly kinds: readonly JobKind[];
  readonly counts?: JobCounts;
  /**
   * The queue is shared with other nodes: jobs are counted now and then.
   */
  readonly isShared?: boolean;
  /** Whether jobs of this kind are taken by this process; default: all. The others wait. */
  serves?(kind: string): boolean;
}

/** An effect id ends with its kind, which has no slash. */
function kindOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
