import { assign, emit, setup } from 'xstate';
import { job } from './job.ts';

/** Waits between attempts to finish a recording, ms: doubling from the one to the other. */
export const finishPauses = { first: 5_000, longest: 600_000 } as const;

/**
 * The recording of one session (one broadcast with its reconnects), from the first picture of the session until the asset
 * of the recording is deleted. `telling`: a job marks the asset as failed.
 *
 *   recording ──idle──▶ waiting ──over──▶ finishing ──▶ ready ──asset deleted──▶ gone
 *       ▲                  │              │  ▲    │
 *       └────── started ───┘         trouble │    └──nothing there, or given up──▶ failed ──▶ gone
 *                                         ▼  │
 *                                       retrying
 *
 * A failed attempt to finish is repeated, for the last time when `giveUp` has passed since the end of the session. The last
 * attempt uses the parts that are reachable; without any, the recording has failed. So it always ends.
 */
export const recordingMachine = setup({
  types: {
    context: {} as RecordingContext,
    events: {} as RecordingEvent,
    emitted: {} as RecordingEmitted,
    input: {} as RecordingSettings,
  },
  actors: {
    'recording.finish': job<Finish, Finished>(),
    'recording.clear': job<Recording, null>(),
    'recording.abandon': job<Abandon, null>(),
  },
  delays: {
    pause: ({ context, event }) =>
      Math.max(0, Math.min(pauseAfter(context.tries), giveUpAt(context) - event.at)),
    longestPause: finishPauses.longest,
  },
  guards: {
    isLastTry: ({ context }) => context.isLast,
    isLastTryOfDeleted: ({ context }) => context.isLast && context.isDeleted,
    isGone: ({ context, event }) => context.isDeleted || outcomeOf(event) === 'gone',
    isReady: ({ event }) => outcomeOf(event) === 'ready',
  },
  actions: {
    takeStream: assign(({ event }) => ('stream' in event && event.stream ? { stream: event.stream } : {})),
    noteEnd: assign(({ event }) => ({ endsAt: event.type === 'idle' ? (event.endsAt ?? 0) : 0 })),
    noteOver: assign(({ event }) => ({ overAt: event.at })),
    noteDeleted: assign({ isDeleted: true }),
    countTry: assign(({ context, event }) => ({
      tries: context.tries + 1,
      isLast: event.at >= giveUpAt(context),
    })),
    // Only events need it, and there are no more.
    dropStream: assign({ stream: {} }),
    emitStarted: emit(({ context }) => ({ type: 'recording.started', stream: context.stream })),
    emitWaiting: emit(({ context }) => ({ type: 'recording.waiting', stream: context.stream })),
  },
}).createMachine({
  id: 'recording',
  context: ({ input }) => ({
    recording: input?.recording,
    stream: input?.stream,
    overAt: 0,
    tries: 0,
    isLast: false,
    isDeleted: false,
    problem: '',
    missing: [],
    gaps: 0,
  }),
  entry: 'emitStarted',
  initial: 'recording',
  states: {
    recording: {
      on: {
        started: { actions: 'takeStream' },
        idle: { target: 'waiting', actions: ['takeStream', 'noteEnd', 'emitWaiting'] },
        // The idle event was lost: its followers get `waiting` all the same.
        over: { target: 'finishing', actions: ['takeStream', 'emitWaiting', 'noteOver'] },
      },
    },
    waiting: {
      on: {
        started: { target: 'recording', actions: 'takeStream' },
        over: { target: 'finishing', actions: ['takeStream', 'noteOver'] },
      },
    },
    finishing: {
      invoke: {
        id: 'finish',
        src: 'recording.finish',
        input: ({ context: { recording, isLast } }) => ({ ...recording, isLast }),
        onDone: [
          { guard: 'isGone', target: 'gone' },
          {
            guard: 'isReady',
            target: 'ready',
            actions: [
              assign(({ event: { output } }) =>
                output.outcome === 'ready' ? { missing: output.missing, gaps: output.gaps } : {},
              ),
              emit(({ context, event: { output } }) => ({
                type: 'recording.ready' as const,
                stream: (output.outcome === 'ready' && output.stream) || finishedStream(context),
                payload: output.outcome === 'ready' ? output.payload : {},
              })),
              'dropStream',
            ],
          },
          {
            target: 'failed',
            actions: [
              assign(({ event: { output } }) => ({
                problem: output.outcome === 'failed' ? output.message : '',
              })),
              'dropStream',
            ],
          },
        ],
        onError: [
          { guard: 'isLastTryOfDeleted', target: 'gone' },
          {
            guard: 'isLastTry',
            target: 'failed',
            actions: [assign(({ event }) => ({ problem: messageOf(event.error) })), 'dropStream'],
          },
          { target: 'retrying', actions: assign(({ event }) => ({ problem: messageOf(event.error) })) },
        ],
      },
      on: { assetDeleted: { actions: 'noteDeleted' } },
    },
    retrying: {
      after: { pause: { target: 'finishing', actions: 'countTry' } },
      // The files on the nodes are still to be removed.
      on: { assetDeleted: { actions: 'noteDeleted' } },
    },
    ready: {
      initial: 'clearing',
      states: {
        clearing: {
          invoke: {
            id: 'clear',
            src: 'recording.clear',
            input: ({ context: { recording } }) => recording,
            onDone: 'cleared',
            // The rest on a node is swept there.
            onError: 'cleared',
          },
        },
        cleared: {},
      },
      on: { assetDeleted: 'gone' },
    },
    failed: {
      initial: 'telling',
      states: {
        telling: {
          invoke: {
            id: 'abandon',
            src: 'recording.abandon',
            input: ({ context: { recording, problem } }) => ({ ...recording, message: problem }),
            onDone: 'told',
            onError: 'untold',
          },
        },
        untold: { after: { longestPause: 'telling' } },
        told: {},
      },
      on: { assetDeleted: 'gone' },
    },
    gone: { type: 'final' },
  },
});

