import { multivariantName, wholeName } from '../../core/vod/file-name.ts';
import { type AssetFile, hashesOf } from './contract.ts';
import type { AssetDocument } from './document.ts';

/** The asset object, as its owner and events see it. Pure: what an event says can be said again. */
export function presentAsset(
  document: AssetDocument,
  { publicUrl }: { publicUrl: string },
): Record<string, unknown> {
  const { id, name, status, account, createdAt, updatedAt, playbackId, source, userTags } = document;
  const { statusMessage, createdByTokenName, file } = document;
  return {
    ...{ id, name, status },
    ...(statusMessage !== null && { statusMessage }),
    ...(file?.uncut !== undefined && { statusMessage: `There is no HLS of this file: ${file.uncut}.` }),
    ...{ userId: account, createdAt, updatedAt, playbackId, source, userTags },
    ...(createdByTokenName !== null && { createdByTokenName }),
    ...(file && {
      size: file.video.size,
      hash: hashesOf(file.video),
      videoSpec: file.spec,
      ...shownLinks({ playbackId, file }, publicUrl),
    }),
  };
}

/** Where the file of an asset is had, and watched. */
export function linksOf(
  { playbackId, file }: { playbackId: string; file: AssetFile },
  publicUrl: string,
): AssetLinks {
  const base = `${publicUrl}/asset/${playbackId}`;
  return {
    downloadUrl: `${base}/video`,
    ...(file.index && { playbackUrl: `${base}/${multivariantName}` }),
    ...(file.head && { fastUrl: `${base}/${wholeName}` }),
  };
}

export interface AssetLinks {
  readonly downloadUrl: string;
  /** HLS. */
  readonly playbackUrl?: string;
  /** The film with its index in front, where the stored file has it elsewhere: a player need not look for it. */
  readonly fastUrl?: string;
}

function shownLinks(asset: { playbackId: string; file: AssetFile }, publicUrl: string) {
  const { downloadUrl, playbackUrl } = linksOf(asset, publicUrl);
  return { downloadUrl, ...(playbackUrl !== undefined && { playbackUrl }) };
}

/** Fields of the asset object that the service sets; accepted and ignored in bodies. */
export const readOnly = [
  ...['id', 'hash', 'size', 'status', 'statusMessage', 'userId', 'createdAt', 'updatedAt', 'videoSpec'],
  ...['playbackId', 'playbackUrl', 'downloadUrl', 'source', 'createdByTokenName'],
];
