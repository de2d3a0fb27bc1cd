import { assign, emit, enqueueActions, setup } from 'xstate';

/** How long a target that was told to be too slow is left in peace, ms. */
export const slowPause = 600_000;
const deathMessage = 'The server that pushed the broadcast has ended unexpectedly.';

/**
 * What the owner of a stream is told of one target of one session, whatever node pushes to it.
 *
 *   idle ──begun──▶ connecting ──connected──▶ connected ──lost──▶ failing ──connected──▶ connected
 *     ▲                  └──────failed──────────────────────────────▲
 *     └── ended, or the process that pushed has died: from all of these       any of these ──over──▶ gone
 *
 * One process pushes at a time: that of the newest publish. Who has been superseded is not listened to any more. Connected
 * and disconnected alternate, in whatever order and how often commands come. An outage begins with the first failure
 * and ends when the target is connected, or not wanted any more; within it each change of the reason is told, no repeat.
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
    idle: {
      on: {
        begun: { guard: 'isNewer', target: 'connecting', actions: ['takeShown', 'hold'] },
        over: 'gone',
      },
    },
    connecting: {
      on: {
        begun: { guard: 'isNewer', actions: ['takeShown', 'hold'] },
        connected: {
          guard: 'isMine',
          target: 'connected',
          actions: ['takeShown', 'forgetReason', 'emitConnected'],
        },
        // Of one that was never told to be connected a loss is a failure.
        failed: [
          {
            guard: 'isMineAndNews',
            target: 'failing',
            actions: ['takeShown', 'noteReason', 'emitError'],
          },
          { guard: 'isMine', target: 'failing' },
        ],
        lost: [
          {
            guard: 'isMineAndNews',
            target: 'failing',
            actions: ['takeShown', 'noteReason', 'emitError'],
          },
          { guard: 'isMine', target: 'failing' },
        ],
        ended: { guard: 'isMine', target: 'idle', actions: ['letGo', 'forgetReason'] },
        'node.lost': { guard: 'ranThere', target: 'idle', actions: ['letGo', 'noteLost'] },
        over: 'gone',
      },
    },
    connected: {
      initial: 'steady',
      on: {
        begun: [
          { guard: 'isRenewed', actions: ['takeShown', 'hold'] },
          // Another process goes on, or this one has begun anew: what was connected is no more.
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
        begun: [
          { guard: 'isRenewed', actions: ['takeShown', 'hold'] },
          { guard: 'isNewer', target: 'connecting', actions: ['takeShown', 'hold'] },
        ],
        connected: {
          guard: 'isMine',
          target: 'connected',
          actions: ['takeShown', 'forgetReason', 'emitConnected'],
        },
        failed: { guard: 'isMineAndNews', actions: ['takeShown', 'noteReason', 'emitError'] },
        lost: { guard: 'isMineAndNews', actions: ['takeShown', 'noteReason', 'emitError'] },
        ended: { guard: 'isMine', target: 'idle', actions: ['letGo', 'forgetReason'] },
        'node.lost': { guard: 'ranThere', target: 'idle', actions: ['letGo', 'noteLost'] },
        over: 'gone',
      },
    },
    gone: { type: 'final' },
  },
});

/** Target, stream and session of a push; the same for its whole life but for the name. No secret. */
export interface Push {
  readonly id: string;
  /** Names the target and profile of the stream, whatever the session. */
  readonly pair: string;
  readonly account: string;
  readonly streamId: string;
  readonly sessionId: string;
  readonly targetId: string;
  readonly profile: string;
  /** Of the target. */
  readonly name: string;
  /** When it was begun for the first time, epoch ms. */
  readonly createdAt: number;
}

/** The process that pushes. */
export interface Holder {
  /** New with each beginning; with a later publish the same goes on. */
  readonly token: string;
  readonly node: string;
  readonly incarnation: string;
  /** Number of the publish that it pushes: who has the greater one is the newer. */
  readonly publish: number;
  /** Grows with each beginning in one process. */
  readonly number: number;
}

/** What begins it. */
export interface PushSettings {
  readonly push: Push;
  readonly holder: Holder;
  readonly stream: Shown;
}

export interface PushContext {
  readonly push: Push;
  /** The parent stream as events show it, when it was last heard of. */
  readonly stream: Shown;
  readonly holder: Holder | null;
  /** Of the newest holder so far. */
  readonly latest: Pick<Holder, 'publish' | 'number'>;
  /** The last process that is known to have died; empty when none is. */
  readonly lost: string;
  /** What was told last in the outage that goes on; null when there is none. */
  readonly reason: string | null;
}

export type PushEvent = { readonly at: number } & (
  | ({ readonly type: 'begun'; readonly holder: Holder } & Told)
  | ({ readonly type: 'connected' | 'ended'; readonly token: string } & Told)
  | ({
      readonly type: 'failed' | 'lost' | 'slow';
      readonly token: string;
      readonly trouble: { readonly reason: string; readonly message: string };
    } & Told)
  /** The process that pushed is gone. */
  | { readonly type: 'node.lost'; readonly incarnation: string; readonly stream?: Shown }
  /** The session will not come back. */
  | { readonly type: 'over'; readonly stream?: Shown }
);

export type PushEmitted =
  | { readonly type: 'multistream.connected' | 'multistream.disconnected' }
  /** `error`: a plain sentence. */
  | { readonly type: 'multistream.error'; readonly error: string };

/** As they are now. */
interface Told {
  readonly stream?: Shown;
  readonly name?: string;
}

type Shown = Readonly<Record<string, unknown>>;

function orderOf({ publish, number }: Holder): PushContext['latest'] {
  return { publish, number };
}

/** A process that has died says nothing new, whatever arrives of it later. */
function isNewer({ latest, lost }: PushContext, { publish, number, incarnation }: Holder): boolean {
  if (incarnation === lost) return false;
  return publish > latest.publish || (publish === latest.publish && number > latest.number);
}
