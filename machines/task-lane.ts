import { assign, enqueueActions, setup } from 'xstate';
import { job } from './job.ts';

/** What a lane holds and how long it waits. Times in ms. */
export const laneLimits = {
  /** Tasks whose order is known; those behind them are read when their turn comes. */
  waiting: 100,
  /** Between two comparisons of a lane with the stored tasks. */
  look: 60_000,
  /** Wait after a comparison that failed. */
  trouble: 10_000,
} as const;

/**
 * Decides which tasks of one account and type run now. At most `plugins.tasks.runningPerAccount` run at a time; the others
 * wait in the order of their creation. A task that may run is admitted. `looking`: the lane compares itself with the stored
 * tasks.
 *
 * The tasks have the truth, the lane only a queue. A task that is admitted and does not run says so, and its place is free
 * again; a task that is reported twice is admitted once. Regularly, and when it has no known task left, the lane compares
 * itself with the stored tasks. So reports may come late, twice or never.
 *
 * It never ends: an ended actor cannot begin again under its name, and two lanes of one account would admit too many.
 */
export const taskLaneMachine = setup({
  types: {
    context: {} as LaneContext,
    events: {} as LaneEvent,
    emitted: {} as LaneEmitted,
    input: {} as LaneSettings,
  },
  actors: { 'task.look': job<Look, Looked>() },
  delays: { pause: ({ context, event }) => Math.max(0, context.nextLook - event.at) },
  guards: {
    hasUnknown: ({ context: { running, waiting, most, hasMore } }) =>
      hasMore && waiting.length === 0 && running.length < most,
    isBusy: ({ context }) => context.running.length > 0,
    isHeld: ({ context: { running, waiting }, event }) =>
      event.type === 'release' && [...running, ...waiting].some((one) => isOver(one, event.place)),
  },
  actions: {
    take: assign(({ context, event }) => (event.type === 'take' ? taken(context, event) : {})),
    release: assign(({ context: { running, waiting }, event }) => {
      if (event.type !== 'release') return {};
      const stays = (one: Place) => !isOver(one, event.place);
      return { running: running.filter(stays), waiting: waiting.filter(stays), most: event.most };
    }),
    admit: enqueueActions(({ context: { running, waiting, most }, enqueue }) => {
      const free = Math.max(0, most - running.length);
      const admitted = waiting.slice(0, free);
      enqueue.assign({ running: [...running, ...admitted], waiting: waiting.slice(free) });
      for (const { id, round } of admitted) enqueue.emit({ type: 'task.admitted', id, round });
    }),
    beginLook: assign({ hasMissed: false }),
    noteLook: assign(({ event }) => ({ nextLook: event.at + laneLimits.look })),
    holdOn: assign(({ event }) => ({ nextLook: event.at + laneLimits.trouble })),
  },
}).createMachine({
  id: 'task-lane',
  context: ({ input }) => ({
    lane: input,
    most: 1,
    running: [],
    waiting: [],
    hasMore: false,
    hasMissed: false,
    nextLook: 0,
  }),
  initial: 'empty',
  states: {
    next: {
      always: [
        { guard: 'hasUnknown', target: 'looking' },
        { guard: 'isBusy', target: 'busy' },
        { target: 'empty' },
      ],
    },
    empty: {
      on: { take: { target: 'next', actions: ['take', 'admit'] } },
    },
    busy: {
      after: { pause: 'looking' },
      on: {
        take: { target: 'next', actions: ['take', 'admit'] },
        release: { guard: 'isHeld', target: 'next', actions: ['release', 'admit'] },
      },
    },
    looking: {
      entry: 'beginLook',
      invoke: {
        id: 'look',
        src: 'task.look',
        input: ({ context: { lane, running } }) => ({ ...lane, running, limit: laneLimits.waiting }),
        onDone: {
          target: 'next',
          actions: [
            assign(({ context, event }) => corrected(context, event.output)),
            'noteLook',
            'admit',
            enqueueActions(({ context: { running }, event: { output }, enqueue }) => {
              for (const { id, round } of output.untold) {
                const isIn = running.some((one) => one.id === id && one.round === round);
                if (isIn) enqueue.emit({ type: 'task.admitted', id, round });
              }
            }),
          ],
        },
        onError: { target: 'held', actions: 'holdOn' },
      },
      on: {
        take: { actions: ['take', 'admit'] },
        release: { guard: 'isHeld', actions: ['release', 'admit'] },
      },
    },
    /** The comparison failed. Tasks whose turn is known are admitted all the same. */
    held: {
      after: { pause: 'looking' },
      on: {
        take: { actions: ['take', 'admit'] },
        release: { guard: 'isHeld', actions: ['release', 'admit'] },
      },
    },
  },
});

export interface LaneSettings {
  readonly account: string;
  /** Of the tasks. */
  readonly type: string;
}

/** One round of one task. */
export interface Place {
  readonly id: string;
  /** How often the task was retried by a client. */
  readonly round: number;
}

export interface LaneContext {
  readonly lane: LaneSettings;
  /** Tasks that may run at a time. */
  readonly most: number;
  readonly running: readonly Place[];
  /** The next ones, at most `laneLimits.waiting`. */
  readonly waiting: readonly Place[];
  /** More may wait behind these. */
  readonly hasMore: boolean;
  /** Some came during the comparison. */
  readonly hasMissed: boolean;
  /** Epoch ms. */
  readonly nextLook: number;
}

/** `most`: as it is configured now. */
type LaneEvent = { readonly at: number } & (
  | { readonly type: 'take'; readonly place: Place; readonly most: number }
  | { readonly type: 'release'; readonly place: Place; readonly most: number }
);

export interface LaneEmitted extends Place {
  readonly type: 'task.admitted';
}

/** Input of `task.look`: compares a lane with the stored tasks. */
export interface Look extends LaneSettings {
  readonly running: readonly Place[];
  /** Of those that wait. */
  readonly limit: number;
}

export interface Looked {
  /** Those that wait, oldest first. */
  readonly waiting: readonly Place[];
  readonly hasMore: boolean;
  /** Of the running: those that have ended. */
  readonly gone: readonly Place[];
  /** Of the running: those that were not told yet. */
  readonly untold: readonly Place[];
}

function taken(
  context: LaneContext,
  { place, most, at }: { place: Place; most: number; at: number },
): Partial<LaneContext> {
  const { running, waiting, hasMore } = context;
  // A lane that was empty need not look at once.
  const rest = running.length === 0 ? { most, nextLook: at + laneLimits.look } : { most };
  const [inside] = running.filter(({ id }) => id === place.id);
  if (inside && inside.round >= place.round) return rest;
  // It was retried, and the report of its former end is missing.
  if (inside)
    return { ...rest, running: running.filter((one) => one !== inside), waiting: [place, ...waiting] };
  const isFree = running.length < most && waiting.length === 0 && !hasMore;
  return isFree ? { ...rest, waiting: [place] } : { ...rest, hasMore: true, hasMissed: true };
}

function corrected(
  { running, hasMissed }: LaneContext,
  { waiting, hasMore, gone }: Looked,
): Partial<LaneContext> {
  const left = running.filter((one) => !gone.some((place) => isOver(one, place)));
  return {
    running: left,
    waiting: waiting.filter(({ id }) => !left.some((one) => one.id === id)),
    hasMore: hasMore || hasMissed,
  };
}

/** Whether the end of `place` ends this one: the same or a later round of the same task. */
function isOver(one: Place, place: Place): boolean {
  return one.id === place.id && one.round <= place.round;
}
