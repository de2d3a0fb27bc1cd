import type { ActorType } from '../../core/actor.ts';
import type { StepKit } from '../../core/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { type AssetContext, type AssetSettings, assetMachine } from '../../machines/asset.ts';
import type { config } from './config.ts';
import type { AssetFile, AssetReference } from './contract.ts';
import { presentAsset } from './present.ts';

/** One per asset. Its id is the asset's id. */
export const asset: ActorType<typeof assetMachine, StepKit<typeof config>> = {
  type: 'asset',
  machine: assetMachine,
  version: 1,
  rows(context, state) {
    const { id, account, createdAt, name, playbackId, source } = context.asset;
    const row = { kind: assetKind, id, account, createdAt, name };
    const status = statusOf(state);
    if (status === undefined) return [{ ...row, body: null, indexes: {} }];
    const indexes = { playbackId, sessionId: source.sessionId, status };
    return [{ ...row, body: JSON.stringify(documentOf(context, status)), indexes }];
  },
  describe(_emitted, context, { tools: { publicUrl } }) {
    // Of one that was deleted the last thing known is told.
    const status = context.file ? 'ready' : context.statusMessage === null ? 'waiting' : 'failed';
    const shown = presentAsset(documentOf(context, status), { publicUrl });
    return { account: context.asset.account, stream: '', body: { payload: { asset: shown } } };
  },
};

export const assetKind = 'asset';

/** What is stored of an asset: the row that the API reads. */
export interface AssetDocument extends AssetSettings {
  readonly status: AssetReference['status'];
  readonly updatedAt: number;
  readonly statusMessage: string | null;
  readonly file: AssetFile | null;
  /** When that came, epoch ms. */
  readonly fileAt: number;
  /** That of the video, so that lists can be filtered by it. */
  readonly size?: number;
}

export function assetOf(row: StoredResource): AssetDocument {
  return JSON.parse(row.body) as AssetDocument;
}

/** Where the blobs of an asset lie. */
export function folderOf(id: string): string {
  return `${assetFolder}${id}/`;
}

export const assetFolder = 'assets/';

function documentOf(context: AssetContext, status: AssetDocument['status']): AssetDocument {
  const { asset: settings, updatedAt, statusMessage, fileAt } = context;
  const file = context.file as AssetFile | null;
  return {
    ...settings,
    status,
    updatedAt,
    statusMessage,
    file,
    fileAt,
    ...(file && { size: file.video.size }),
  };
}

/** Undefined: it was deleted. */
function statusOf(state: unknown): AssetDocument['status'] | undefined {
  return (state as { kept?: AssetDocument['status'] }).kept;
}
