import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Job, Jobs, JobWrite } from '../../core/ports/jobs.ts';
import type { JobResult, Wanted } from '../../core/step.ts';
import type { CommittedJobs, Workshop } from '../actors/host.ts';
import { type AttemptEnd, attempted, errorOf } from './attempt.ts';
import type { JobCounts, JobEnd } from './job-counts.ts';
import { backoffOf, type JobKind } from './kind.ts';
import { Leases } from './leases.ts';
import { jobLimits } from './limits.ts';

interface Bench {
  readonly kind: JobKind;
  /** Places that are taken: by a job that runs, a claim or a commit on its way. */
  taken: number;
  /** Unfinished jobs, as far as this process knows. */
  unfinished: number;
  /** There may be jobs that are ready and have no place. */
  isBehind: boolean;
}

interface Run {
  readonly job: Job;
  readonly bench: Bench;
  readonly abort: AbortController;
}

/** Why an attempt was told to stop, where that is no failure of the work. */
type Interruption = 'cancelled' | 'lost' | 'stopping';

/**
 * Runs jobs. It wakes when a commit adds one, when a place gets free, and when the time of the next has come; with
 * nothing to do it does nothing. A job that a step adds while a place is free is leased with the step's commit.
 */
export class JobWorkers implements Workshop {
  readonly #options: WorkersOptions;
  readonly #benches: Map<string, Bench>;
  readonly #runs = new Map<string, Run>();
  readonly #leases: Leases;
  #claiming: Promise<void> | undefined;
  #isWanted = false;
  #givenUp = 0;
  #alarm: { at: number; cancel: () => void } | undefined;
  #state: 'new' | 'working' | 'stopping' = 'new';

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#benches = new Map(
      options.kinds.map((kind) => [kind.kind, { kind, taken: 0, unfinished: 0, isBehind: true }]),
    );
    this.#leases = new Leases({
      ...options,
      onLost: (id) => this.#interrupt(id, 'lost'),
    });
  }

  /** Takes back what earlier processes of this node held, and begins. */
  async start(): Promise<void> {
    const { jobs, owner, clock } = this.#options;
    await jobs.takeOver(owner, clock.now());
    for (const { kind, count } of await jobs.totals()) {
      const bench = this.#benches.get(kind);
      if (bench) bench.unfinished = count;
      else this.#options.log.warn('jobs wait for an effect of no enabled plugin', { kind, count });
    }
    this.#state = 'working';
    this.#wake();
  }

  /**
   * Claims no more, tells every effect to stop, and hands its job back. Resolves when all have ended, or when they
   * have had the time to.
   */
  async stop(): Promise<void> {
    if (this.#state === 'stopping') return;
    this.#state = 'stopping';
    this.#alarm?.cancel();
    for (const id of this.#runs.keys()) this.#interrupt(id, 'stopping');
    const { clock, log } = this.#options;
    await this.#claiming;
    await new Promise<void>((resolve) => {
      const cancel = clock.at(clock.now() + jobLimits.stop, resolve);
      this.#onIdle = () => {
        cancel();
        resolve();
      };
      this.#idle();
    });
    this.#leases.stop();
    for (const { job } of this.#runs.values()) log.error('an effect did not stop', { job: job.id });
  }

  /** Jobs of this kind that are being run here. */
  running(kind: string): number {
    let running = 0;
    for (const run of this.#runs.values()) if (run.bench.kind.kind === kind) running += 1;
    return running;
  }

  /** Jobs of all kinds that are being run here, with those that were given up and go on all the same. */
  get allRunning(): number {
    return this.#runs.size + this.#givenUp;
  }

  prepare(
    wanted: readonly (Wanted & { readonly id: string })[],
    { at, isResult }: { at: number; isResult: boolean },
  ): JobWrite[] {
    const { owner } = this.#options;
    // First all that can fail, so that a refusal has taken no place.
    const checked = wanted.map(({ id, child, kind, input }) => {
      const bench = this.#bench(kind);
      const text = JSON.stringify(input ?? null);
      if (Buffer.byteLength(text) > jobLimits.input) {
        const message = `The input of ${kind} is larger than ${jobLimits.input} bytes as JSON.`;
        throw new Fault('jobs.input_too_large', { status: 413, message });
      }
      if (!isResult && bench.unfinished >= bench.kind.queue) {
        const message = `${bench.unfinished} jobs of ${kind} wait already; nothing was written.`;
        throw new Fault('jobs.full', { status: 503, message, retryAfter: 1 });
      }
      const due = Math.max(at, Math.ceil(bench.kind.notBefore(input) ?? at));
      return { bench, write: { id, kind, child, input: text, due } };
    });
    return checked.map(({ bench, write }) => {
      const { concurrency, lease } = bench.kind;
      const isFree = this.#state === 'working' && !bench.isBehind && bench.taken < concurrency;
      if (write.due > at || !isFree) return write;
      bench.taken += 1;
      return { ...write, lease: { owner, until: at + lease } };
    });
  }

  committed({ actor, at, jobs, claimed, cancels }: CommittedJobs): void {
    for (const id of cancels) {
      const bench = this.#benches.get(kindOf(id));
      if (bench) bench.unfinished -= 1;
      this.#interrupt(id, 'cancelled');
    }
    for (const { id, kind, child, input, due, lease } of jobs) {
      const bench = this.#bench(kind);
      bench.unfinished += 1;
      if (lease && claimed.includes(id)) {
        const job: Job = { id, kind, actor, child, input, addedAt: at, attempt: 1 };
        this.#begin(bench, { job, until: lease.until });
        continue;
      }
      if (lease) bench.taken -= 1;
      if (due > at) this.#wakeAt(due);
      else {
        bench.isBehind = true;
        this.#wake();
      }
    }
  }

  dropped(jobs: readonly JobWrite[]): void {
    for (const { kind, lease } of jobs) {
      if (!lease) continue;
      this.#bench(kind).taken -= 1;
      // Should it have been written after all, then with a lease that nobody here knows of.
      this.#wakeAt(lease.until);
    }
  }

  #wake(): void {
    this.#isWanted = true;
    if (this.#claiming || this.#state !== 'working') return;
    this.#claiming = this.#claimAll()
      .catch((error: unknown) => {
        this.#isWanted = false;
        if (this.#state !== 'working') return;
        const { clock, log } = this.#options;
        log.error('jobs could not be claimed; it is tried again', { error });
        this.#wakeAt(clock.now() + jobLimits.resultRetry.wait);
      })
      .finally(() => {
        this.#claiming = undefined;
        if (this.#isWanted) this.#wake();
      });
  }

  async #claimAll(): Promise<void> {
    while (this.#isWanted && this.#state === 'working') {
      this.#isWanted = false;
      await Promise.all([...this.#benches.values()].map((bench) => this.#claim(bench)));
    }
    if (this.#state !== 'working') return;
    const { jobs, owner } = this.#options;
    // Those that are behind wait for a place, not for a time.
    const open = [...this.#benches.values()].filter(({ isBehind }) => !isBehind);
    const next = await jobs.next(
      open.map(({ kind }) => kind.kind),
      owner,
    );
    if (next !== undefined) this.#wakeAt(next);
  }

  async #claim(bench: Bench): Promise<void> {
    const { kind } = bench;
    const limit = Math.min(kind.concurrency - bench.taken, jobLimits.claim);
    if (limit <= 0) {
      bench.isBehind = true;
      return;
    }
    const { jobs, owner, clock } = this.#options;
    const now = clock.now();
    bench.taken += limit;
    let claimed: Job[] = [];
    try {
      claimed = await jobs.claim(kind.kind, { owner, limit, now, until: now + kind.lease });
    } finally {
      bench.taken -= limit;
    }
    bench.isBehind = claimed.length === limit;
    if (bench.isBehind) this.#isWanted = true;
    for (const job of claimed) {
      // A lease of ours that ran out over a job that we still run: the claim has renewed it.
      if (this.#runs.has(job.id)) continue;
      bench.taken += 1;
      this.#begin(bench, { job, until: now + kind.lease });
    }
  }

  #begin(bench: Bench, { job, until }: { job: Job; until: number }): void {
    const run: Run = { job, bench, abort: new AbortController() };
    this.#runs.set(job.id, run);
    this.#leases.hold(job.id, { until, length: bench.kind.lease });
    // What was claimed while the program began to stop goes back like the others.
    if (this.#state !== 'working') this.#interrupt(job.id, 'stopping');
    this.#work(run)
      .then((end) => {
        this.#options.counts?.count(job.kind, end);
        // Somebody else has it; should they die over it, it comes back.
        if (end === 'lost') this.#wake();
      })
      .catch((error: unknown) =>
        this.#options.log.error('a job could not be seen to', { job: job.id, error }),
      )
      .finally(() => this.#ended(run));
  }

  #ended({ job, bench }: Run): void {
    this.#leases.drop(job.id);
    this.#runs.delete(job.id);
    bench.taken -= 1;
    if (bench.isBehind) this.#wake();
    this.#idle();
  }

  async #work(run: Run): Promise<JobEnd> {
    const { job, bench, abort } = run;
    const { clock, log, knows } = this.#options;
    const now = clock.now();
    if (abort.signal.aborted) return this.#putBack(run, { due: now, isUncounted: true, as: 'handed back' });
    if (!knows(job.actor)) {
      return this.#putBack(run, { due: now + jobLimits.absent, isUncounted: true, as: 'handed back' });
    }
    const end: AttemptEnd =
      job.attempt > bench.kind.attempts
        ? { error: errorOf(died(), job.attempt - 1), isFinal: true }
        : await attempted(bench.kind, { job, abort, clock });
    if ('output' in end) return this.#tell(run, { output: end.output });
    const interruption = interruptionOf(abort.signal);
    if ('gaveUp' in end) {
      log.error('an effect ignores its signal', { job: job.id, kind: job.kind });
      this.#givenUp += 1;
      void end.ended.then(() => {
        this.#givenUp -= 1;
      });
      // It may still be at work: its lease is left to end by itself.
      if (interruption === 'stopping') return 'lost';
    }
    if (interruption === 'cancelled' || interruption === 'lost') return interruption;
    const error = 'gaveUp' in end ? end.gaveUp : end.error;
    if (interruption === 'stopping' && !('isFinal' in end && end.isFinal)) {
      return this.#putBack(run, { due: clock.now(), isUncounted: true, as: 'handed back' });
    }
    const isLast = job.attempt >= bench.kind.attempts || ('isFinal' in end && end.isFinal);
    if (isLast) return this.#tell(run, { error });
    log.debug('an attempt failed; the job is tried again', { job: job.id, attempt: job.attempt, ...error });
    return this.#putBack(run, { due: clock.now() + backoffOf(bench.kind, job), as: 'retried' });
  }

  /** Tells the machine. While that cannot be written, the job stays leased, so that the work is not done again. */
  async #tell(run: Run, result: JobResult): Promise<JobEnd> {
    const { job, bench, abort } = run;
    const { conclude, jobs, owner, log, clock } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const interruption = interruptionOf(abort.signal);
      if (interruption === 'cancelled' || interruption === 'lost') return interruption;
      try {
        const outcome = await conclude(job, { owner, result });
        if (outcome === 'lost') return 'lost';
        const isGone = outcome === 'stale' && (await jobs.finish(owner, job.id)) === 'lost';
        if (!isGone) bench.unfinished -= 1;
        if (outcome === 'stale') return 'stale';
        return 'error' in result ? 'failed' : 'done';
      } catch (error) {
        log.error('the result of a job could not be written', { job: job.id, attempt, error });
        if (attempt >= jobLimits.resultRetry.most || this.#state !== 'working') break;
        await this.#wait(jobLimits.resultRetry.wait, abort.signal);
      }
    }
    return this.#putBack(run, { due: clock.now() + jobLimits.absent, as: 'retried' });
  }

  async #putBack({ job }: Run, options: { due: number; isUncounted?: boolean; as: JobEnd }): Promise<JobEnd> {
    const { as, ...release } = options;
    const { jobs, owner } = this.#options;
    const outcome = await jobs.release(owner, { id: job.id, ...release });
    if (outcome === 'lost') return 'lost';
    this.#wakeAt(release.due);
    return as;
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const cancel = clock.at(clock.now() + ms, resolve);
      const stop = () => {
        cancel();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  #interrupt(id: string, why: Interruption): void {
    const message = interruptions[why];
    this.#runs.get(id)?.abort.abort(new Fault(`job.${why}`, { status: 503, message }));
  }

  /** One alarm, for the earliest. */
  #wakeAt(at: number): void {
    if (this.#state !== 'working' || (this.#alarm && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#options.clock.at(at, () => {
      this.#alarm = undefined;
      this.#wake();
    });
    this.#alarm = { at, cancel };
  }

  #onIdle = () => {};
  #idle(): void {
    if (this.#runs.size === 0) this.#onIdle();
  }

  #bench(kind: string): Bench {
    const bench = this.#benches.get(kind);
    if (!bench) throw new Error(`no enabled plugin declares the effect ${kind}`);
    return bench;
  }
}

export interface WorkersOptions {
  readonly jobs: Jobs;
  /** `<node>/<incarnation>` */
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: readonly JobKind[];
  /** Whether the actor's type is of an enabled plugin. */
  knows(actor: string): boolean;
  conclude(job: Job, options: { owner: string; result: JobResult }): Promise<'ok' | 'stale' | 'lost'>;
  readonly counts?: JobCounts;
}

const interruptions: Record<Interruption, string> = {
  cancelled: 'nobody wants the result any more',
  lost: 'the lease of this job has ended',
  stopping: 'the server is stopping',
};

function interruptionOf({ reason }: AbortSignal): Interruption | undefined {
  const why = reason instanceof Fault ? reason.code.slice('job.'.length) : '';
  return Object.hasOwn(interruptions, why) ? (why as Interruption) : undefined;
}

function kindOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

function died(): Fault {
  const message = 'whoever ran the last attempt died, or lost touch with the queue';
  return new Fault('job.worker_died', { status: 500, message });
}
