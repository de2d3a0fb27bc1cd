import { assign, enqueueActions, setup } from 'xstate';

/**
 * The broadcast of one stream: who publishes, whether it is on the air, and how long a broken one is
 * waited for. One actor per stream, for the life of the stream.
 *
 *   off ──publish──▶ starting ──playable──▶ live ──lost──▶ held
 *    ▲                   ▲                   │  ◀─publish──  │
 *    │                   └──publish── recent ◀──stopped / hold over
 *    └────── reconnect window over, or terminated ───┘
 *
 * Both windows are counted from the last media received. What a session goes through is emitted apart from what its
 * stream does, for those who follow it: started (again with each return after idle), idle, and over, when it will not
 * come back. One that never played says nothing.
 */
export const broadcastMachine = setup({
  types: {
    context: {} as BroadcastContext,
    events: {} as BroadcastEvent,
    emitted: {} as BroadcastEmitted,
    input: {} as StreamSettings,
  },
  delays: {
    hold: ({ context, event }) => windowLeft(context, event, (session) => holdOf(context.stream, session)),
    reconnectWindow: ({ context, event }) => windowLeft(context, event, (session) => session.reconnectWindow),
  },
  guards: {
    mayPublish: ({ context, event }) =>
      event.type === 'publish' &&
      !context.stream.suspended &&
      event.streamKey === context.stream.streamKey &&
      (!context.session?.publish || mayTakeOver(context.session, event)),
    isMine: ({ context, event }) => 'token' in event && holds(context, event.token),
    isLeaving: ({ context, event }) =>
      event.type === 'closed' && leaving(context).some(({ token }) => token === event.token),
    isMineAndClean: ({ context, event }) =>
      event.type === 'closed' && event.isClean && holds(context, event.token),
    // The only publish of its session ended before anything could be played: there was no session.
    isMineAndNeverStarted: ({ context, event }) =>
      !context.session?.hasStarted && 'token' in event && holds(context, event.token),
    ranOnLostNode: ({ context, event }) => event.type === 'node.lost' && ranOn(context, event.incarnation),
    ranOnLostNodeAndNeverStarted: ({ context, event }) =>
      !context.session?.hasStarted && event.type === 'node.lost' && ranOn(context, event.incarnation),
    suspends: ({ event }) => event.type === 'change' && event.changes.suspended === true,
  },
  actions: {
    beginSession: assign(({ context, event }) => {
      if (event.type !== 'publish') return {};
      const session: Session = {
        id: event.sessionId,
        createdAt: event.at,
        name: context.stream.name,
        userTags: context.stream.userTags,
        fields: context.stream.fields,
        hold: event.hold,
        reconnectWindow: event.reconnectWindow,
        hasStarted: false,
        lastMediaAt: event.at,
        past: noFigures,
        current: noFigures,
        publish: { token: event.token, node: event.node, incarnation: event.incarnation },
        nodes: [event.node],
        leaving: [],
        takeovers: [],
      };
      return { session, feeder: feederOf(event), publishCount: context.publishCount + 1 };
    }),
    // A publish in hold, in the reconnect window, or over a running one continues the session.
    continueSession: assign(({ context, event }) => {
      if (event.type !== 'publish' || !context.session) return {};
      const { session } = context;
      return {
        publishCount: context.publishCount + 1,
        feeder: feederOf(event),
        session: {
          ...session,
          nodes: withNode(session.nodes, event.node),
          hold: event.hold,
          reconnectWindow: event.reconnectWindow,
          past: sum(session.past, session.current),
          current: noFigures,
          publish: { token: event.token, node: event.node, incarnation: event.incarnation },
          takeovers: session.publish
            ? [...(session.takeovers ?? []), event.at].slice(-takeoverBrake.takeovers)
            : (session.takeovers ?? []),
        },
      };
    }),
    // A session of which nothing was ever played leaves no trace; one that was on the air before stays as it was.
    dropSession: assign(({ context: { session } }) => ({
      session: session?.hasStarted ? { ...session, publish: null } : null,
    })),
    takeFigures: assign(({ context, event }) => {
      if (!('figures' in event) || !event.figures || !context.session) return {};
      // Those of a delete are read before it: another publish may have come between.
      if (event.type === 'delete' && !holds(context, event.token)) return {};
      const { bytes, segments, duration, lastMediaAt, targetDuration } = event.figures;
      const longest = Math.max(context.targetDuration, targetDuration);
      return {
        targetDuration: longest,
        session: {
          ...context.session,
          current: { bytes, segments, duration },
          // A node whose clock is ahead must not lengthen the windows.
          lastMediaAt: Math.max(context.session.lastMediaAt, Math.min(lastMediaAt, event.at)),
        },
      };
    }),
    takeLastFigures: assign(({ context, event }) => {
      const { session } = context;
      if (event.type !== 'closed' || !session) return {};
      const counted = session.leaving.find(({ token }) => token === event.token)?.counted ?? noFigures;
      return {
        targetDuration: Math.max(context.targetDuration, event.figures.targetDuration),
        session: {
          ...session,
          past: sum(session.past, difference(event.figures, counted)),
          lastMediaAt: Math.max(session.lastMediaAt, Math.min(event.figures.lastMediaAt, event.at)),
          leaving: session.leaving.filter(({ token }) => token !== event.token),
        },
      };
    }),
    takeLastSign: assign(({ context, event }) => {
      if (event.type !== 'node.lost' || !context.session) return {};
      const lastMediaAt = Math.max(context.session.lastMediaAt, Math.min(event.aliveAt, event.at));
      return { session: { ...context.session, lastMediaAt } };
    }),
    // Its playlist is gone with it.
    dropFeeder: assign({ feeder: null }),
    endPublish: assign(({ context }) =>
      context.session ? { session: { ...context.session, publish: null } } : {},
    ),
    goOnAir: assign(({ context }) => ({
      isActive: true,
      session: context.session && { ...context.session, hasStarted: true },
    })),
    goOffAir: assign({ isActive: false }),
    applyChanges: assign(({ context, event }) =>
      event.type === 'change' ? { stream: changed(context.stream, event.changes) } : {},
    ),
    applyNewKey: assign(({ context, event }) =>
      event.type === 'rotateKey' ? { stream: { ...context.stream, streamKey: event.streamKey } } : {},
    ),
    takeRecording: assign(({ context, event }) =>
      event.type === 'recording' && isNews(context.recording, event) ? { recording: event.recording } : {},
    ),
    emitStarted: enqueueActions(({ enqueue }) => {
      enqueue.emit({ type: 'stream.started' });
      enqueue.emit({ type: 'session.started' });
    }),
    emitIdle: enqueueActions(({ enqueue }) => {
      enqueue.emit({ type: 'stream.idle' });
      enqueue.emit({ type: 'session.idle' });
    }),
    emitOver: enqueueActions(({ context, enqueue }) => {
      if (context.session?.hasStarted) enqueue.emit({ type: 'session.over' });
    }),
    // The connection that holds the key now must go: it was taken over, or its stream was stopped.
    // What it sent since its last report comes with its `closed`, and belongs to this session.
    orderClose: enqueueActions(({ context, event, enqueue }) => {
      const { session } = context;
      if (!session?.publish) return;
      const { token, node, incarnation } = session.publish;
      const leaver = { token, counted: session.current };
      enqueue.assign({ session: { ...session, leaving: [...session.leaving, leaver].slice(-mostLeaving) } });
      const reason = closeReasons[event.type] ?? 'The broadcast was stopped.';
      enqueue.emit({ type: 'order.publish.close', token, reason, node, incarnation });
    }),
    orderRetire: enqueueActions(({ context, enqueue }) => {
      const feeder = keeper(context);
      if (!feeder) return;
      enqueue.emit(retirement(context, feeder));
      enqueue.assign({ feeder: null });
    }),
    // Another node goes on with the playlist. Of a former process of the same node nothing is left.
    orderMove: enqueueActions(({ context, event, enqueue }) => {
      const feeder = keeper(context);
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
        publish: {
          guard: 'mayPublish',
          target: 'starting',
          actions: ['orderClose', 'orderMove', 'continueSession'],
        },
        playable: {
          guard: 'isMine',
          target: 'onAir',
          actions: ['takeFigures', 'goOnAir', 'emitStarted'],
        },
        progress: { guard: 'isMine', actions: 'takeFigures' },
        closed: [
          { guard: 'isMineAndNeverStarted', target: 'off', actions: ['orderRetire', 'dropSession'] },
          { guard: 'isMine', target: 'recent', actions: ['takeFigures', 'orderRetire', 'endPublish'] },
        ],
        'node.lost': [
          { guard: 'ranOnLostNodeAndNeverStarted', target: 'off', actions: ['dropFeeder', 'dropSession'] },
          { guard: 'ranOnLostNode', target: 'recent', actions: ['takeLastSign', 'dropFeeder', 'endPublish'] },
        ],
        change: [
          {
            guard: 'suspends',
            target: 'off',
            actions: ['applyChanges', 'orderClose', 'orderRetire', 'dropSession', 'emitOver'],
          },
          { actions: 'applyChanges' },
        ],
        rotateKey: {
          target: 'off',
          actions: ['applyNewKey', 'orderClose', 'orderRetire', 'dropSession', 'emitOver'],
        },
        terminate: { target: 'off', actions: ['orderClose', 'orderRetire', 'dropSession', 'emitOver'] },
        delete: {
          target: 'deleted',
          actions: ['takeFigures', 'orderClose', 'orderRetire', 'dropSession', 'emitOver'],
        },
      },
    },
    onAir: {
      initial: 'live',
      on: {
        publish: {
          guard: 'mayPublish',
          target: '.live',
          actions: ['orderClose', 'orderMove', 'continueSession'],
        },
        change: [
          {
            guard: 'suspends',
            target: 'off',
            actions: [
              'applyChanges',
              'orderClose',
              'orderRetire',
              'endPublish',
              'goOffAir',
              'emitIdle',
              'emitOver',
            ],
          },
          { actions: 'applyChanges' },
        ],
        rotateKey: {
          target: 'off',
          actions: [
            'applyNewKey',
            'orderClose',
            'orderRetire',
            'endPublish',
            'goOffAir',
            'emitIdle',
            'emitOver',
          ],
        },
        terminate: {
          target: 'off',
          actions: ['orderClose', 'orderRetire', 'endPublish', 'goOffAir', 'emitIdle', 'emitOver'],
        },
        delete: {
          target: 'deleted',
          actions: [
            'takeFigures',
            'orderClose',
            'orderRetire',
            'endPublish',
            'goOffAir',
            'emitIdle',
            'emitOver',
          ],
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
                actions: ['takeFigures', 'orderRetire', 'endPublish', 'goOffAir', 'emitIdle'],
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
          after: {
            hold: { target: '#broadcast.recent', actions: ['goOffAir', 'orderRetire', 'emitIdle'] },
          },
        },
      },
    },
    recent: {
      after: { reconnectWindow: { target: 'off', actions: 'emitOver' } },
      on: {
        publish: { guard: 'mayPublish', target: 'starting', actions: 'continueSession' },
        change: [
          { guard: 'suspends', target: 'off', actions: ['applyChanges', 'emitOver'] },
          { actions: 'applyChanges' },
        ],
        rotateKey: { target: 'off', actions: ['applyNewKey', 'emitOver'] },
        terminate: { target: 'off', actions: 'emitOver' },
        delete: { target: 'deleted', actions: 'emitOver' },
      },
    },
    deleted: { type: 'final' },
  },
});

