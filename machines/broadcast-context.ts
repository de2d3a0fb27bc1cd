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
  /** Seconds; null = the default of the deployment. */
  readonly holdSeconds: number | null;
  readonly userTags: Readonly<Record<string, unknown>>;
  /** Values of fields that other plugins own: plugin → field → value. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Sets what is named; of `fields`, only the fields named. */
export type StreamChanges = Partial<
  Pick<StreamSettings, 'name' | 'suspended' | 'holdSeconds' | 'userTags' | 'fields'>
>;

export interface BroadcastContext {
  readonly stream: StreamSettings;
  /** The newest session; kept after its end, until the next one begins. */
  readonly session: Session | null;
  readonly isActive: boolean;
  /** How often the stream has been published, reconnects included. */
  readonly publishCount: number;
  /** The process that has the playlist: the current publish runs there, or the last one did. Older states have none. */
  readonly feeder?: Feeder | null;
  /** Of the newest recorded session. Older states have none. */
  readonly recording?: SessionRecording;
  /** Longest EXT-X-TARGETDURATION of all sessions, seconds: it never shrinks. */
  readonly targetDuration: number;
}

/** State of the recording of a session, as its stream shows it. */
export interface SessionRecording {
  readonly sessionId: string;
  /** When the session began, epoch ms: the newest session counts. */
  readonly sessionCreatedAt: number;
  /** `none`: it failed or was deleted. */
  readonly status: 'waiting' | 'ready' | 'none';
}

/** A process of a node. */
export interface Feeder {
  readonly node: string;
  readonly incarnation: string;
}

export interface Session {
  readonly id: string;
  /** Epoch ms of the first connection. */
  readonly createdAt: number;
  /** As the parent's were when the session began. */
  readonly name: string;
  readonly userTags: StreamSettings['userTags'];
  readonly fields: StreamSettings['fields'];
  /** The windows of the deployment in ms, as they were at the last publish. */
  readonly hold: number;
  readonly reconnectWindow: number;
  /** A playlist of it has worked. */
  readonly hasStarted: boolean;
  /** Epoch ms of the last media received, as far as it is known. */
  readonly lastMediaAt: number;
  /** Sum over the publishes before this one. */
  readonly past: SessionFigures;
  /** Of this publish so far. */
  readonly current: SessionFigures;
  /** The connection that feeds it now. */
  readonly publish: (Feeder & { readonly token: string }) | null;
  /** Ids of the last nodes that fed it, the newest at the end, at most `mostNodes`. Older states have none. */
  readonly nodes?: readonly string[];
  /** Connections that were ordered to close and have not reported their end, with the figures counted so far. */
  readonly leaving: readonly { readonly token: string; readonly counted: SessionFigures }[];
  /** Epoch ms of the last takeovers of a running publish. Older states have none. */
  readonly takeovers?: readonly number[];
}

export interface SessionFigures {
  readonly bytes: number;
  readonly segments: number;
  /** Seconds of media. */
  readonly duration: number;
}

export type MediaFigures = SessionFigures & { readonly lastMediaAt: number; readonly targetDuration: number };

/** An encoder that wants to publish. */
export interface Publish extends Feeder {
  readonly at: number;
  readonly streamKey: string;
  readonly token: string;
  /** Id of the session, if this publish begins one. */
  readonly sessionId: string;
  /** What happens to it while another broadcast uses the key. */
  readonly busyKey: 'takeover' | 'refuse';
  /** The windows of the deployment in ms. */
  readonly hold: number;
  readonly reconnectWindow: number;
}

export const noFigures: SessionFigures = { bytes: 0, segments: 0, duration: 0 };
/** After so many takeovers within `window` ms, nobody may take over for `pause` ms: encoders fight over the key. */
export const takeoverBrake = { takeovers: 3, window: 60_000, pause: 30_000 };
/** Enough for encoders that fight over a key; a connection on a dead node never reports its end. */
export const mostLeaving = 8;
/** Nodes remembered of a session. Parts of its recording on others are not found again. */
const mostNodes = 32;

