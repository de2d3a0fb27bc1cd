import { assign, emit, setup } from 'xstate';
import { job } from './job.ts';

/** Concurrent attempts at one task, such as uploads to one URL. Beyond: 409 `upload.busy`. */
export const mostWorks = 4;

/**
 * A task: work that takes a long time, and whose progress the account can read. A client does the work of some tasks (an upload);
 * a task that the server works on is `served`. `isOurs`: the report is from a running attempt at the task. `isLastOurs`: the
 * report is from the only attempt that runs. `isLetIn`: the lane admits the task.
 *
 *   pending ──begin──▶ running ──▶ completed
 *                      │  ▲ │
 *          interrupted ▼  │ └──▶ failed ──retry──▶ pending
 *                    waiting      ▲
 *        pending, waiting ──late──┘        any of these ──cancel──▶ cancelled ──retry──▶ pending
 *
 * `works` are the attempts at it: several may run side by side, and one success is enough. A task fails when an attempt
 * finds that it cannot be done and no other runs. A result completes it in any phase. A task that has ended is removed
 * after a while.
 *
 * The server itself works on a task that is `served`: its lane admits it, then a job does the work, on any node and as often
 * as needed. The process that has the job says so, and is then the only one.
 *
 *   pending ──admit──▶ served: waiting ──begin──▶ running ──job done──▶ completed
 *                                 ▲                  │ └──job failed──▶ failed
 *                                 └─── interrupted ──┘
 */
