import {
  type EventDeclaration,
  type LoggedEvent,
  payloadOf,
  type SessionFacts,
  streams,
  webhooks,
} from '../../sdk/plugin.ts';
import { type NativeAsset, presentAsset } from './asset.ts';
import type { MuxKit } from './config.ts';
import { dropLiveAsset, presentLiveAsset, storeLiveAsset } from './live-asset.ts';
import { type LiveFacts, type NativeStream, presentLiveStream, recordingAssetId } from './live-stream.ts';
import { dropPlaybackIds, storePlaybackIds } from './playback-ids.ts';
import { notePush } from './simulcast.ts';
import { presentUpload } from './upload.ts';

/** Before the names that Mux has. */
export const eventPrefix = 'mux-compat.';
export const formatName = 'mux';

const meanings = {
  'video.live_stream.created': 'A live stream was created by a client of Mux.',
  'video.live_stream.connected': 'The encoder of a live stream is connected.',
  'video.live_stream.recording': 'The broadcast of a live stream is recorded.',
  'video.live_stream.active': 'A live stream can be watched.',
  'video.live_stream.disconnected': 'The encoder of a live stream is gone.',
  'video.live_stream.idle': 'A live stream cannot be watched any more.',
  'video.live_stream.updated': 'A live stream was changed by a client of Mux.',
  'video.live_stream.enabled': 'A live stream was enabled by a client of Mux.',
  'video.live_stream.disabled': 'A live stream was disabled by a client of Mux.',
  'video.live_stream.deleted': 'A live stream was deleted by a client of Mux.',
  'video.live_stream.simulcast_target.broadcasting': 'A broadcast is sent to a target.',
  'video.live_stream.simulcast_target.errored': 'A broadcast cannot be sent to a target.',
  'video.live_stream.simulcast_target.idle': 'A broadcast is no longer sent to a target.',
  'video.asset.created': 'An asset was created.',
  'video.asset.ready': 'An asset can be watched.',
  'video.asset.errored': 'An asset gets no file.',
  'video.asset.updated': 'An asset was changed.',
  'video.asset.deleted': 'An asset was deleted.',
  'video.asset.live_stream_completed': 'The recording of a live stream can be watched.',
  'video.upload.created': 'A direct upload was created.',
  'video.upload.asset_created': 'The file of a direct upload has arrived.',
  'video.upload.cancelled': 'A direct upload was cancelled.',
  'video.upload.errored': 'A direct upload failed.',
} as const;
export type MuxEvent = keyof typeof meanings;

/** Names of our events that webhooks in the format of Mux get. */
export const muxEvents = Object.keys(meanings).map((name) => `${eventPrefix}${name}`);

/** Bodies of our events; the format writes the rest. */
export interface MuxPayload {
  readonly object: { readonly type: 'live' | 'asset' | 'upload'; readonly id: string };
  readonly data: Readonly<Record<string, unknown>>;
}

const example = { object: { type: 'asset', id: 'example' }, data: { id: 'example' } };

export const emits: Readonly<Record<string, EventDeclaration>> = Object.fromEntries(
  Object.entries(meanings).map(([name, meaning]) => [
    `${eventPrefix}${name}`,
    {
      meaning: `For webhooks of Mux: ${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`,
      payload: example,
    },
  ]),
);

interface Announcement {
  readonly type: MuxEvent;
  readonly account: string;
  /** Makes a repeat harmless. */
  readonly id?: string;
}

/** Tells webhooks of Mux about a stream. Nothing is written for an account without any. */
export async function announce(
  {
    type,
    account,
    id,
    stream,
    isGone,
    ...facts
  }: Announcement & LiveFacts & { readonly stream: NativeStream; readonly isGone?: boolean },
  kit: MuxKit,
): Promise<void> {
  const { stream_key: _, created_at, ...shown } = presentLiveStream(stream, facts);
  const data = { ...shown, created_at: Number(created_at) };
  await tell(
    {
      type,
      account,
      ...(id && { id }),
      payload: { object: { type: 'live', id: stream.id }, data },
      ...(!isGone && { stream: stream.id }),
    },
    kit,
  );
}

/** The same about an asset. */
export async function announceAsset(
  { type, account, id, asset }: Announcement & { readonly asset: Record<string, unknown> },
  kit: MuxKit,
): Promise<void> {
  const data = { ...asset, created_at: Number(asset.created_at) };
  await tell(
    { type, account, ...(id && { id }), payload: { object: { type: 'asset', id: String(asset.id) }, data } },
    kit,
  );
}

/** The same about an upload. */
export async function announceUpload(
  { type, account, id, upload }: Announcement & { readonly upload: Record<string, unknown> },
  kit: MuxKit,
): Promise<void> {
  await tell(
    {
      type,
      account,
      ...(id && { id }),
      payload: { object: { type: 'upload', id: String(upload.id) }, data: upload },
    },
    kit,
  );
}

async function tell(
  { type, ...emission }: Announcement & { readonly payload: MuxPayload; readonly stream?: string },
  kit: MuxKit,
): Promise<void> {
  const wanted = await kit.use(webhooks).list({ accountId: emission.account }, { format: formatName });
  if (wanted.length > 0) await kit.events.emit({ type: `${eventPrefix}${type}`, ...emission });
}

