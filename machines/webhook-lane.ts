import { assign, setup } from 'xstate';
import { job } from './job.ts';
import type { Attempt, AttemptOutcome } from './webhook-delivery.ts';

/** What a lane holds and how long it waits, ms. */
export const laneLimits = {
  /** Events in a lane, 8 bytes each in every step; further ones are read from the event log when their turn comes. */
  waiting: 1000,
  /** A lane without work ends after this. */
  idle: 60_000,
  /** Wait after an attempt that the server itself could not make. */
  trouble: 10_000,
} as const;

/**
 * Sends the events of one stream to one webhook, in order and one at a time. If an attempt fails, the lane starts an actor of
 * the type webhook-delivery, which repeats the attempt. So a lane never waits for a retry. `isDeferred`: the attempt was not
 * made, because the endpoint takes no request now. `isBehind`: more events wait in the event log than the lane holds.
 */
export const webhookLaneMachine = setup({
  types: {
    context: {} as LaneContext,
    events: {} as LaneEvent,
    input: {} as LaneSettings,
  },
  actors: {
    'webhook.attempt': job<Attempt, AttemptOutcome>(),
    'webhook.refill': job<Refill, Refilled>(),
  },
  delays: {
    hold: ({ context, event }) => Math.max(0, context.heldUntil - event.at),
    idle: laneLimits.idle,
  },
  guards: {
    hasWaiting: ({ context }) => context.waiting.length > 0,
    isBehind: ({ context }) => context.isBehind,
  },
  actions: {
    take: assign(({ context, event }) => (event.type === 'enqueue' ? taken(context, event.position) : {})),
    wake: assign({ entry: null }),
    hold: assign(({ event }) => ({ entry: null, heldUntil: event.at + laneLimits.trouble, heldBy: null })),
    beginRefill: assign({ hasMissed: false, entry: null }),
    noteWake: assign({ isWoken: true, entry: null }),
  },
}).createMachine({
  id: 'webhook-lane',
  context: ({ input }) => ({
    lane: input,
    waiting: input ? [input.position] : [],
    last: input ? input.position : 0,
    isBehind: false,
    hasMissed: false,
    heldUntil: 0,
    heldBy: null,
    isWoken: false,
    entry: null,
    isNew: true,
  }),
  initial: 'next',
  on: { abandon: { target: '.ended', actions: 'wake' } },
  states: {
    next: {
      always: [
        { guard: 'hasWaiting', target: 'attempting' },
        { guard: 'isBehind', target: 'refilling', actions: 'beginRefill' },
        { target: 'idle' },
      ],
    },
    attempting: {
      invoke: {
        id: 'attempt',
        src: 'webhook.attempt',
        input: ({ context: { lane, waiting } }) => ({
          account: lane.account,
          webhookId: lane.webhookId,
          streamId: lane.streamId,
          position: waiting[0] as number,
          attempt: 1,
          wakes: 0,
          bodyOf: null,
        }),
        onDone: [
          { guard: isGone, target: 'ended', actions: 'wake' },
          {
            guard: isDeferredAndWoken,
            target: 'next',
            actions: assign({ isNew: false, isWoken: false, entry: null }),
          },
          {
            guard: isDeferred,
            target: 'holding',
            actions: assign(({ event: { output } }) => ({
              isNew: false,
              entry: null,
              heldUntil: output.outcome === 'deferred' ? output.until : 0,
              heldBy: output.outcome === 'deferred' ? output.by : null,
            })),
          },
          {
            target: 'next',
            actions: assign(({ context, event: { output } }) => ({
              isNew: false,
              isWoken: false,
              waiting: context.waiting.slice(1),
              entry: 'entry' in output ? output.entry : null,
            })),
          },
        ],
        onError: { target: 'holding', actions: 'hold' },
      },
      // A slot may get free before the lane knows that there was none.
      on: { enqueue: { actions: 'take' }, resume: { actions: 'noteWake' } },
    },
    /** The endpoint takes no request now: its breaker is open, or its slots are taken. The order is kept. */
    holding: {
      after: { hold: { target: 'next', actions: 'wake' } },
      on: { enqueue: { actions: 'take' }, resume: { target: 'next', actions: 'wake' } },
    },
    refilling: {
      invoke: {
        id: 'refill',
        src: 'webhook.refill',
        input: ({ context: { lane, last } }) => ({
          account: lane.account,
          webhookId: lane.webhookId,
          streamId: lane.streamId,
          after: last,
          limit: laneLimits.waiting,
        }),
        onDone: {
          target: 'next',
          actions: assign(({ context, event: { output } }) => ({
            waiting: output.positions,
            last: Math.max(context.last, output.last),
            isBehind: output.hasMore || context.hasMissed,
            entry: null,
          })),
        },
        onError: { target: 'holding', actions: 'hold' },
      },
      on: { enqueue: { actions: 'take' } },
    },
    idle: {
      after: { idle: { target: 'ended', actions: 'wake' } },
      on: { enqueue: { target: 'next', actions: 'take' } },
    },
    ended: { type: 'final' },
  },
});

