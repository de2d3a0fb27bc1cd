import { assign, emit, setup } from 'xstate';

/** Tries at one task that may go on side by side; told in plugins/tasks/limits.ts too. */
const mostWorks = 4;

/**
 * Something that takes its time, and whoever asked for it wants to know how far it is.
 *
 *   pending ──begin──▶ running ──▶ completed
 *                      │  ▲ │
 *          interrupted ▼  │ └──▶ failed ──retry──▶ pending
 *                    waiting      ▲
 *        pending, waiting ──late──┘        any of these ──cancel──▶ cancelled ──retry──▶ pending
 *
 * It is worked at by `works`: several may try the same side by side, and one is enough. A task fails when one of them
 * finds that it cannot be done and no other goes on. It is completed by its result, whatever it was before: what is there is
 * there. What has ended is forgotten after a while.
 */
export const taskMachine = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    emitted: {} as TaskEmitted,
    input: {} as TaskSettings,
  },
  delays: {
    late: ({ context, event }) => Math.max(0, context.deadline - (event?.at ?? context.task.createdAt)),
    kept: ({ context }) => context.task.keptFor,
  },
  guards: {
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
      event.type === 'complete'
        ? { output: event.output, progress: 1, errorMessage: null, works: [], updatedAt: event.at }
        : {},
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
    task: input,
    deadline: input ? input.deadline : 0,
    updatedAt: input ? input.createdAt : 0,
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
        begin: { target: 'running', actions: ['begin', 'emitRunning'] },
        cancel: { target: 'cancelled', actions: ['noteEnd', 'emitCancelled'] },
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
        // Whoever has what it takes need not ask for a retry first.
        begin: { target: 'running', actions: ['begin', 'emitRunning'] },
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

function has({ works }: TaskContext, id: string): boolean {
  return works.some((work) => work.id === id);
}

function left({ works }: TaskContext, incarnation: string): readonly Work[] {
  return works.filter((work) => work.incarnation !== incarnation);
}

/** What whoever makes a task decides. */
export interface TaskSettings {
  readonly id: string;
  readonly account: string;
  readonly type: TaskType;
  /** By which lists are sorted: of what it is about. */
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
  /** What is said of it when it has not. */
  readonly lateMessage: string;
  /** How long it is remembered when it has ended, ms. */
  readonly keptFor: number;
}

export type TaskType = 'import' | 'upload' | 'export' | 'recording';

/** One try at it, by one process. */
export interface Work {
  readonly id: string;
  readonly incarnation: string;
}

export interface TaskContext {
  readonly task: TaskSettings;
  /** As in the settings, later after a retry. */
  readonly deadline: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly works: readonly Work[];
  /** 0..1; goes back by a retry alone. */
  readonly progress: number;
  readonly errorMessage: string | null;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly retries: number;
}

type TaskEvent = { readonly at: number } & (
  | { readonly type: 'begin'; readonly work: Work }
  | { readonly type: 'progress'; readonly workId: string; readonly progress: number }
  /** The try is over without a result. */
  | { readonly type: 'interrupted'; readonly workId: string }
  /** It cannot be done. */
  | { readonly type: 'fail'; readonly workId: string; readonly message: string }
  | { readonly type: 'node.lost'; readonly incarnation: string }
  | { readonly type: 'complete'; readonly output: Readonly<Record<string, unknown>> }
  | { readonly type: 'cancel' }
  | { readonly type: 'retry'; readonly deadline: number }
);

export interface TaskEmitted {
  readonly type: 'task.spawned' | 'task.updated' | 'task.completed' | 'task.failed';
  /** In which it is now. */
  readonly phase: Phase;
}

export type Phase = 'pending' | 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
