import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, isAccepted } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { notNow } from '../../core/plugin/not-now.ts';
import { effect } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Run, RunResult, TaskContext } from '../../machines/task.ts';
import type { config, TasksKit } from './config.ts';
import { type TaskResult, type TaskWork, taskKinds } from './contract.ts';
import { places } from './places.ts';
import { redactor } from './redact.ts';
import { openedSecret } from './secret.ts';
import { task } from './task.ts';

/** Of the server at a task that meets errors; then it has failed, and a client may retry it. */
export const attempts = 8;
/** Between two writes of the progress, ms. */
const progressPause = 2000;
/** Characters of the reason why a task failed. */
const maxMessage = 500;
/** Until a task that has no place is looked at again, s. */
const placePause = 5;

/** Runs a task by the plugin that knows its type. The job only names the task; what the work needs is read here. */
export const runEffect = effect<Run, RunResult, typeof config>({
  concurrency: ({ running }) => running,
  timeout: ({ timeLimit }) => milliseconds(timeLimit),
  attempts,
  backoff: { first: 2000, most: 120_000 },
  async run({ input: { id, round }, attempt, signal }, kit) {
    const found = await kit.actors.read(task, id);
    if (found?.context.retries !== round) return unwanted;
    const leave = kit.use(places).take(found.context.task.account);
    if (!leave) throw notNow(placePause);
    try {
      return await workedAt(found.context, { attempt, signal, kit });
    } finally {
      leave();
    }
  },
});

async function workedAt(
  context: TaskContext,
  { attempt, signal, kit }: { attempt: number; signal: AbortSignal; kit: TasksKit },
): Promise<RunResult> {
  const { id, type } = context.task;
  const own = workOn(context, { signal, kit });
  if (!(await own.begin())) return unwanted;
  const secret = openedSecret(context, kit);
  if (secret === undefined) return unopened;
  const redact = redactor(secret);
  const shown = (text: string) => redact(text).slice(0, maxMessage);
  const progress = workProgress({ clock: kit.clock, pause: progressPause, store: own.store });
  try {
    const more = { attempt, signal: own.signal, progress: progress.say };
    const result = await runKind({ ...context, secret }, { more, kit });
    return result.outcome === 'failed' ? { ...result, message: shown(result.message) } : result;
  } catch (error) {
    // First: progress that is stored after the end of an attempt would say that it goes on.
    progress.end();
    if (error instanceof Fault && !error.retry) return { outcome: 'failed', message: shown(error.message) };
    const trouble = troubleOf(error, shown);
    // When the server itself broke off the work, the error says nothing.
    if (attempt < attempts) await own.interrupted(signal.aborted ? undefined : trouble.message);
    if (signal.aborted) throw signal.reason;
    kit.log.warn('an attempt at a task failed', { task: id, type, attempt, reason: redact(textOf(error)) });
    throw trouble;
  } finally {
    progress.end();
  }
}

const unopened: RunResult = {
  outcome: 'failed',
  message: 'The URL or the credentials of this task cannot be decrypted. Create it again.',
};

/** The result of work that is no longer wanted: nobody reads it. */
const unwanted: RunResult = { outcome: 'failed', message: 'The task no longer needs this work.' };

/** One attempt, as the task knows it. Its signal is also aborted when the task has ended. */
function workOn({ task: { id } }: TaskContext, { signal, kit }: { signal: AbortSignal; kit: TasksKit }) {
  const { actors, deployment, log } = kit;
  const workId = uuid();
  const ending = new AbortController();
  const begin = () => {
    const { incarnation } = deployment.node;
    return isAccepted(actors.ask(task, id, { type: 'begin', work: { id: workId, incarnation } }));
  };
  return {
    signal: AbortSignal.any([signal, ending.signal]),
    begin,
    async store(fraction: number): Promise<void> {
      const ask = () => isAccepted(actors.ask(task, id, { type: 'progress', workId, progress: fraction }));
      if (await ask()) return;
      // The process was taken for dead, or the task has ended. If another works on it, the lease of this job has ended.
      if (await begin()) await ask();
      else ending.abort(ended);
    },
    /** `message`: why, for the owner of the task. */
    async interrupted(message: string | undefined): Promise<void> {
      const command = { type: 'interrupted' as const, workId, ...(message !== undefined && { message }) };
      await isAccepted(actors.ask(task, id, command)).catch((error: unknown) => {
        // The next attempt replaces this one; after the end of this process `lostNode` does.
        log.debug('the end of an attempt at a task could not be stored', { task: id, error });
      });
    },
  };
}

const ended = new Fault('task.not_possible', { status: 409, message: 'The task has ended.' });

async function runKind(
  { task: { id, type, account, name, inputAssetId, outputAssetId, params }, secret }: TaskContext,
  { more, kit }: { more: Pick<TaskWork, 'attempt' | 'signal' | 'progress'>; kit: TasksKit },
): Promise<TaskResult> {
  const kind = kit.offered(taskKinds).find((one) => one.type === type);
  const work = { id, account, name, inputAssetId, outputAssetId, params, secret, phase: 'running' as const };
  if (kind?.run) return await kind.run({ ...work, ...more });
  if (!kind && kit.lacks(taskKinds)) {
    const waits = `What runs tasks of the type ${type} could not be started. The task waits for the next start of the server.`;
    throw new Fault('plugin.failed', { status: 503, message: waits });
  }
  const message = `No plugin of this deployment runs tasks of the type ${type}. Enable the plugin that does.`;
  throw new Fault('task.not_possible', { status: 409, message });
}

/** The error for the job and, after the last attempt, for the task. Only the message of a Fault is for outsiders. */
function troubleOf(error: unknown, shown: (text: string) => string): Fault {
  if (!(error instanceof Fault)) return new Fault('internal', { status: 503, message: internalError });
  const { code, message, retryAfter } = error;
  const when = retryAfter === undefined ? {} : { retryAfter };
  return new Fault(code, { status: 503, message: shown(message), ...when });
}

const internalError = 'The server had an internal error.';

function textOf(error: unknown): string {
  if (error instanceof Fault) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Stores the last reported progress, at most once in `pause` ms. What cannot be stored now is stored the next time. */
function workProgress(options: ProgressOptions): WorkProgress {
  const { clock, pause, store } = options;
  let said = 0;
  let stored = 0;
  let storedAt = clock.now();
  let isEnded = false;
  let cancel: (() => void) | undefined;
  const write = async () => {
    const fraction = said;
    storedAt = clock.now();
    try {
      await store(fraction);
      stored = fraction;
    } catch {
      // Planned again below.
    }
    cancel = undefined;
    plan();
  };
  const plan = () => {
    if (cancel || isEnded || said <= stored) return;
    cancel = clock.at(Math.max(clock.now(), storedAt + pause), () => void write());
  };
  return {
    say(fraction) {
      if (!(fraction > said)) return;
      said = Math.min(1, fraction);
      plan();
    },
    end() {
      isEnded = true;
      cancel?.();
    },
  };
}

export interface WorkProgress {
  /** 0..1. NaN, and less than before, is ignored. */
  say(fraction: number): void;
  /** Stops storing. */
  end(): void;
}

interface ProgressOptions {
  readonly clock: Clock;
  /** ms */
  readonly pause: number;
  /** May reject. */
  store(fraction: number): Promise<void>;
}