/** Subject of a recording; never changes. */
export interface Recording {
  readonly account: string;
  readonly streamId: string;
  /** Also the id of the recording. */
  readonly sessionId: string;
  readonly assetId: string;
  /** Of its asset. */
  readonly name: string;
  readonly createdByTokenName: string;
  /** When the session began, epoch ms. */
  readonly createdAt: number;
  /** How long after the end of the session finishing is attempted, ms. */
  readonly giveUp: number;
}

export interface RecordingSettings {
  readonly recording: Recording;
  readonly stream: Shown;
}

export interface RecordingContext {
  readonly recording: Recording;
  /** The parent stream as events show it, at the last reported change of the session. */
  readonly stream: Shown;
  /** Until when the session may come back, epoch ms, since it went off the air; 0 when not known. Older states have none. */
  readonly endsAt?: number;
  /** When the session ended, epoch ms; 0 before that. */
  readonly overAt: number;
  /** Failed attempts to finish. */
  readonly tries: number;
  /** This attempt is the last one. */
  readonly isLast: boolean;
  /** The asset was deleted while the recording was being finished. */
  readonly isDeleted: boolean;
  /** Error of the last attempt, or why the recording failed; empty when none. */
  readonly problem: string;
  /** Ids of nodes whose part was not reachable. */
  readonly missing: readonly string[];
  /** How often a node could not record. */
  readonly gaps: number;
}

type RecordingEvent = { readonly at: number } & (
  | { readonly type: 'started'; readonly stream: Shown }
  | { readonly type: 'idle'; readonly stream: Shown; readonly endsAt?: number }
  | { readonly type: 'over'; readonly stream?: Shown }
  | { readonly type: 'assetDeleted' }
);

export type RecordingEmitted =
  | { readonly type: 'recording.started' | 'recording.waiting'; readonly stream: Shown }
  | { readonly type: 'recording.ready'; readonly stream: Shown; readonly payload: Shown };

/** Input of `recording.finish`. */
export type Finish = Recording & {
  /** Parts that are not reachable now are missing for good. */
  readonly isLast: boolean;
};

/**
 * `ready`: the asset has its file. `failed`: there is no recording, and will be none. `gone`: the asset was deleted. A
 * temporary problem is an error.
 */
export type Finished =
  | {
      readonly outcome: 'ready';
      readonly missing: readonly string[];
      readonly gaps: number;
      /** The parent stream as it is then; null when it was deleted. */
      readonly stream: Shown | null;
      /** Of the event. */
      readonly payload: Shown;
    }
  | { readonly outcome: 'failed'; readonly message: string }
  | { readonly outcome: 'gone' };

/** Input of `recording.abandon`. */
export type Abandon = Recording & { readonly message: string };

type Shown = Readonly<Record<string, unknown>>;

function pauseAfter(tries: number): number {
  return Math.min(finishPauses.longest, finishPauses.first * 2 ** Math.min(tries, 30));
}

function giveUpAt({ recording, overAt }: RecordingContext): number {
  return overAt + recording.giveUp;
}

/** A deleted stream is shown as it was last. */
function finishedStream({ stream }: RecordingContext): Shown {
  return stream.record === true ? { ...stream, recordingStatus: 'ready' } : stream;
}

function outcomeOf(event: object): Finished['outcome'] | undefined {
  return (event as { readonly output?: Finished }).output?.outcome;
}

function messageOf(error: unknown): string {
  return (error as { readonly message?: string }).message ?? '';
}
