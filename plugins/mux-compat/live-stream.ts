import { derivedId, object, oneOf, optional, Type } from '../../sdk/plugin.ts';
import { type Api, present, segment } from './api.ts';
import type { MuxFields } from './fields.ts';
import { playbackIdsOf } from './playback-ids.ts';

/** A stream as our API shows it. */
export interface NativeStream {
  readonly id: string;
  readonly createdAt: number;
  readonly isActive: boolean;
  readonly suspended?: boolean;
  readonly streamKey?: string;
  readonly playbackId: string;
  readonly holdSeconds?: number;
  readonly playbackPolicy?: { readonly type: string } | null;
  readonly multistream?: { readonly targets: readonly { readonly id: string; readonly profile: string }[] };
  readonly mux?: MuxFields;
}

const anything = Type.Record(Type.String(), Type.Unknown());
export const playbackIdSchema = object({ id: Type.String(), policy: oneOf(['public', 'signed']) });
export const simulcastSchema = object({
  id: Type.String(),
  url: Type.String(),
  status: oneOf(['idle', 'starting', 'broadcasting', 'errored']),
  passthrough: optional.string(),
});
const epochText = Type.String({ description: 'Epoch seconds, as text.', examples: ['1767225600'] });

export const liveStreamSchema = object({
  id: Type.String(),
  created_at: epochText,
  status: oneOf(['active', 'idle', 'disabled']),
  stream_key: optional.string({ description: 'Only for API keys that may change the stream.' }),
  latency_mode: Type.Literal('low'),
  max_continuous_duration: Type.Integer(),
  playback_ids: Type.Optional(Type.Array(playbackIdSchema)),
  active_asset_id: optional.string(),
  recent_asset_ids: Type.Optional(Type.Array(Type.String())),
  active_ingest_protocol: optional.string(),
  reconnect_window: optional.number(),
  passthrough: optional.string(),
  meta: Type.Optional(anything),
  new_asset_settings: Type.Optional(anything),
  simulcast_targets: Type.Optional(Type.Array(simulcastSchema)),
  test: optional.boolean(),
});

/** Seconds. Nothing ends a broadcast here; it is what Mux says where nothing else was asked for. */
const longest = 43_200;

/** What is known of a stream beside what our API shows. */
export interface LiveFacts {
  /** Of the session on the air, or of the newest one. */
  readonly sessionId?: string | null | undefined;
  /** Oldest first. */
  readonly recentSessions?: readonly string[];
  /** State of the pushes to its targets, by their ids. */
  readonly pushes?: Readonly<Record<string, string>>;
}

/** A stream in the form of Mux. Its key is not for events. */
export function presentLiveStream(stream: NativeStream, facts: LiveFacts = {}): Record<string, unknown> {
  const { id, createdAt, isActive, suspended, mux = {} } = stream;
  const { sessionId, recentSessions } = facts;
  return present({
    id,
    created_at: String(createdAt),
    status: suspended ? 'disabled' : isActive ? 'active' : 'idle',
    stream_key: stream.streamKey,
    latency_mode: 'low',
    max_continuous_duration: longest,
    playback_ids: playbackIdsOf(stream),
    active_asset_id: isActive && sessionId ? recordingAssetId(sessionId) : undefined,
    active_ingest_protocol: isActive ? 'rtmp' : undefined,
    recent_asset_ids: recentSessions?.length ? recentSessions.map(recordingAssetId) : undefined,
    reconnect_window: stream.holdSeconds,
    passthrough: mux.passthrough,
    meta: mux.meta,
    new_asset_settings: mux.newAssetSettings,
    simulcast_targets: mux.simulcast?.length ? simulcastOf(stream, facts) : undefined,
    test: mux.test || undefined,
  });
}

export function simulcastOf(
  { isActive, mux }: NativeStream,
  { pushes = {} }: LiveFacts,
): Record<string, unknown>[] {
  return (mux?.simulcast ?? []).map(({ id, url, passthrough }) =>
    present({ id, url, passthrough, status: isActive ? (pushes[id] ?? 'starting') : 'idle' }),
  );
}

/** The id of the asset that the recording of a session becomes. */
export function recordingAssetId(sessionId: string): string {
  return derivedId(`recording/${sessionId}`);
}

/** A parent stream of the caller; a session is none. Fault `stream.not_found` (404). */
export function streamOf(api: Api, id: string | undefined): Promise<NativeStream> {
  return api.ask<NativeStream>('GET', `/api/stream/${segment(id)}`);
}