export interface BroadcastContext {
  readonly stream: StreamSettings;
  /** The newest session; kept after it is over, until the next begins. */
  readonly session: Session | null;
  readonly isActive: boolean;
  /** How often the stream has been published, reconnects included. */
  readonly publishCount: number;
  /** The process that keeps the playlist: who publishes there feeds it, or did last. States from before have none. */
  readonly feeder?: Feeder | null;
  /** Of the newest recorded session. States from before have none. */
  readonly recording?: SessionRecording;
  /** Longest EXT-X-TARGETDURATION any session had, seconds: it never shrinks. */
  readonly targetDuration: number;
}

/** What became of the recording of a session, as its stream shows it. */
export interface SessionRecording {
  readonly sessionId: string;
  /** When the session began, epoch ms: the newest one counts. */
  readonly sessionCreatedAt: number;
  /** `none`: it failed or was deleted. */
  readonly status: 'waiting' | 'ready' | 'none';
}

/** A process of a node. */
export interface Feeder {
  readonly node: string;
  readonly incarnation: string;
}

/** What the client decides about a stream. */
export interface StreamSettings {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly streamKey: string;
  readonly playbackId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly createdByTokenName: string;
  readonly suspended: boolean;
  /** Seconds; null = the deployment's. */
  readonly holdSeconds: number | null;
  readonly userTags: Readonly<Record<string, unknown>>;
  /** Values of fields that other plugins own: plugin → field → value. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface Session {
  readonly id: string;
  /** Epoch ms of the first connection. */
  readonly createdAt: number;
  /** As the parent's were when the session began. */
  readonly name: string;
  readonly userTags: StreamSettings['userTags'];
  readonly fields: StreamSettings['fields'];
  /** The deployment's windows in ms, as they were at the last publish. */
  readonly hold: number;
  readonly reconnectWindow: number;
  /** A playlist of it has worked. */
  readonly hasStarted: boolean;
  /** Epoch ms of the last media received, as far as it is known. */
  readonly lastMediaAt: number;
  /** Sum over the publishes before this one, and this one so far. */
  readonly past: SessionFigures;
  readonly current: SessionFigures;
  /** The connection that feeds it now. */
  readonly publish: (Feeder & { readonly token: string }) | null;
  /** Ids of the nodes that fed it last, the newest at the end, at most `mostNodes`. States from before have none. */
  readonly nodes?: readonly string[];
  /** Connections that were told to go and have not reported their end, with what is counted of them already. */
  readonly leaving: readonly { readonly token: string; readonly counted: SessionFigures }[];
  /** Epoch ms of the last times that a publish took over from a running one. States from before have none. */
  readonly takeovers?: readonly number[];
}

