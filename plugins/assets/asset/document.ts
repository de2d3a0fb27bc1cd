import { type BlobFacts, blobLimits } from '../../../core/ports/blobs.ts';
import type { StoredResource } from '../../../core/ports/store.ts';
import type { AssetContext, AssetSettings } from '../../../machines/asset.ts';
import type { AssetsKit } from '../config.ts';
import type { AssetFile, AssetReference } from '../contract.ts';

export const assetKind = 'asset';

/** What is stored of an asset: the row that the API reads. */
export interface AssetDocument extends AssetSettings {
  readonly status: AssetReference['status'];
  readonly updatedAt: number;
  readonly statusMessage: string | null;
  readonly file: AssetFile | null;
  /** When the file arrived, epoch ms. */
  readonly fileAt: number;
  /** Bytes of the video, so that lists can be filtered by it. */
  readonly size?: number;
}

export function assetOf(row: StoredResource): AssetDocument {
  return JSON.parse(row.body) as AssetDocument;
}

/** The folder of the blobs of an asset. */
export function folderOf(id: string): string {
  return `${assetFolder}${id}/`;
}

export const assetFolder = 'assets/';

/** The document for the state of an actor. */
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

/** One read in the partition of the asset, because viewers ask with every segment. */
export function assetRow(
  id: string,
  { resources }: Pick<AssetsKit, 'resources'>,
): Promise<StoredResource | undefined> {
  return resources.get(assetKind, id);
}

/** The row for a playback id from a URL. Text of another shape costs no read. */
export async function watchedRow(
  playbackId: string,
  { resources }: Pick<AssetsKit, 'resources'>,
): Promise<StoredResource | undefined> {
  if (!isPlaybackId(playbackId)) return undefined;
  return resources.find(assetKind, 'playbackId', playbackId);
}

export function isPlaybackId(text: string): boolean {
  return /^[0-9a-z]{16}$/.test(text);
}

/** The blobs whose keys begin with `prefix`, a page at a time. */
export async function* blobPages(
  prefix: string,
  { blobs, signal }: { readonly blobs: AssetsKit['blobs']; readonly signal: AbortSignal },
): AsyncGenerator<readonly BlobFacts[]> {
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted();
    const page = await blobs.list(prefix, {
      limit: blobLimits.listed,
      ...(after !== undefined && { after }),
    });
    yield page.blobs;
    after = page.next;
    if (after === undefined) return;
  }
}
