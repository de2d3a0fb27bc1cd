import { assign, emit, enqueueActions, setup } from 'xstate';

/** How long a target that was reported as too slow is not reported again while it stays connected, ms. */
const slowPause = 600_000;
/** An outage begins. */
const outage = [
  { guard: 'isMineAndNews', target: 'failing', actions: ['takeShown', 'noteReason', 'emitError'] },
  { guard: 'isMine', target: 'failing' },
] as const;
const begins = { guard: 'isNewer', target: 'connecting', actions: ['takeShown', 'hold'] } as const;
const connects = {
  guard: 'isMine',
  target: 'connected',
  actions: ['takeShown', 'forgetReason', 'emitConnected'],
} as const;
/** Before it was connected, or after the outage was reported: no event. */
const quietEnds = {
  ended: { guard: 'isMine', target: 'idle', actions: ['letGo', 'forgetReason'] },
  'node.lost': { guard: 'ranThere', target: 'idle', actions: ['letGo', 'noteLost'] },
  over: 'gone',
} as const;
const deathMessage = 'The server that pushed the broadcast has ended unexpectedly.';

/**
 * Decides which events one push emits. A push sends one session to one target with one profile. If another node continues
 * the broadcast, it is still the same push. `isMine`: the report comes from the process that runs the push now.
 * `isMineAndNews`: so it does, and its reason differs from the reason of the last failure. `isNewer`: a newer process has
 * begun to run the push. `ranThere`: the process that died ran the push.
 *
 *   idle ──begun──▶ connecting ──connected──▶ connected ──lost──▶ failing ──connected──▶ connected
 *     ▲                  └──────failed──────────────────────────────▲
 *     └── ended, or the process that pushed has died: from all of these       any of these ──over──▶ gone
 *
 * One process pushes at a time: that of the newest publish. Reports of older ones are ignored. Connected and disconnected
 * alternate, in whatever order and however often commands come. An outage begins with the first failure and ends when the
 * target is connected or no longer wanted; in it each change of the reason emits an error, a repeat does not.
 */
export const pushMachine = setup({
  types: {
    context: {} as PushContext,
    events: {} as PushEvent,
    emitted: {} as PushEmitted,
    input: {} as PushSettings,
  },
  delays: { slowPause },
  guards: {
    isRenewed: ({ context, event }) =>
      event.type === 'begun' &&
      context.holder?.token === event.holder.token &&
      isNewer(context, event.holder),
    isNewer: ({ context, event }) => event.type === 'begun' && isNewer(context, event.holder),
    isMine: ({ context, event }) => 'token' in event && context.holder?.token === event.token,
    isMineAndNews: ({ context, event }) =>
      'trouble' in event && context.holder?.token === event.token && context.reason !== event.trouble.reason,
    ranThere: ({ context, event }) =>
      event.type === 'node.lost' && context.holder?.incarnation === event.incarnation,
  },
  actions: {
    takeShown: assign(({ context, event }) => ({
      ...('stream' in event && event.stream ? { stream: event.stream } : {}),
      ...('name' in event && event.name !== undefined ? { push: { ...context.push, name: event.name } } : {}),
    })),
    hold: assign(({ event }) =>
      event.type === 'begun' ? { holder: event.holder, latest: orderOf(event.holder) } : {},
    ),
    letGo: assign({ holder: null }),
    noteLost: assign(({ event }) => (event.type === 'node.lost' ? { lost: event.incarnation } : {})),
    noteReason: assign(({ event }) => ('trouble' in event ? { reason: event.trouble.reason } : {})),
    noteDeath: assign({ reason: 'died' }),
    forgetReason: assign({ reason: null }),
    emitConnected: emit({ type: 'multistream.connected' }),
    emitDisconnected: emit({ type: 'multistream.disconnected' }),
    emitError: enqueueActions(({ event, enqueue }) => {
      if ('trouble' in event) enqueue.emit({ type: 'multistream.error', error: event.trouble.message });
    }),
    emitDeath: emit({ type: 'multistream.error', error: deathMessage }),
  },
}).createMachine({
  id: 'push',
  context: ({ input }) => ({
    push: input?.push,
    stream: input?.stream,
    holder: input?.holder ?? null,
    latest: input ? orderOf(input.holder) : { publish: 0, number: 0 },
    lost: '',
    reason: null,
  }),
  initial: 'connecting',
  states: {
    idle: { on: { begun: begins, over: 'gone' } },
    connecting: {
      on: {
        begun: { guard: 'isNewer', actions: ['takeShown', 'hold'] },
        connected: connects,
        // A loss before any reported connection is a failure.
        failed: outage,
        lost: outage,
        ...quietEnds,
      },
    },
    connected: {
      initial: 'steady',
      on: {
        begun: [
          { guard: 'isRenewed', actions: ['takeShown', 'hold'] },
          // Another process continues, or this one started again: the former connection is gone.
          {
            guard: 'isNewer',
            target: 'connecting',
            actions: ['takeShown', 'emitDisconnected', 'hold'],
          },
        ],
        lost: {
          guard: 'isMine',
          target: 'failing',
          actions: ['takeShown', 'noteReason', 'emitError', 'emitDisconnected'],
        },
        ended: {
          guard: 'isMine',
          target: 'idle',
          actions: ['takeShown', 'letGo', 'emitDisconnected'],
        },
        'node.lost': {
          guard: 'ranThere',
          target: 'idle',
          actions: ['takeShown', 'letGo', 'noteLost', 'noteDeath', 'emitDeath', 'emitDisconnected'],
        },
        over: { target: 'gone', actions: ['takeShown', 'emitDisconnected'] },
      },
      states: {
        steady: {
          on: { slow: { guard: 'isMine', target: 'slow', actions: ['takeShown', 'emitError'] } },
        },
        slow: { after: { slowPause: 'steady' } },
      },
    },
    failing: {
      on: {
        begun: [{ guard: 'isRenewed', actions: ['takeShown', 'hold'] }, begins],
        connected: connects,
        failed: { guard: 'isMineAndNews', actions: ['takeShown', 'noteReason', 'emitError'] },
        lost: { guard: 'isMineAndNews', actions: ['takeShown', 'noteReason', 'emitError'] },
        ...quietEnds,
      },
    },
    gone: { type: 'final' },
  },
});