export interface SessionFigures {
  readonly bytes: number;
  readonly segments: number;
  /** Seconds of media. */
  readonly duration: number;
}

export type MediaFigures = SessionFigures & { readonly lastMediaAt: number; readonly targetDuration: number };

export type BroadcastEvent = { readonly at: number } & (
  | {
      readonly type: 'publish';
      readonly streamKey: string;
      readonly token: string;
      readonly node: string;
      readonly incarnation: string;
      /** Id of the session, should this publish begin one. */
      readonly sessionId: string;
      /** What becomes of it while another broadcasts with the key. */
      readonly busyKey: 'takeover' | 'refuse';
      /** The deployment's windows in ms. */
      readonly hold: number;
      readonly reconnectWindow: number;
    }
  | { readonly type: 'playable'; readonly token: string; readonly figures: MediaFigures }
  | { readonly type: 'progress'; readonly token: string; readonly figures: MediaFigures }
  | {
      readonly type: 'closed';
      readonly token: string;
      readonly isClean: boolean;
      readonly figures: MediaFigures;
    }
  /** The process that fed it is gone; it was last known alive at `aliveAt` (epoch ms). */
  | { readonly type: 'node.lost'; readonly incarnation: string; readonly aliveAt: number }
  | {
      readonly type: 'change';
      readonly changes: StreamChanges;
    }
  /** `instead`: id of a session whose recording is gone, if the one told now is to be shown in its place. */
  | { readonly type: 'recording'; readonly recording: SessionRecording; readonly instead?: string }
  | { readonly type: 'rotateKey'; readonly streamKey: string }
  | { readonly type: 'terminate' }
  /** With the figures of the publish that runs, as they are now: its `closed` finds nobody any more. */
  | { readonly type: 'delete'; readonly token?: string; readonly figures?: MediaFigures }
);