export const taskMachine = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    emitted: {} as TaskEmitted,
    input: {} as TaskInput,
  },
  actors: { 'task.run': job<Run, RunResult>() },
  delays: {
    late: ({ context, event }) => Math.max(0, context.deadline - (event?.at ?? context.task.createdAt)),
    kept: ({ context }) => context.task.keptFor,
  },
  guards: {
    isLetIn: ({ context, event }) =>
      context.task.isServed && event.type === 'admit' && event.round === context.retries,
    isNotServed: ({ context }) => !context.task.isServed,
    hasRoom: ({ context, event }) =>
      event.type === 'begin' && (context.works.length < mostWorks || has(context, event.work.id)),
    isOurs: ({ context, event }) => 'workId' in event && has(context, event.workId),
    isLastOurs: ({ context, event }) =>
      'workId' in event && has(context, event.workId) && context.works.length === 1,
    isLastOfLost: ({ context, event }) =>
      event.type === 'node.lost' && left(context, event.incarnation).length === 0,
  },
  actions: {
    begin: assign(({ context, event }) => {
      if (event.type !== 'begin') return {};
      const others = context.works.filter(({ id }) => id !== event.work.id);
      return { works: [...others, event.work], errorMessage: null, updatedAt: event.at };
    }),
    takeOver: assign(({ context, event }) => {
      if (event.type !== 'begin') return {};
      const { work, at } = event;
      // Another try begins with nothing; one that was taken for dead goes on.
      const isAnother = !has(context, work.id);
      return { works: [work], errorMessage: null, updatedAt: at, ...(isAnother && { progress: 0 }) };
    }),
    noteTrouble: assign(({ event }) => ({
      errorMessage: event.type === 'interrupted' ? (event.message ?? null) : null,
    })),
    forgetTrouble: assign({ errorMessage: null }),
    dropWork: assign(({ context, event }) =>
      'workId' in event ? { works: context.works.filter(({ id }) => id !== event.workId) } : {},
    ),
    dropLost: assign(({ context, event }) =>
      event.type === 'node.lost' ? { works: left(context, event.incarnation) } : {},
    ),
    noteTime: assign(({ event }) => ({ updatedAt: event.at })),
    noteProgress: assign(({ context, event }) =>
      event.type === 'progress' && event.progress > context.progress
        ? { progress: event.progress, updatedAt: event.at }
        : {},
    ),
    noteFailure: assign(({ event }) =>
      event.type === 'fail' ? { errorMessage: event.message, works: [], updatedAt: event.at } : {},
    ),
    noteLate: assign(({ context, event }) => ({
      errorMessage: context.task.lateMessage,
      updatedAt: event.at,
    })),
    noteEnd: assign(({ event }) => ({ works: [], updatedAt: event.at })),
    noteResult: assign(({ event }) =>
      event.type === 'complete' ? { ...resultOf(event.output), updatedAt: event.at } : {},
    ),
    startAnew: assign(({ context, event }) =>
      event.type === 'retry'
        ? {
            ...{ progress: 0, errorMessage: null, retries: context.retries + 1 },
            ...{ deadline: event.deadline, updatedAt: event.at },
          }
        : {},
    ),
    leaveAsIs: assign({}),
    emitSpawned: emit({ type: 'task.spawned', phase: 'pending' }),
    emitPending: emit({ type: 'task.updated', phase: 'pending' }),
    emitWaiting: emit({ type: 'task.updated', phase: 'waiting' }),
    emitRunning: emit({ type: 'task.updated', phase: 'running' }),
    emitCancelled: emit({ type: 'task.updated', phase: 'cancelled' }),
    emitCompleted: emit({ type: 'task.completed', phase: 'completed' }),
    emitFailed: emit({ type: 'task.failed', phase: 'failed' }),
  },
}).createMachine({
  id: 'task',
  context: ({ input }) => ({
    task: input?.task,
    secret: input?.secret ?? null,
    deadline: input?.task.deadline ?? 0,
    updatedAt: input?.task.createdAt ?? 0,
    works: [],
    progress: 0,
    errorMessage: null,
    output: null,
    retries: 0,
  }),
  entry: 'emitSpawned',
  initial: 'pending',
  on: { complete: { target: '.completed', actions: ['noteResult', 'emitCompleted'] } },
  states: {
    pending: {
      after: { late: { target: 'failed', actions: ['noteLate', 'emitFailed'] } },
      on: {
        begin: { guard: 'isNotServed', target: 'running', actions: ['begin', 'emitRunning'] },
        admit: { guard: 'isLetIn', target: 'served', actions: ['noteTime', 'emitWaiting'] },
        cancel: { target: 'cancelled', actions: ['noteEnd', 'emitCancelled'] },
      },
    },
    served: {
      invoke: {
        id: 'run',
        src: 'task.run',
        input: ({ context }) => ({ id: context.task.id, round: context.retries }),
        onDone: [
          {
            guard: isDone,
            target: 'completed',
            actions: [
              assign(({ event: { output } }) => (output.outcome === 'done' ? resultOf(output.output) : {})),
              'noteTime',
              'emitCompleted',
            ],
          },
          {
            target: 'failed',
            actions: [
              assign(({ event: { output } }) => ({
                errorMessage: output.outcome === 'failed' ? output.message : '',
              })),
              'noteEnd',
              'emitFailed',
            ],
          },
        ],
        onError: {
          target: 'failed',
          actions: [
            assign(({ event }) => ({ errorMessage: sentenceOf(event.error) })),
            'noteEnd',
            'emitFailed',
          ],
        },
      },
      initial: 'waiting',
      on: {
        admit: { guard: 'isLetIn', actions: 'leaveAsIs' },
        cancel: { target: 'cancelled', actions: ['forgetTrouble', 'noteEnd', 'emitCancelled'] },
      },
      states: {
        waiting: { on: { begin: { target: 'running', actions: ['takeOver', 'emitRunning'] } } },
        running: {
          on: {
            begin: { actions: 'takeOver' },
            progress: { guard: 'isOurs', actions: 'noteProgress' },
            interrupted: {
              guard: 'isOurs',
              target: 'waiting',
              actions: ['dropWork', 'noteTrouble', 'noteTime', 'emitWaiting'],
            },
            'node.lost': {
              guard: 'isLastOfLost',
              target: 'waiting',
              actions: ['dropLost', 'noteTime', 'emitWaiting'],
            },
          },
        },
      },
    },
    waiting: {
      after: { late: { target: 'failed', actions: ['noteLate', 'emitFailed'] } },
      on: {
        begin: { target: 'running', actions: ['begin', 'emitRunning'] },
        cancel: { target: 'cancelled', actions: ['noteEnd', 'emitCancelled'] },
      },
    },
    running: {
      on: {
        begin: { guard: 'hasRoom', actions: 'begin' },
        progress: { guard: 'isOurs', actions: 'noteProgress' },
        interrupted: [
          {
            guard: 'isLastOurs',
            target: 'waiting',
            actions: ['dropWork', 'noteTime', 'emitWaiting'],
          },
          { actions: 'dropWork' },
        ],
        'node.lost': [
          {
            guard: 'isLastOfLost',
            target: 'waiting',
            actions: ['dropLost', 'noteTime', 'emitWaiting'],
          },
          { actions: 'dropLost' },
        ],
        fail: [
          { guard: 'isLastOurs', target: 'failed', actions: ['noteFailure', 'emitFailed'] },
          { guard: 'isOurs', actions: 'dropWork' },
        ],
        cancel: { target: 'cancelled', actions: ['noteEnd', 'emitCancelled'] },
      },
    },
    failed: {
      after: { kept: 'forgotten' },
      on: {
        // A client that sends the file again need not ask for a retry first.
        begin: { guard: 'isNotServed', target: 'running', actions: ['begin', 'emitRunning'] },
        retry: { target: 'pending', actions: ['startAnew', 'emitPending'] },
      },
    },
    cancelled: {
      after: { kept: 'forgotten' },
      on: { retry: { target: 'pending', actions: ['startAnew', 'emitPending'] } },
    },
    completed: {
      after: { kept: 'forgotten' },
      on: { complete: { actions: 'leaveAsIs' } },
    },
    forgotten: { type: 'final' },
  },
});

