import { assign, enqueueActions, setup } from 'xstate';
import {
  type BroadcastContext,
  brakedUntil,
  changed,
  continued,
  type Feeder,
  feederOf,
  isNews,
  type MediaFigures,
  mostLeaving,
  newSession,
  type Publish,
  type Session,
  type SessionRecording,
  type StreamChanges,
  type StreamSettings,
  seen,
  withFigures,
  withLastFigures,
} from './broadcast-context.ts';

/** The stream is suspended, gets another key, is terminated or deleted: the session ends for good. */
const endSession = [
  'takeFigures',
  'orderClose',
  'orderRetire',
  'endPublish',
  'goOffAir',
  'emitOver',
] as const;
/** The same in every state with a session that could continue. */
const ways = {
  change: [
    { guard: 'suspends', target: 'off', actions: ['applyChanges', ...endSession] },
    { actions: 'applyChanges' },
  ],
  rotateKey: { target: 'off', actions: ['applyNewKey', ...endSession] },
  terminate: { target: 'off', actions: endSession },
  delete: { target: 'deleted', actions: endSession },
} as const;

/**
 * The broadcast of one stream: which encoder sends it, whether viewers can watch it, and how long the stream waits for an
 * encoder whose connection broke. One actor per stream, for the life of the stream. `isMine`: the report is about the
 * connection that sends the broadcast now. `ranOnLostNode`: this connection was on the node that died.
 *
 *   off ──publish──▶ starting ──playable──▶ live ──lost──▶ held
 *    ▲                   ▲                   │  ◀─publish──  │
 *    │                   └──publish── recent ◀──stopped / hold expired
 *    └────── reconnect window expired, or terminated ────┘
 *
 * Both windows count from the last media received. Events of the session come beside those of the stream, for plugins
 * that follow sessions: started (again with each return after idle), idle, and over, when it cannot come back. A
 * session that was never playable emits nothing.
 */