/** What of our events becomes one of Mux. */
export const reactions = {
  'session.started': sessionStarted,
  'session.idle': sessionIdle,
  'asset.created': assetCreated,
  'asset.ready': assetReady,
  'asset.failed': assetFailed,
  'asset.updated': async (event: LoggedEvent, kit: MuxKit) => {
    const asset = assetOf(event);
    const of = {
      type: 'video.asset.updated',
      account: event.account,
      id: event.id,
      asset: presentAsset(asset),
    } as const;
    if (asset.status === 'ready') await announceAsset(of, kit);
  },
  'asset.deleted': assetDeleted,
  'multistream.connected': pushChanged('broadcasting'),
  'multistream.error': pushChanged('errored'),
  'multistream.disconnected': pushChanged('idle'),
};

async function sessionStarted(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const session = payloadOf<SessionFacts>(event);
  const { id: sessionId, streamId, account } = session;
  const stream = await streamOf(streamId, kit);
  if (!stream) return;
  const isRecorded = session.fields.record === true;
  const on = { account, stream: { ...stream, isActive: true }, ...(isRecorded && { sessionId }) };
  await announce({ ...on, type: 'video.live_stream.connected', id: `${event.id}/1` }, kit);
  if (isRecorded) {
    const live = { id: recordingAssetId(sessionId), account, streamId, createdAt: session.createdAt };
    await storeLiveAsset(live, kit);
    await announce({ ...on, type: 'video.live_stream.recording', id: `${event.id}/2` }, kit);
    const asset = presentLiveAsset(live);
    await announceAsset({ type: 'video.asset.created', account, id: live.id, asset }, kit);
  }
  await announce({ ...on, type: 'video.live_stream.active', id: `${event.id}/3` }, kit);
}

async function sessionIdle(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const { streamId, account } = payloadOf<SessionFacts>(event);
  const stream = await streamOf(streamId, kit);
  if (!stream) return;
  const off = { account, stream: { ...stream, isActive: false } };
  await announce({ ...off, type: 'video.live_stream.disconnected', id: `${event.id}/1` }, kit);
  await announce({ ...off, type: 'video.live_stream.idle', id: `${event.id}/2` }, kit);
}

async function streamOf(id: string, kit: MuxKit): Promise<NativeStream | undefined> {
  return (await kit.use(streams).describe(id))?.body as NativeStream | undefined;
}

function assetOf(event: LoggedEvent): NativeAsset {
  return payloadOf<{ asset: NativeAsset }>(event).asset;
}

async function assetCreated(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const asset = assetOf(event);
  const { account, id } = event;
  const { playbackId, mux, source } = asset;
  await storePlaybackIds(
    { type: 'asset', object: asset.id, playbackId, account, ids: mux?.playbackIds ?? [] },
    kit,
  );
  if (source.type === 'recording') return dropLiveAsset(asset.id, kit);
  if (source.type === 'directUpload')
    return announceUpload(
      { type: 'video.upload.created', account, id, upload: presentUpload(asset, { status: 'waiting' }) },
      kit,
    );
  return announceAsset(
    { type: 'video.asset.created', account, id: asset.id, asset: presentAsset(asset) },
    kit,
  );
}

async function assetReady(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const asset = assetOf(event);
  const { account, id } = event;
  const shown = { account, asset: presentAsset(asset) };
  if (asset.source.type === 'directUpload') {
    const upload = presentUpload(asset, { status: 'asset_created' });
    await announceUpload({ type: 'video.upload.asset_created', account, id: `${id}/1`, upload }, kit);
    await announceAsset({ ...shown, type: 'video.asset.created', id: asset.id }, kit);
  }
  await announceAsset({ ...shown, type: 'video.asset.ready', id: `${id}/2` }, kit);
  if (asset.source.type === 'recording')
    await announceAsset({ ...shown, type: 'video.asset.live_stream_completed', id: `${id}/3` }, kit);
}

async function assetFailed(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const asset = assetOf(event);
  const { account, id } = event;
  // A cancelled upload is one of them too, and was told by the call that cancelled it.
  if (asset.source.type !== 'directUpload')
    return announceAsset({ type: 'video.asset.errored', account, id, asset: presentAsset(asset) }, kit);
  if (asset.mux?.upload?.isCancelled) return undefined;
  const upload = presentUpload(asset, { status: 'errored' });
  return announceUpload({ type: 'video.upload.errored', account, id, upload }, kit);
}

async function assetDeleted(event: LoggedEvent, kit: MuxKit): Promise<void> {
  const asset = assetOf(event);
  const { account } = event;
  const ids = (asset.mux?.playbackIds ?? []).flatMap((one) => one.id ?? []);
  await dropPlaybackIds(ids, { account, resources: kit.resources });
  await announceAsset(
    { type: 'video.asset.deleted', account, id: event.id, asset: presentAsset(asset) },
    kit,
  );
}

function pushChanged(status: 'broadcasting' | 'errored' | 'idle') {
  return async (event: LoggedEvent, kit: MuxKit): Promise<void> => {
    const { account, stream: streamId, id } = event;
    const { target } = payloadOf<{ target: { id: string } }>(event);
    const stream = await streamOf(streamId, kit);
    const entry = stream?.mux?.simulcast?.find((one) => one.id === target.id);
    if (!stream || !entry) return;
    await notePush({ streamId, account, target: target.id, status }, kit);
    const data = { ...entry, status };
    const object = { type: 'live', id: streamId } as const;
    await tell(
      {
        type: `video.live_stream.simulcast_target.${status}`,
        account,
        id,
        stream: streamId,
        payload: { object, data },
      },
      kit,
    );
  };
}