function isDone({ event }: { readonly event: { readonly output: RunResult } }): boolean {
  return event.output.outcome === 'done';
}

function has({ works }: TaskContext, id: string): boolean {
  return works.some((work) => work.id === id);
}

function left({ works }: TaskContext, incarnation: string): readonly Work[] {
  return works.filter((work) => work.incarnation !== incarnation);
}

/** The result; secrets that only the work needed are dropped. */
function resultOf(output: Readonly<Record<string, unknown>>): Partial<TaskContext> {
  return { output, progress: 1, errorMessage: null, works: [], secret: null };
}

/** Why the job ended without a result, for the owner of the task. */
function sentenceOf(error: unknown): string {
  const { code, message, attempts } = error as { code: string; message: string; attempts: number };
  const why = ours[code] ?? message;
  return attempts > 1 ? `Failed after ${attempts} attempts. The last error: ${why}` : why;
}

/** The messages of the job itself are for operators. */
const ours: Readonly<Record<string, string>> = {
  'job.failed': 'The server had an internal error.',
  'job.timeout': 'The time limit was reached.',
  'job.worker_died': 'The server process that ran it ended.',
  'job.output_invalid': 'The server had an internal error.',
  'job.output_too_large': 'The result is too large.',
};

/** The phase that a state is. */
export function phaseOf(state: unknown): Phase {
  return (typeof state === 'string' ? state : (state as { served: Phase }).served) as Phase;
}

export interface TaskInput {
  readonly task: TaskSettings;
  /** What its work needs and no answer shows; null when nothing. */
  readonly secret: Readonly<Record<string, unknown>> | null;
}

/** What its maker decides. */
export interface TaskSettings {
  readonly id: string;
  readonly account: string;
  readonly type: TaskType;
  /** Name of its subject, by which lists are sorted. */
  readonly name: string;
  readonly inputAssetId: string | null;
  readonly outputAssetId: string | null;
  /** As they are shown, without secrets. */
  readonly params: Readonly<Record<string, unknown>> | null;
  readonly createdByTokenName: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Until when it must have begun, epoch ms. */
  readonly deadline: number;
  /** Error message when it has not. */
  readonly lateMessage: string;
  /** How long it is kept after its end, ms. */
  readonly keptFor: number;
  /** The server works on it; otherwise a client does. */
  readonly isServed: boolean;
}

/** Input of `task.run`. It is stored where jobs are, so it holds no secret. */
export interface Run {
  readonly id: string;
  /** How often it was asked to try again. */
  readonly round: number;
}

export type RunResult =
  | { readonly outcome: 'done'; readonly output: Readonly<Record<string, unknown>> }
  /** `message`: a whole sentence. */
  | { readonly outcome: 'failed'; readonly message: string };

export type TaskType = 'import' | 'upload' | 'export' | 'recording' | 'transcode';

/** One attempt, by one process. */
export interface Work {
  readonly id: string;
  readonly incarnation: string;
}

export interface TaskContext {
  readonly task: TaskSettings;
  /** Never in a row, an event, a log or the input of a job. Dropped with the result. */
  readonly secret: Readonly<Record<string, unknown>> | null;
  /** As in the settings, later after a retry. */
  readonly deadline: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly works: readonly Work[];
  /** 0..1; only a retry sets it back. */
  readonly progress: number;
  readonly errorMessage: string | null;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly retries: number;
}

type TaskEvent = { readonly at: number } /** Its lane admits this round. */ & (
  | { readonly type: 'admit'; readonly round: number }
  | { readonly type: 'begin'; readonly work: Work }
  | { readonly type: 'progress'; readonly workId: string; readonly progress: number }
  /** The attempt ended without a result. `message`: why, if that is for its owner. */
  | { readonly type: 'interrupted'; readonly workId: string; readonly message?: string }
  /** It cannot be done. */
  | { readonly type: 'fail'; readonly workId: string; readonly message: string }
  | { readonly type: 'node.lost'; readonly incarnation: string }
  | { readonly type: 'complete'; readonly output: Readonly<Record<string, unknown>> }
  | { readonly type: 'cancel' }
  | { readonly type: 'retry'; readonly deadline: number }
);

export interface TaskEmitted {
  readonly type: 'task.spawned' | 'task.updated' | 'task.completed' | 'task.failed';
  /** The current one. */
  readonly phase: Phase;
}

export type Phase = 'pending' | 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