/** Target, stream and session of a push; only the name may change. No secret. */
export interface Push {
  readonly id: string;
  /** Id of target and profile in the stream, the same in all its sessions. */
  readonly pair: string;
  readonly account: string;
  readonly streamId: string;
  readonly sessionId: string;
  readonly targetId: string;
  readonly profile: string;
  /** Of the target. */
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** The process that pushes. */
export interface Holder {
  /** New with each start; kept when a later publish continues the push. */
  readonly token: string;
  readonly node: string;
  readonly incarnation: string;
  /** Number of its publish: the process with the greater one is newer. */
  readonly publish: number;
  /** Grows with each start in one process. */
  readonly number: number;
}

export interface PushSettings {
  readonly push: Push;
  readonly holder: Holder;
  readonly stream: Shown;
}

export interface PushContext {
  readonly push: Push;
  /** The parent stream as events show it, at the last report. */
  readonly stream: Shown;
  readonly holder: Holder | null;
  /** Of the newest holder so far. */
  readonly latest: Pick<Holder, 'publish' | 'number'>;
  /** The last process that is known to have died; empty when none is. */
  readonly lost: string;
  /** Last reported reason of the current outage; null when there is none. */
  readonly reason: string | null;
}

export type PushEvent = { readonly at: number } & (
  | ({ readonly type: 'begun'; readonly holder: Holder } & Current)
  | ({ readonly type: 'connected' | 'ended'; readonly token: string } & Current)
  | ({
      readonly type: 'failed' | 'lost' | 'slow';
      readonly token: string;
      readonly trouble: { readonly reason: string; readonly message: string };
    } & Current)
  /** The process that pushed is gone. */
  | { readonly type: 'node.lost'; readonly incarnation: string; readonly stream?: Shown }
  /** The session has ended. */
  | { readonly type: 'over'; readonly stream?: Shown }
);

export type PushEmitted =
  | { readonly type: 'multistream.connected' | 'multistream.disconnected' }
  /** `error`: a plain sentence. */
  | { readonly type: 'multistream.error'; readonly error: string };

/** Current values. */
interface Current {
  readonly stream?: Shown;
  readonly name?: string;
}

type Shown = Readonly<Record<string, unknown>>;

function orderOf({ publish, number }: Holder): PushContext['latest'] {
  return { publish, number };
}

/** Late reports of a dead process are ignored. */
function isNewer({ latest, lost }: PushContext, { publish, number, incarnation }: Holder): boolean {
  if (incarnation === lost) return false;
  return publish > latest.publish || (publish === latest.publish && number > latest.number);
}