export function newSession(publish: Publish, { name, userTags, fields }: StreamSettings): Session {
  const { sessionId: id, at, node, hold, reconnectWindow } = publish;
  return {
    ...{ id, createdAt: at, name, userTags, fields, hold, reconnectWindow },
    ...{ hasStarted: false, lastMediaAt: at, past: noFigures, current: noFigures },
    ...{ publish: connectionOf(publish), nodes: [node], leaving: [], takeovers: [] },
  };
}

/** The session after another publish: a reconnect, or a takeover of the running one. */
export function continued(session: Session, publish: Publish): Session {
  const { takeovers = [], nodes = [] } = session;
  const { node, hold, reconnectWindow, at } = publish;
  return {
    ...{ ...session, hold, reconnectWindow, publish: connectionOf(publish) },
    nodes: [...nodes.filter((one) => one !== node), node].slice(-mostNodes),
    past: sum(session.past, session.current),
    current: noFigures,
    takeovers: session.publish ? [...takeovers, at].slice(-takeoverBrake.takeovers) : takeovers,
  };
}

/** With the figures of the running publish. */
export function withFigures(
  session: Session,
  { figures, at }: { figures: MediaFigures; at: number },
): Session {
  const { bytes, segments, duration, lastMediaAt } = figures;
  return { ...seen(session, { lastMediaAt, at }), current: { bytes, segments, duration } };
}

/** With the last figures of a publish that was ordered to close. */
export function withLastFigures(
  session: Session,
  { token, figures, at }: { token: string; figures: MediaFigures; at: number },
): Session {
  const { bytes, segments, duration } =
    session.leaving.find((leaver) => leaver.token === token)?.counted ?? noFigures;
  const uncounted = sum(figures, { bytes: -bytes, segments: -segments, duration: -duration });
  return {
    ...seen(session, { lastMediaAt: figures.lastMediaAt, at }),
    past: sum(session.past, uncounted),
    leaving: session.leaving.filter((leaver) => leaver.token !== token),
  };
}

/** The clock of another node may be ahead: that must not lengthen the windows. */
export function seen(
  session: Session,
  { lastMediaAt, at }: Pick<Session, 'lastMediaAt'> & { at: number },
): Session {
  return { ...session, lastMediaAt: Math.max(session.lastMediaAt, Math.min(lastMediaAt, at)) };
}

/** Until when nobody may take over the running publish, epoch ms; 0 when anybody may. */
export function brakedUntil(session: Session): number {
  const takeovers = session.publish ? (session.takeovers ?? []) : [];
  if (takeovers.length < takeoverBrake.takeovers) return 0;
  const [first, last] = [takeovers[0], takeovers[takeovers.length - 1]];
  return last - first <= takeoverBrake.window ? last + takeoverBrake.pause : 0;
}

/** Reports may come late and twice: an older session never replaces a newer one, and a finished recording stays finished. */
export function isNews(
  known: SessionRecording | undefined,
  { recording, instead }: { readonly recording: SessionRecording; readonly instead?: string },
): boolean {
  if (!known || known.sessionId === instead) return true;
  if (known.sessionId === recording.sessionId) return recording.status !== 'waiting';
  return recording.sessionCreatedAt > known.sessionCreatedAt;
}

export function changed(stream: StreamSettings, changes: StreamChanges): StreamSettings {
  const fields = { ...stream.fields };
  for (const [plugin, values] of Object.entries(changes.fields ?? {})) {
    fields[plugin] = { ...fields[plugin], ...values };
  }
  return { ...stream, ...changes, fields };
}

/** The process that may still have the playlist. */
export function feederOf({ feeder, session }: BroadcastContext): Feeder | null {
  const found = feeder === undefined ? session?.publish : feeder;
  return found ? { node: found.node, incarnation: found.incarnation } : null;
}

function connectionOf({ token, node, incarnation }: Publish): Session['publish'] {
  return { token, node, incarnation };
}

function sum(a: SessionFigures, b: SessionFigures): SessionFigures {
  return {
    bytes: a.bytes + b.bytes,
    segments: a.segments + b.segments,
    duration: a.duration + b.duration,
  };
}
