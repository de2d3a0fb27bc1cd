import type { StoredResource } from '../../core/ports/store.ts';
import type { AssetContext, AssetSettings } from '../../machines/asset.ts';
import type { AssetFile, AssetReference } from './contract.ts';

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

/** The same, of an actor's state. */
export function documentOf(context: AssetContext, status: AssetDocument['status']): AssetDocument {
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