/** What is named is set; of `fields`, only the fields named. */
export type StreamChanges = Partial<
  Pick<StreamSettings, 'name' | 'suspended' | 'holdSeconds' | 'userTags' | 'fields'>
>;

export type BroadcastEmitted =
  | { readonly type: 'stream.started' | 'stream.idle' }
  /** Of the session that the context has, which is kept when it is over. */
  | { readonly type: 'session.started' | 'session.idle' | 'session.over' }
  | (Feeder & { readonly type: 'order.publish.close'; readonly token: string; readonly reason: string })
  | Retirement;

/** The playlist goes, unless a publish after the one with this number (from 1) has begun to feed it. */
type Retirement = Feeder & {
  readonly type: 'order.output.retire';
  readonly playbackId: string;
  readonly publish: number;
};

const noFigures: SessionFigures = { bytes: 0, segments: 0, duration: 0 };
/** So many takeovers within `window` ms, and for `pause` ms nobody else may take over. */
export const takeoverBrake = { takeovers: 3, window: 60_000, pause: 30_000 };
/** Enough for encoders that fight over a key; one whose node died never reports its end. */
const mostLeaving = 8;
/** Nodes of a session that are remembered. What others have of its recording is not found again. */
export const mostNodes = 32;

const closeReasons: Readonly<Record<string, string>> = {
  publish: 'Another broadcast with the same key took over.',
  change: 'The stream was suspended.',
  rotateKey: 'The stream key was changed.',
  delete: 'The stream was deleted.',
};

