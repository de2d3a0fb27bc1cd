import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, isRefusal } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { effect } from '../../core/plugin/plugin.ts';
import type { Run, RunResult, TaskContext } from '../../machines/task.ts';
import type { config } from './config.ts';
import { type TaskResult, type TaskWork, taskKinds } from './contract.ts';
import type { TasksKit } from './kit.ts';
import { taskLimits } from './limits.ts';
import { redactor } from './redact.ts';
import { task } from './task.ts';
import { workProgress } from './work-progress.ts';

const { attempts, firstPause, longestPause, progressPause, message: longest } = taskLimits;

/**
 * Works at a task, by the plugin that knows its type. What it needs is read here: the job itself knows which task it is, and no
 * more.
 */
export const runEffect = effect<Run, RunResult, typeof config>({
  concurrency: ({ running }) => running,
  timeout: ({ timeLimit }) => milliseconds(timeLimit),
  attempts: attempts.value,
  backoff: { first: firstPause.value, most: longestPause.value },
  async run({ input: { id, round }, attempt, signal }, kit) {
    const found = await kit.actors.read(task, id);
    if (found?.context.retries !== round) return unwanted;
    const own = begun(found.context, { signal, kit });
    if (!(await own.begin())) return unwanted;
    const redact = redactor(found.context.secret);
    const shown = (text: string) => redact(text).slice(0, longest.value);
    const progress = workProgress({ clock: kit.clock, pause: progressPause.value, store: own.store });
    const work = workOf(found.context, { attempt, signal: own.signal, progress: progress.say });
    try {
      const result = await kindOf(work, found.context, kit);
      return result.outcome === 'failed' ? { ...result, message: shown(result.message) } : result;
    } catch (error) {
      // First: what is stored behind the end of a try would say that it goes on.
      progress.end();
      if (error instanceof Fault && !error.retry) return { outcome: 'failed', message: shown(error.message) };
      const trouble = troubleOf(error, shown);
      // Of work that the server itself broke off the error says nothing.
      if (attempt < attempts.value) await own.interrupted(signal.aborted ? undefined : trouble.message);
      if (signal.aborted) throw signal.reason;
      const { type } = found.context.task;
      const fields = { task: id, type, attempt, reason: redact(textOf(error)) };
      kit.log.warn('a try at a task met trouble', fields);
      throw trouble;
    } finally {
      progress.end();
      own.end();
    }
  },
});

/** The result of work that nobody waits for: it goes nowhere. */
const unwanted: RunResult = { outcome: 'failed', message: 'Nobody wants it any more.' };

/** One try, as the task knows it. Its signal is that of the job, and is also aborted as soon as the task says that it has ended. */
function begun({ task: { id } }: TaskContext, { signal, kit }: { signal: AbortSignal; kit: TasksKit }) {
  const { actors, deployment, log } = kit;
  const workId = uuid();
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const isTaken = async (asked: Promise<unknown>): Promise<boolean> => {
    try {
      await asked;
      return true;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  };
  const begin = () => {
    const { incarnation } = deployment.node;
    return isTaken(actors.ask(task, id, { type: 'begin', work: { id: workId, incarnation } }));
  };
  return {
    signal: ending.signal,
    begin,
    async store(fraction: number): Promise<void> {
      const ask = () => isTaken(actors.ask(task, id, { type: 'progress', workId, progress: fraction }));
      if (await ask()) return;
      // This process was taken for dead, perhaps, or the task has ended. Should another be at it, the job's lease has ended.
      if (await begin()) await ask();
      else ending.abort(ended);
    },
    /** `message`: why, for whoever asked for the task. */
    async interrupted(message: string | undefined): Promise<void> {
      const told = { type: 'interrupted' as const, workId, ...(message !== undefined && { message }) };
      await isTaken(actors.ask(task, id, told)).catch((error: unknown) => {
        // Whoever goes on with it says so; and when this process ends, all that it worked at is told.
        log.debug('a task could not be told that a try is over', { task: id, error });
      });
    },
    end: () => signal.removeEventListener('abort', onAbort),
  };
}

const ended = new Fault('task.not_possible', { status: 409, message: 'The task has ended meanwhile.' });

function workOf(
  { task: { id, account, name, inputAssetId, outputAssetId, params }, secret }: TaskContext,
  more: Pick<TaskWork, 'attempt' | 'signal' | 'progress'>,
): TaskWork {
  return { id, account, name, inputAssetId, outputAssetId, params, secret, phase: 'running', ...more };
}

async function kindOf(work: TaskWork, { task: { type } }: TaskContext, kit: TasksKit): Promise<TaskResult> {
  const kind = kit.offered(taskKinds).find((one) => one.type === type);
  if (kind?.run) return await kind.run(work);
  const message = `Nothing in this deployment works at tasks of the type ${type} at present.`;
  throw new Fault('task.not_possible', { status: 409, message });
}

/** As the job and, after the last try, the task are told. Only a Fault says what outsiders may read. */
function troubleOf(error: unknown, shown: (text: string) => string): Fault {
  const isTold = error instanceof Fault;
  const message = isTold ? shown(error.message) : 'The server met trouble of its own.';
  const when = isTold && error.retryAfter !== undefined ? { retryAfter: error.retryAfter } : {};
  return new Fault(isTold ? error.code : 'internal', { status: 503, message, ...when });
}

function textOf(error: unknown): string {
  if (error instanceof Fault) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
