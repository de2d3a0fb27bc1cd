import { Fault } from '../../core/base/fault.ts';
import type { Principal } from '../../core/http/auth.ts';
import type { ResourceWrite, StoredResource } from '../../core/ports/store.ts';
import {
  type BroadcastContext,
  brakedUntil,
  type Feeder,
  noFigures,
  type Session,
  type SessionFigures,
  type SessionRecording,
  type StreamSettings,
} from '../../machines/broadcast-context.ts';
import type { StreamsKit } from './config.ts';
import { streamNotFound } from './faults.ts';

/** What is stored of a stream or session: the row that the API reads. */
export interface StreamDocument extends Omit<StreamSettings, 'holdSeconds'> {
  /** Seconds; absent = the deployment's. Older rows have null. */
  readonly holdSeconds?: number | null;
  /** Sessions only. */
  readonly parentId: string | null;
  readonly isActive: boolean;
  /** Parents only: the newest session. Older rows have none. */
  readonly sessionId?: string | null;
  /** Parents only: of the newest recorded session. Older rows have none. */
  readonly recording?: SessionRecording;
  /** Sessions only: it cannot come back. Older rows have none. */
  readonly isOver?: boolean;
  /** On the air, but the connection of the encoder was lost. */
  readonly isHeld: boolean;
  /** Of the publish that feeds it, to look up live figures. */
  readonly token: string | null;
  /** Process that feeds it, on the air or not yet. */
  readonly incarnation: string | null;
  /** Process that has its playlist, while it may be requested. Older rows have none. */
  readonly feeder?: Feeder | null;
  /** Nodes that fed it last, the newest at the end. Older rows have none. */
  readonly nodes?: readonly string[];
  /** Nobody may take over the running publish before then, epoch ms. Older rows have none. */
  readonly brakedUntil?: number;
  /** Epoch ms of the last media known; 0 before any. */
  readonly lastMediaAt: number;
  readonly past: SessionFigures;
  readonly current: SessionFigures;
}

/** The rows of a broadcast: its stream, and the newest session once it has started. */
export function rowsOf(context: BroadcastContext, state: unknown): ResourceWrite[] {
  const { stream, session } = context;
  const { id, account, createdAt, name, streamKey, playbackId } = stream;
  const row = { kind: 'stream', id, account, createdAt, name };
  const sessions = session?.hasStarted ? [sessionRow(context, session, state)] : [];
  if (state === 'deleted') return [{ ...row, body: null, indexes: {} }, ...sessions];
  const indexes = {
    ...{ role: 'parent', streamKey, playbackId },
    ...(session?.publish && { node: session.publish.node }),
    ...(context.isActive && activeIndex),
  };
  return [{ ...row, body: JSON.stringify(streamDocument(context)), indexes }, ...sessions];
}

/** The document of the stream itself. */
export function streamDocument(context: BroadcastContext): StreamDocument {
  const { stream, session, recording } = context;
  return {
    ...stream,
    parentId: null,
    sessionId: session?.id ?? null,
    ...(recording && { recording }),
    ...broadcastOf(context),
  };
}

export function documentOf(row: StoredResource): StreamDocument {
  return JSON.parse(row.body) as StreamDocument;
}

/** The stream or session, if it is the caller's. One of another account is answered as if it did not exist. */
export async function owned(
  principal: Principal,
  options: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const row = await options.kit.resources.get('stream', options.id);
  if (!row || row.account !== principal.accountId) throw streamNotFound(options.id);
  return documentOf(row);
}

/** The stream, if it is not a session: those cannot be changed. */
export async function parent(
  principal: Principal,
  options: { id: string; kit: StreamsKit },
): Promise<StreamDocument> {
  const document = await owned(principal, options);
  if (document.parentId !== null) {
    throw new Fault('stream.session_read_only', {
      status: 400,
      message: `${options.id} is a session; sessions are read-only. Change its parent ${document.parentId}.`,
    });
  }
  return document;
}

/** The index of what is on the air. */
export const activeIndex = { active: 'true' };

/** Common to the documents of a stream and of its newest session. */
function broadcastOf({ session, isActive, feeder }: BroadcastContext) {
  const publish = session?.publish ?? null;
  const until = session ? brakedUntil(session) : 0;
  const started = session?.hasStarted ? session : undefined;
  return {
    isActive,
    isHeld: isActive && publish === null,
    token: isActive && publish ? publish.token : null,
    incarnation: publish?.incarnation ?? null,
    feeder: feeder ?? null,
    nodes: session?.nodes ?? [],
    ...(until > 0 && { brakedUntil: until }),
    lastMediaAt: started?.lastMediaAt ?? 0,
    past: started?.past ?? noFigures,
    current: started?.current ?? noFigures,
  };
}

function sessionRow(context: BroadcastContext, session: Session, state: unknown): ResourceWrite {
  const { stream, isActive } = context;
  const { id, createdAt, name, userTags, fields } = session;
  const { account, playbackId, createdByTokenName } = stream;
  const document: StreamDocument = {
    ...{ id, account, name, streamKey: '', playbackId, createdAt, createdByTokenName },
    ...{ suspended: false, holdSeconds: null, userTags, fields, parentId: stream.id },
    isOver: state === 'off' || state === 'deleted',
    ...broadcastOf(context),
  };
  return {
    ...{ kind: 'stream', id, account, createdAt, name },
    body: JSON.stringify(document),
    indexes: { role: 'session', parentId: stream.id, ...(isActive && activeIndex) },
  };
}