export const broadcastMachine = setup({
  types: {
    context: {} as BroadcastContext,
    events: {} as BroadcastEvent,
    emitted: {} as BroadcastEmitted,
    input: {} as StreamSettings,
  },
  delays: {
    // The stream's own hold counts as it is when the connection is lost, not as it was when the session began.
    hold: ({ context, event }) => {
      const { holdSeconds } = context.stream;
      return windowLeft(context, event, ({ hold, reconnectWindow }) =>
        Math.min(holdSeconds === null ? hold : holdSeconds * 1000, reconnectWindow),
      );
    },
    reconnectWindow: ({ context, event }) => windowLeft(context, event, (session) => session.reconnectWindow),
  },
  guards: {
    mayPublish: ({ context: { stream, session }, event }) =>
      event.type === 'publish' &&
      !stream.suspended &&
      event.streamKey === stream.streamKey &&
      (!session?.publish || (event.busyKey === 'takeover' && event.at >= brakedUntil(session))),
    isMine: ({ context, event }) => isMine(context, event),
    isLeaving: ({ context: { session }, event }) =>
      event.type === 'closed' && (session?.leaving.some(({ token }) => token === event.token) ?? false),
    isMineAndClean: ({ context, event }) =>
      event.type === 'closed' && event.isClean && isMine(context, event),
    // The only publish of its session ended before anything could be played: there was no session.
    isMineAndNeverStarted: ({ context, event }) => !context.session?.hasStarted && isMine(context, event),
    ranOnLostNode: ({ context, event }) => ranOnLostNode(context, event),
    ranOnLostNodeAndNeverStarted: ({ context, event }) =>
      !context.session?.hasStarted && ranOnLostNode(context, event),
    suspends: ({ event }) => event.type === 'change' && event.changes.suspended === true,
  },
  actions: {
    beginSession: assign(({ context, event }) =>
      event.type === 'publish' ? published(context, event, newSession(event, context.stream)) : {},
    ),
    // A publish in hold, in the reconnect window, or over a running one continues the session.
    continueSession: assign(({ context, event }) =>
      event.type === 'publish' && context.session
        ? published(context, event, continued(context.session, event))
        : {},
    ),
    takeFigures: assign(({ context: { session, targetDuration }, event }) => {
      if (!('figures' in event) || !event.figures || !session) return {};
      const { figures, at } = event;
      // Those of a client's command are read before it: another publish may have come in between.
      if (session.publish?.token !== event.token) return {};
      return {
        targetDuration: Math.max(targetDuration, figures.targetDuration),
        session: withFigures(session, { figures, at }),
      };
    }),
    takeLastFigures: assign(({ context: { session, targetDuration }, event }) =>
      event.type === 'closed' && session
        ? {
            targetDuration: Math.max(targetDuration, event.figures.targetDuration),
            session: withLastFigures(session, event),
          }
        : {},
    ),
    takeLastSign: assign(({ context: { session }, event }) =>
      event.type === 'node.lost' && session
        ? { session: seen(session, { lastMediaAt: event.aliveAt, at: event.at }) }
        : {},
    ),
    // Its playlist is gone with it.
    dropFeeder: assign({ feeder: null }),
    // A session that was never playable leaves no trace.
    endPublish: assign(({ context: { session } }) => ({
      session: session?.hasStarted ? { ...session, publish: null } : null,
    })),
    goOnAir: enqueueActions(({ context: { session }, enqueue }) => {
      enqueue.assign({ isActive: true, session: session && { ...session, hasStarted: true } });
      enqueue.emit({ type: 'stream.started' });
      enqueue.emit({ type: 'session.started' });
    }),
    goOffAir: enqueueActions(({ context, enqueue }) => {
      if (!context.isActive) return;
      enqueue.assign({ isActive: false });
      enqueue.emit({ type: 'stream.idle' });
      enqueue.emit({ type: 'session.idle' });
    }),
    emitOver: enqueueActions(({ context, enqueue }) => {
      if (context.session?.hasStarted) enqueue.emit({ type: 'session.over' });
    }),
    applyChanges: assign(({ context, event }) =>
      event.type === 'change' ? { stream: changed(context.stream, event.changes) } : {},
    ),
    applyNewKey: assign(({ context, event }) =>
      event.type === 'rotateKey' ? { stream: { ...context.stream, streamKey: event.streamKey } } : {},
    ),
    takeRecording: assign(({ context, event }) =>
      event.type === 'recording' && isNews(context.recording, event) ? { recording: event.recording } : {},
    ),
    // The connection was taken over, or its stream was stopped. What it sent since its last report comes with its
    // `closed`, and belongs to this session.
    orderClose: enqueueActions(({ context: { session }, event, enqueue }) => {
      if (!session?.publish) return;
      const { token, node, incarnation } = session.publish;
      const leaver = { token, counted: session.current };
      enqueue.assign({ session: { ...session, leaving: [...session.leaving, leaver].slice(-mostLeaving) } });
      const reason = closeReasons[event.type] ?? 'The broadcast was stopped.';
      enqueue.emit({ type: 'order.publish.close', token, reason, node, incarnation });
    }),
    orderRetire: enqueueActions(({ context, enqueue }) => {
      const feeder = feederOf(context);
      if (!feeder) return;
      enqueue.emit(retirement(context, feeder));
      enqueue.assign({ feeder: null });
    }),
    // Another node continues the playlist. Of an earlier process of the same node nothing is left.
    orderMove: enqueueActions(({ context, event, enqueue }) => {
      const feeder = feederOf(context);
      if (event.type !== 'publish' || !feeder || feeder.node === event.node) return;
      enqueue.emit(retirement(context, feeder));
    }),
  },
}).createMachine({
  id: 'broadcast',
  context: ({ input }) => ({
    stream: input,
    session: null,
    isActive: false,
    publishCount: 0,
    feeder: null,
    targetDuration: 4,
  }),
  initial: 'off',
  on: {
    change: { actions: 'applyChanges' },
    rotateKey: { actions: 'applyNewKey' },
    closed: { guard: 'isLeaving', actions: 'takeLastFigures' },
    recording: { actions: 'takeRecording' },
    delete: '.deleted',
  },
  states: {
    off: {
      on: { publish: { guard: 'mayPublish', target: 'starting', actions: 'beginSession' } },
    },
    starting: {
      on: {
        ...ways,
        publish: {
          guard: 'mayPublish',
          target: 'starting',
          actions: ['orderClose', 'orderMove', 'continueSession'],
        },
        playable: { guard: 'isMine', target: 'onAir', actions: ['takeFigures', 'goOnAir'] },
        progress: { guard: 'isMine', actions: 'takeFigures' },
        closed: [
          { guard: 'isMineAndNeverStarted', target: 'off', actions: ['orderRetire', 'endPublish'] },
          { guard: 'isMine', target: 'recent', actions: ['takeFigures', 'orderRetire', 'endPublish'] },
        ],
        'node.lost': [
          { guard: 'ranOnLostNodeAndNeverStarted', target: 'off', actions: ['dropFeeder', 'endPublish'] },
          { guard: 'ranOnLostNode', target: 'recent', actions: ['takeLastSign', 'dropFeeder', 'endPublish'] },
        ],
      },
    },
    onAir: {
      initial: 'live',
      on: {
        ...ways,
        publish: {
          guard: 'mayPublish',
          target: '.live',
          actions: ['orderClose', 'orderMove', 'continueSession'],
        },
      },
      states: {
        live: {
          on: {
            playable: { guard: 'isMine', actions: 'takeFigures' },
            progress: { guard: 'isMine', actions: 'takeFigures' },
            closed: [
              {
                guard: 'isMineAndClean',
                target: '#broadcast.recent',
                actions: ['takeFigures', 'orderRetire', 'endPublish', 'goOffAir'],
              },
              { guard: 'isMine', target: 'held', actions: ['takeFigures', 'endPublish'] },
            ],
            'node.lost': {
              guard: 'ranOnLostNode',
              target: 'held',
              actions: ['takeLastSign', 'dropFeeder', 'endPublish'],
            },
          },
        },
        held: {
          after: { hold: { target: '#broadcast.recent', actions: ['orderRetire', 'goOffAir'] } },
        },
      },
    },
    recent: {
      after: { reconnectWindow: { target: 'off', actions: 'emitOver' } },
      on: { ...ways, publish: { guard: 'mayPublish', target: 'starting', actions: 'continueSession' } },
    },
    deleted: { type: 'final' },
  },
});

