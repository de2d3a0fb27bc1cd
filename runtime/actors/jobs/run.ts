import { Fault } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import { isNotNow } from '../../../core/plugin/not-now.ts';
import type { JobResult } from '../../../core/plugin/step.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Job, JobRelease, Jobs } from '../../../core/ports/jobs.ts';
import { attempted, errorOf } from './attempt.ts';
import { backoffOf, jobRetry } from './kind.ts';
import type { JobEnd } from './metrics.ts';
import type { Slots } from './slots.ts';

/** When a job is looked at again whose actor, or something else that it needs, is of no enabled plugin that works, ms. */
const absent = 60_000;
/** Attempts to write a result. */
const resultTries = 5;

/** A job that this process holds. */
export interface Run {
  readonly job: Job;
  readonly slots: Slots;
  readonly abort: AbortController;
}

/** Why an attempt is interrupted, which is no failure of the work. */
export type Interruption = 'cancelled' | 'lost' | 'stopping';

const reasons: Record<Interruption, string> = {
  cancelled: 'the result is not needed any more',
  lost: 'the lease of this job has ended',
  stopping: 'the server is stopping',
};

export function interrupt({ abort }: Run, why: Interruption): void {
  abort.abort(new Fault(`job.${why}`, { status: 503, message: reasons[why] }));
}

/**
 * One attempt, and what follows from it: the machine gets the result, or the job goes back to the queue. Rejects when the queue
 * cannot be reached; then the lease ends by itself.
 */
export async function worked(run: Run, options: RunOptions): Promise<JobEnd> {
  const { job, slots, abort } = run;
  const { clock, log, knows } = options;
  const putBack = (release: Omit<JobRelease, 'id'>, as: JobEnd) => released(run, { ...options, release, as });
  const handBack = (due: number) => putBack({ due, isUncounted: true }, 'handed back');

  if (abort.signal.aborted) return handBack(clock.now());
  if (!knows(job.actor)) return handBack(clock.now() + absent);
  if (job.attempt > slots.kind.attempts)
    return delivered(run, { error: errorOf(died(), job.attempt - 1) }, options);

  const end = await attempted(slots.kind, { job, abort, clock });
  if ('output' in end) return delivered(run, end, options);
  const why = interruptionOf(abort.signal);
  if (end.isGivenUp) {
    log.error('an effect ignores its signal', { job: job.id, kind: job.kind });
    options.onGivenUp(end.ended);
  }
  if (why === 'cancelled' || why === 'lost') return why;
  // It may still be at work.
  if (why === 'stopping' && end.isGivenUp) return 'lost';
  if (why === 'stopping' && !end.isFinal) return handBack(clock.now());
  // What it needs is off until the next start.
  if (end.error.code === 'plugin.failed') return handBack(clock.now() + absent);
  if (isNotNow(end.error)) return handBack(clock.now() + (end.retryAfter ?? absent));
  if (end.isFinal || job.attempt >= slots.kind.attempts) return delivered(run, { error: end.error }, options);
  log.debug('an attempt failed; the job is tried again', {
    ...{ job: job.id, attempt: job.attempt, code: end.error.code, reason: end.error.message },
  });
  const wait = backoffOf(slots.kind, { ...job, retryAfter: end.retryAfter });
  return putBack({ due: clock.now() + wait }, 'retried');
}

/** Gives the result to the machine. Until that succeeds the job stays leased, so that the work is not done again. */
async function delivered(run: Run, result: JobResult, options: RunOptions): Promise<JobEnd> {
  const { job, slots, abort } = run;
  const { conclude, jobs, owner, log, clock } = options;
  for (let tries = 1; ; tries += 1) {
    const why = interruptionOf(abort.signal);
    if (why === 'cancelled' || why === 'lost') return why;
    try {
      const outcome = await conclude(job, { owner, result });
      if (outcome === 'lost') return 'lost';
      // Cancelling has removed and counted it already.
      const isGone = outcome === 'stale' && (await jobs.finish(owner, job.id)) === 'lost';
      if (!isGone) slots.unfinished -= 1;
      if (outcome === 'stale') return 'stale';
      return 'error' in result ? 'failed' : 'done';
    } catch (error) {
      log.error('the result of a job could not be written', { job: job.id, tries, error });
      if (tries >= resultTries || why === 'stopping') break;
      await pause(clock.now() + jobRetry, { clock, signal: abort.signal });
    }
  }
  return released(run, { ...options, release: { due: clock.now() + absent }, as: 'retried' });
}

async function released(
  { job }: Run,
  options: RunOptions & { release: Omit<JobRelease, 'id'>; as: JobEnd },
): Promise<JobEnd> {
  const { jobs, owner, release, as } = options;
  const outcome = await jobs.release(owner, { id: job.id, ...release });
  if (outcome === 'lost') return 'lost';
  options.onPutBack(release.due);
  return as;
}

export interface RunOptions {
  readonly jobs: Jobs;
  /** `<node>/<incarnation>` */
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the actor's type is of an enabled plugin. */
  knows(actor: string): boolean;
  /** Gives the result to the actor and finishes the job, in one commit. */
  conclude(job: Job, options: { owner: string; result: JobResult }): Promise<'ok' | 'stale' | 'lost'>;
  /** The job can be claimed again from then on. */
  onPutBack(due: number): void;
  /** An effect still runs long after it was aborted; `ended` resolves when it ends. */
  onGivenUp(ended: Promise<unknown>): void;
}

function interruptionOf({ reason }: AbortSignal): Interruption | undefined {
  const why = reason instanceof Fault ? reason.code.slice('job.'.length) : '';
  return Object.hasOwn(reasons, why) ? (why as Interruption) : undefined;
}

function died(): Fault {
  const message = 'the process of the last attempt died or lost its connection to the queue';
  return new Fault('job.worker_died', { status: 500, message });
}