/** The arguments of a guard of a finished attempt. */
interface Attempted {
  readonly context: LaneContext;
  readonly event: { readonly output: AttemptOutcome };
}

function isGone({ event }: Attempted): boolean {
  return event.output.outcome === 'gone';
}

function isDeferred({ event }: Attempted): boolean {
  return event.output.outcome === 'deferred';
}

function isDeferredAndWoken(attempted: Attempted): boolean {
  return isDeferred(attempted) && attempted.context.isWoken;
}

export interface LaneSettings {
  /** Of webhook and stream: the same whichever actor the lane is. */
  readonly key: string;
  /** Id of this actor. */
  readonly actor: string;
  readonly account: string;
  readonly webhookId: string;
  /** Empty for events of no stream. */
  readonly streamId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Of its first event in the log. */
  readonly position: number;
}

export interface LaneContext {
  readonly lane: LaneSettings;
  /** Positions in the log, at most `laneLimits.waiting`; the first is attempted now. */
  readonly waiting: readonly number[];
  /** Position in the log up to which the lane has taken its events. */
  readonly last: number;
  /** The log holds further events of this lane. */
  readonly isBehind: boolean;
  /** Some of them came while the log was being read. */
  readonly hasMissed: boolean;
  readonly heldUntil: number;
  /** Incarnation of the node that wakes the lane when the endpoint takes requests again; null: none does. */
  readonly heldBy: string | null;
  /** A slot got free while the attempt runs that will report that it found none. */
  readonly isWoken: boolean;
  /** Log entry of the step that led here. */
  readonly entry: Entry | null;
  /** Only the first step was made. */
  readonly isNew: boolean;
}

type LaneEvent = { readonly at: number } & (
  | { readonly type: 'enqueue'; readonly position: number }
  | { readonly type: 'resume' }
  | { readonly type: 'abandon' }
);

/** Input of `webhook.refill`: reads the lane's next events from the log. */
export interface Refill {
  readonly account: string;
  readonly webhookId: string;
  readonly streamId: string;
  /** Position in the log. */
  readonly after: number;
  readonly limit: number;
}

export interface Refilled {
  readonly positions: readonly number[];
  /** Position up to which the log was read. */
  readonly last: number;
  readonly hasMore: boolean;
}

type Entry = Readonly<Record<string, unknown>>;

/** An event that a refill has found already changes nothing. */
function taken(context: LaneContext, position: number): Partial<LaneContext> {
  const rest = { isNew: false, entry: null };
  if (position <= context.last) return rest;
  if (context.isBehind) return { ...rest, hasMissed: true };
  if (context.waiting.length >= laneLimits.waiting) return { ...rest, isBehind: true };
  return { ...rest, waiting: [...context.waiting, position], last: position };
}