export type BroadcastEvent = { readonly at: number } & (
  | ({ readonly type: 'publish' } & Publish)
  | {
      readonly type: 'playable' | 'progress';
      readonly token: string;
      readonly figures: MediaFigures;
    }
  | {
      readonly type: 'closed';
      readonly token: string;
      readonly isClean: boolean;
      readonly figures: MediaFigures;
    }
  /** The process that fed it is gone; it was last known alive at `aliveAt` (epoch ms). */
  | { readonly type: 'node.lost'; readonly incarnation: string; readonly aliveAt: number }
  | ({ readonly type: 'change'; readonly changes: StreamChanges } & LastFigures)
  /** `instead`: id of a session whose recording was deleted and which this one replaces. */
  | { readonly type: 'recording'; readonly recording: SessionRecording; readonly instead?: string }
  | ({ readonly type: 'rotateKey'; readonly streamKey: string } & LastFigures)
  | ({ readonly type: 'terminate' | 'delete' } & LastFigures)
);

/** Of the running publish, where the session ends for good: its `closed` may find another session, or no actor. */
interface LastFigures {
  readonly token?: string;
  readonly figures?: MediaFigures;
}

export type BroadcastEmitted =
  | { readonly type: 'stream.started' | 'stream.idle' }
  /** Of the session in the context, which is kept after its end. */
  | { readonly type: 'session.started' | 'session.idle' | 'session.over' }
  | (Feeder & { readonly type: 'order.publish.close'; readonly token: string; readonly reason: string })
  | Retirement;

/** Removes the playlist, unless a publish after the one with this number (from 1) has begun to feed it. */
type Retirement = Feeder & {
  readonly type: 'order.output.retire';
  readonly playbackId: string;
  readonly publish: number;
};

const closeReasons: Readonly<Record<string, string>> = {
  publish: 'Another broadcast with the same key took over.',
  change: 'The stream was suspended.',
  rotateKey: 'The stream key was changed.',
  delete: 'The stream was deleted.',
};

function published(
  { publishCount }: BroadcastContext,
  { node, incarnation }: Publish,
  session: Session,
): Partial<BroadcastContext> {
  return { session, feeder: { node, incarnation }, publishCount: publishCount + 1 };
}

function retirement({ stream, publishCount }: BroadcastContext, feeder: Feeder): Retirement {
  const { playbackId } = stream;
  return { type: 'order.output.retire', playbackId, publish: publishCount, ...feeder };
}

function isMine({ session }: BroadcastContext, event: BroadcastEvent): boolean {
  return 'token' in event && event.token !== undefined && session?.publish?.token === event.token;
}

function ranOnLostNode({ session }: BroadcastContext, event: BroadcastEvent): boolean {
  return event.type === 'node.lost' && session?.publish?.incarnation === event.incarnation;
}

/** Milliseconds to the end of a window; negative when it ended before this was known. */
function windowLeft(
  { session }: BroadcastContext,
  { at }: BroadcastEvent,
  length: (session: Session) => number,
): number {
  return session ? session.lastMediaAt + length(session) - at : 0;
}
