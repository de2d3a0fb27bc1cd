import { object, oneOf, optional, Type } from '../../sdk/plugin.ts';
import { present } from './api.ts';
import type { MuxFields } from './fields.ts';
import { playbackIdSchema } from './live-stream.ts';
import { playbackIdsOf } from './playback-ids.ts';
import { uploadIdOf } from './upload-id.ts';

/** An asset as our API shows it. */
export interface NativeAsset {
  readonly id: string;
  readonly name: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly status: 'waiting' | 'ready' | 'failed';
  readonly statusMessage?: string;
  readonly source: {
    readonly type: string;
    readonly sessionId?: string;
    readonly url?: string;
    readonly inputAssetId?: string;
  };
  readonly playbackId: string;
  readonly playbackPolicy?: { readonly type: string } | null;
  readonly downloadUrl?: string;
  readonly videoSpec?: {
    readonly format: string;
    readonly duration?: number;
    readonly tracks?: readonly NativeTrack[];
  };
  readonly mux?: MuxFields;
}

export interface NativeTrack {
  readonly type: string;
  readonly codec?: string;
  readonly duration?: number;
  readonly width?: number;
  readonly height?: number;
  readonly fps?: number;
  readonly channels?: number;
  readonly sampleRate?: number;
}

const anything = Type.Record(Type.String(), Type.Unknown());
const trackSchema = object({
  ...{ id: Type.String(), type: oneOf(['video', 'audio', 'text']), duration: optional.number() },
  ...{ max_width: optional.number(), max_height: optional.number(), max_frame_rate: optional.number() },
  max_channels: optional.number(),
  primary: optional.boolean(),
});

export const assetSchema = object({
  id: Type.String(),
  created_at: Type.String({ description: 'Epoch seconds, as text.', examples: ['1767225600'] }),
  status: oneOf(['preparing', 'ready', 'errored']),
  progress: object({
    state: oneOf(['ingesting', 'transcoding', 'completed', 'live', 'errored']),
    progress: Type.Number(),
  }),
  ...{ encoding_tier: Type.Literal('smart'), video_quality: Type.Literal('plus') },
  master_access: oneOf(['temporary', 'none']),
  max_resolution_tier: oneOf(['1080p', '1440p', '2160p']),
  playback_ids: Type.Optional(Type.Array(playbackIdSchema)),
  duration: optional.number(),
  aspect_ratio: optional.string(),
  max_stored_resolution: optional.string(),
  max_stored_frame_rate: optional.number(),
  resolution_tier: optional.string(),
  tracks: Type.Optional(Type.Array(trackSchema)),
  errors: Type.Optional(object({ type: Type.String(), messages: Type.Array(Type.String()) })),
  ...{ ingest_type: optional.string(), is_live: optional.boolean(), live_stream_id: optional.string() },
  ...{ upload_id: optional.string(), source_asset_id: optional.string(), test: optional.boolean() },
  master: Type.Optional(object({ status: Type.Literal('ready'), url: Type.String() })),
  mp4_support: Type.Literal('none'),
  passthrough: optional.string(),
  meta: Type.Optional(anything),
});

const statuses = { waiting: 'preparing', ready: 'ready', failed: 'errored' } as const;
const ingestTypes: Readonly<Record<string, string>> = {
  url: 'on_demand_url',
  directUpload: 'on_demand_direct_upload',
  recording: 'live_rtmp',
  transcode: 'on_demand_clip',
};

/** What is known of an asset beside what our API shows. */
export interface AssetFacts {
  /** Of its file while it is fetched or converted, 0..1. */
  readonly progress?: number | undefined;
  /** The address of its master, for an owner. */
  readonly masterUrl?: string | undefined;
}

/** An asset in the form of Mux. */
export function presentAsset(
  asset: NativeAsset,
  { progress, masterUrl }: AssetFacts = {},
): Record<string, unknown> {
  const { id, createdAt, status, statusMessage, source, videoSpec, mux = {} } = asset;
  return present({
    id,
    created_at: String(Math.floor(createdAt / 1000)),
    status: statuses[status],
    progress: progressOf(status, progress),
    ...settled,
    master_access: mux.masterAccess ?? 'none',
    playback_ids: playbackIdsOf(asset),
    ...(videoSpec && factsOf(videoSpec)),
    errors:
      status === 'failed'
        ? { type: 'invalid_input', messages: [statusMessage ?? 'It has no file.'] }
        : undefined,
    ingest_type: ingestTypes[source.type],
    live_stream_id: mux.liveStreamId,
    upload_id: source.type === 'directUpload' ? uploadIdOf(id) : undefined,
    source_asset_id: source.inputAssetId,
    master: masterUrl === undefined ? undefined : { status: 'ready', url: masterUrl },
    passthrough: mux.passthrough,
    meta: mux.meta,
    test: mux.test || undefined,
  });
}

/** The same for all assets: they are stored as they come, in the size that they have. */
export const settled = {
  encoding_tier: 'smart',
  video_quality: 'plus',
  max_resolution_tier: '2160p',
  mp4_support: 'none',
} as const;

function progressOf(status: NativeAsset['status'], progress = 0): { state: string; progress: number } {
  if (status === 'ready') return { state: 'completed', progress: 100 };
  if (status === 'failed') return { state: 'errored', progress: -1 };
  return progress > 0
    ? { state: 'transcoding', progress: Math.floor(progress * 100) }
    : { state: 'ingesting', progress: 0 };
}

function factsOf({ duration, tracks = [] }: NonNullable<NativeAsset['videoSpec']>): Record<string, unknown> {
  const video = tracks.find(({ type }) => type === 'video');
  const { width, height, fps } = video ?? {};
  const short = width && height ? Math.min(width, height) : undefined;
  return {
    duration,
    aspect_ratio: width && height ? ratioOf(width, height) : undefined,
    max_stored_resolution: video ? short && storedResolution(short) : 'Audio only',
    resolution_tier: video ? short && tierOf(short) : 'audio-only',
    max_stored_frame_rate: fps,
    tracks: tracks.flatMap((track, index) => trackOf(track, index)),
  };
}

function trackOf({ type, duration, width, height, fps, channels }: NativeTrack, index: number) {
  if (type !== 'video' && type !== 'audio') return [];
  const of =
    type === 'video'
      ? { max_width: width, max_height: height, max_frame_rate: fps }
      : { max_channels: channels, primary: true };
  return [present({ id: `${type}-${index}`, type, duration, ...of })];
}

function ratioOf(width: number, height: number): string {
  let [a, b] = [Math.round(width), Math.round(height)];
  while (b > 0) [a, b] = [b, a % b];
  return a > 0 ? `${Math.round(width) / a}:${Math.round(height) / a}` : '';
}

function storedResolution(short: number): string {
  if (short < 720) return 'SD';
  if (short < 1080) return 'HD';
  return short < 2160 ? 'FHD' : 'UHD';
}

function tierOf(short: number): string {
  if (short <= 720) return '720p';
  if (short <= 1080) return '1080p';
  return short <= 1440 ? '1440p' : '2160p';
}