/** Until when nobody may take the running publish over, epoch ms; 0 when anybody may. */
export function brakedUntil(session: Session): number {
  const takeovers = session.publish ? (session.takeovers ?? []) : [];
  if (takeovers.length < takeoverBrake.takeovers) return 0;
  const [first, last] = [takeovers[0], takeovers[takeovers.length - 1]];
  return last - first <= takeoverBrake.window ? last + takeoverBrake.pause : 0;
}

/** Reports may come late and twice: an older session never replaces a newer one, and nothing is unfinished again. */
function isNews(
  known: SessionRecording | undefined,
  { recording, instead }: { readonly recording: SessionRecording; readonly instead?: string },
): boolean {
  if (!known || known.sessionId === instead) return true;
  if (known.sessionId === recording.sessionId) return recording.status !== 'waiting';
  return recording.sessionCreatedAt > known.sessionCreatedAt;
}

function mayTakeOver(session: Session, event: { busyKey: 'takeover' | 'refuse'; at: number }): boolean {
  return event.busyKey === 'takeover' && event.at >= brakedUntil(session);
}

function sum(a: SessionFigures, b: SessionFigures): SessionFigures {
  return {
    bytes: a.bytes + b.bytes,
    segments: a.segments + b.segments,
    duration: a.duration + b.duration,
  };
}

function difference(a: SessionFigures, b: SessionFigures): SessionFigures {
  return sum(a, { bytes: -b.bytes, segments: -b.segments, duration: -b.duration });
}

function leaving(context: BroadcastContext): Session['leaving'] {
  return context.session?.leaving ?? [];
}

/** The stream's own hold counts as it is when the connection is lost, not as it was when it began. */
function holdOf({ holdSeconds }: StreamSettings, { hold, reconnectWindow }: Session): number {
  return Math.min(holdSeconds === null ? hold : holdSeconds * 1000, reconnectWindow);
}

function changed(stream: StreamSettings, changes: StreamChanges): StreamSettings {
  const fields = { ...stream.fields };
  for (const [plugin, values] of Object.entries(changes.fields ?? {})) {
    fields[plugin] = { ...fields[plugin], ...values };
  }
  return { ...stream, ...changes, fields };
}

function feederOf({ node, incarnation }: Feeder): Feeder {
  return { node, incarnation };
}

/** Who may still have the playlist. */
function keeper({ feeder, session }: BroadcastContext): Feeder | null {
  return feeder === undefined ? (session?.publish ?? null) : feeder;
}

function retirement({ stream, publishCount }: BroadcastContext, feeder: Feeder): Retirement {
  const { playbackId } = stream;
  return { type: 'order.output.retire', playbackId, publish: publishCount, ...feederOf(feeder) };
}

function withNode(nodes: Session['nodes'], node: string): readonly string[] {
  return [...(nodes ?? []).filter((one) => one !== node), node].slice(-mostNodes);
}

function holds(context: BroadcastContext, token: string | undefined): boolean {
  return token !== undefined && context.session?.publish?.token === token;
}

function ranOn(context: BroadcastContext, incarnation: string): boolean {
  return context.session?.publish?.incarnation === incarnation;
}

/** Milliseconds to the end of a window; negative when it ended before this was known. */
function windowLeft(
  context: BroadcastContext,
  event: BroadcastEvent,
  length: (session: Session) => number,
): number {
  if (!context.session) return 0;
  return context.session.lastMediaAt + length(context.session) - event.at;
}
