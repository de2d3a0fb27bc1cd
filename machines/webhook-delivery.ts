import { assign, setup } from 'xstate';
import { job } from './job.ts';

/** Wait after an attempt that the server itself could not make, ms. */
const trouble = 60_000;

/**
 * One event for one webhook, after the first attempt failed. It is sent again after longer and longer waits, until the
 * endpoint accepts it or answers 410, or until `plugins.webhooks.retryFor` has passed.
 */
export const webhookDeliveryMachine = setup({
  types: {
    context: {} as DeliveryContext,
    events: {} as DeliveryEvent,
    input: {} as DeliverySettings,
  },
  actors: { 'webhook.attempt': job<Attempt, AttemptOutcome>() },
  delays: {
    // The event that begins an actor has no time.
    due: ({ context, event }) => Math.max(0, context.dueAt - (event.at ?? context.delivery.createdAt)),
  },
  actions: {
    close: assign({ entry: null }),
    waitOutTrouble: assign(({ context, event }) => ({
      entry: null,
      dueAt: event.at + trouble,
      wakes: context.wakes + 1,
    })),
  },
}).createMachine({
  id: 'webhook-delivery',
  context: ({ input }) => ({
    delivery: input,
    attempt: 2,
    wakes: 0,
    dueAt: input ? input.dueAt : 0,
    entry: null,
  }),
  initial: 'waiting',
  on: {
    /** A manual resend succeeded, or the webhook was deleted. */
    settle: { target: '.ended', actions: 'close' },
  },
  states: {
    waiting: { after: { due: { target: 'attempting', actions: 'close' } } },
    attempting: {
      invoke: {
        id: 'attempt',
        src: 'webhook.attempt',
        input: ({ context: { delivery, attempt, wakes } }) => ({
          account: delivery.account,
          webhookId: delivery.webhookId,
          streamId: delivery.streamId,
          position: delivery.position,
          attempt,
          wakes,
          bodyOf: delivery.firstEntry,
        }),
        onDone: [
          {
            guard: hasRetry,
            target: 'waiting',
            actions: assign(({ context, event: { output } }) => ({
              entry: 'entry' in output ? output.entry : null,
              dueAt: 'retryAt' in output ? (output.retryAt ?? 0) : 0,
              attempt: output.outcome === 'failed' ? context.attempt + 1 : context.attempt,
              wakes: context.wakes + 1,
            })),
          },
          {
            target: 'ended',
            actions: assign(({ event: { output } }) => ({ entry: 'entry' in output ? output.entry : null })),
          },
        ],
        onError: { target: 'waiting', actions: 'waitOutTrouble' },
      },
    },
    ended: { type: 'final' },
  },
});

function hasRetry({ event: { output } }: { readonly event: { readonly output: AttemptOutcome } }): boolean {
  return (output.outcome === 'failed' || output.outcome === 'deferred') && output.retryAt !== null;
}

export interface DeliverySettings {
  readonly account: string;
  readonly webhookId: string;
  readonly streamId: string;
  readonly eventId: string;
  /** Of the event in the log. */
  readonly position: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** When the second attempt begins, epoch ms. */
  readonly dueAt: number;
  /** The log entry of the first attempt, which holds what was sent. */
  readonly firstEntry: string;
}

export interface DeliveryContext {
  readonly delivery: DeliverySettings;
  /** Number of the next attempt. */
  readonly attempt: number;
  /** How often it has attempted or tried to. */
  readonly wakes: number;
  readonly dueAt: number;
  /** Log entry of the step that led here. */
  readonly entry: Readonly<Record<string, unknown>> | null;
}

type DeliveryEvent = { readonly at: number; readonly type: 'settle' };

/** Input of `webhook.attempt`. */
export interface Attempt {
  readonly account: string;
  readonly webhookId: string;
  readonly streamId: string;
  /** Of the event in the log. */
  readonly position: number;
  /** 1: by the lane. */
  readonly attempt: number;
  /** How often its delivery has attempted or tried to. */
  readonly wakes: number;
  readonly bodyOf: string | null;
}

/**
 * The outcome of an attempt. `over`: there is nothing to try. `deferred`: not made, because the endpoint takes no request
 * now; the node of incarnation `by` wakes the lane, at `until` it looks by itself. `gone`: the webhook was deleted.
 * `entry`: for the delivery log. `retryAt`: epoch ms; null when the time is up.
 */
export type AttemptOutcome =
  | { readonly outcome: 'delivered' | 'over'; readonly entry: Readonly<Record<string, unknown>> | null }
  | {
      readonly outcome: 'failed';
      readonly entry: Readonly<Record<string, unknown>> | null;
      readonly retryAt: number | null;
    }
  | {
      readonly outcome: 'deferred';
      readonly until: number;
      readonly by: string;
      readonly retryAt: number | null;
    }
  | { readonly outcome: 'gone' };

/**
 * When the next attempt begins, epoch ms: `first` after the first one, doubling up to `most`, plus or minus a random fifth,
 * so that what failed together does not come back together. Null when the time is up before that.
 * @param chance 0..1
 */
export function retryAt(
  { wakes, at, chance }: { wakes: number; at: number; chance: number },
  { first, most, until }: { first: number; most: number; until: number },
): number | null {
  const wait = Math.min(most, first * 2 ** Math.min(wakes, 30));
  const due = at + Math.round(wait * (0.8 + 0.4 * chance));
  return due <= until ? due : null;
}
