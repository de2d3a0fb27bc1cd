import type { ResourceWrite, StoredResource } from '../../core/ports/store.ts';
import {
  type BroadcastContext,
  brakedUntil,
  type Feeder,
  type SessionFigures,
  type SessionRecording,
  type StreamSettings,
} from '../../machines/broadcast-context.ts';

/** What is stored of a stream or session: the row that the API reads. */
export interface StreamDocument extends Omit<StreamSettings, 'holdSeconds'> {
  /** Seconds; absent = the deployment's. Rows from before say null. */
  readonly holdSeconds?: number | null;
  /** Sessions only. */
  readonly parentId: string | null;
  readonly isActive: boolean;
  /** Parents only: the newest session. Rows from before have none. */
  readonly sessionId?: string | null;
  /** Parents only: of the newest recorded session. Rows from before have none. */
  readonly recording?: SessionRecording;
  /** Sessions only: nobody can bring it back. Rows from before have none. */
  readonly isOver?: boolean;
  /** On the air, but nobody publishes: the encoder's connection was lost. */
  readonly isHeld: boolean;
  /** Token of the publish that feeds it, to look up live figures. */
  readonly token: string | null;
  /** Process that feeds it, on the air or not yet; when that has died, nobody does. */
  readonly incarnation: string | null;
  /** Process that keeps its playlist, while it may be asked for. Rows from before have none. */
  readonly feeder?: Feeder | null;
  /** Nodes that fed it last, the newest at the end. Rows from before have none. */
  readonly nodes?: readonly string[];
  /** Somebody publishes and nobody may take over before then, epoch ms. Rows from before have none. */
  readonly brakedUntil?: number;
  /** Epoch ms of the last media known; 0 before any. */
  readonly lastMediaAt: number;
  readonly past: SessionFigures;
  readonly current: SessionFigures;
}

/** The rows of a broadcast: its stream, and the newest session once it has started. */
export function rowsOf(context: BroadcastContext, state: unknown): ResourceWrite[] {
  const { stream, session } = context;
  if (state === 'deleted') {
    const ended = session?.hasStarted ? [sessionRow(context, state)] : [];
    return [{ ...key(stream), body: null, indexes: {} }, ...ended];
  }
  const publish = session?.publish ?? null;
  const indexes: Record<string, string> = {
    role: 'parent',
    streamKey: stream.streamKey,
    playbackId: stream.playbackId,
    ...(publish && { node: publish.node }),
    ...(context.isActive && activeIndex),
  };
  const row = { ...key(stream), body: JSON.stringify(streamDocument(context)), indexes };
  return session?.hasStarted ? [row, sessionRow(context, state)] : [row];
}

/** The stream itself, as its row holds it. */
export function streamDocument(context: BroadcastContext): StreamDocument {
  const { stream, session } = context;
  const publish = session?.publish ?? null;
  return {
    ...stream,
    parentId: null,
    sessionId: session?.id ?? null,
    ...(context.recording && { recording: context.recording }),
    isActive: context.isActive,
    isHeld: context.isActive && publish === null,
    token: context.isActive && publish ? publish.token : null,
    incarnation: publish?.incarnation ?? null,
    feeder: context.feeder ?? null,
    nodes: session?.nodes ?? [],
    ...brake(session),
    lastMediaAt: session?.hasStarted ? session.lastMediaAt : 0,
    past: session?.hasStarted ? session.past : none,
    current: session?.hasStarted ? session.current : none,
  };
}

export function documentOf(row: StoredResource): StreamDocument {
  return JSON.parse(row.body) as StreamDocument;
}

/** The index of what is on the air. */
export const activeIndex = { active: 'true' };
const none: SessionFigures = { bytes: 0, segments: 0, duration: 0 };

function key(stream: StreamSettings): Omit<ResourceWrite, 'body' | 'indexes'> {
  const { id, account, createdAt, name } = stream;
  return { kind: 'stream', id, account, createdAt, name };
}

function brake(session: BroadcastContext['session']): Pick<StreamDocument, 'brakedUntil'> {
  const until = session ? brakedUntil(session) : 0;
  return until > 0 ? { brakedUntil: until } : {};
}

function sessionRow(context: BroadcastContext, state: unknown): ResourceWrite {
  const { stream, session } = context;
  if (!session) throw new Error('a session row needs a session');
  const { id, createdAt, name, userTags, fields, lastMediaAt, past, current } = session;
  const document: StreamDocument = {
    ...stream,
    id,
    createdAt,
    name,
    userTags,
    fields,
    streamKey: '',
    suspended: false,
    holdSeconds: null,
    parentId: stream.id,
    isActive: context.isActive,
    isOver: state === 'off' || state === 'deleted',
    isHeld: context.isActive && session.publish === null,
    token: context.isActive && session.publish ? session.publish.token : null,
    incarnation: session.publish?.incarnation ?? null,
    feeder: context.feeder ?? null,
    nodes: session.nodes ?? [],
    ...brake(session),
    lastMediaAt,
    past,
    current,
  };
  return {
    kind: 'stream',
    id,
    account: stream.account,
    createdAt,
    name,
    body: JSON.stringify(document),
    indexes: { role: 'session', parentId: stream.id, ...(context.isActive && activeIndex) },
  };
}
