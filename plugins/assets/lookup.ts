import type { StoredResource } from '../../core/ports/store.ts';
import { assetKind } from './document.ts';
import type { AssetsKit } from './kit.ts';

/** Both look in one place alone, where the asset's own actor writes: strangers ask with every segment. */
export function assetRow(
  id: string,
  { resources }: Pick<AssetsKit, 'resources'>,
): Promise<StoredResource | undefined> {
  return resources.get(assetKind, id, { isBeside: true });
}

/** By what viewers know it by: a playback id, or text of any other shape, for which nobody is asked. */
export async function watchedRow(
  playbackId: string,
  { resources }: Pick<AssetsKit, 'resources'>,
): Promise<StoredResource | undefined> {
  if (!isPlaybackId(playbackId)) return undefined;
  return resources.find(assetKind, 'playbackId', playbackId, { isBeside: true });
}

export function isPlaybackId(text: string): boolean {
  return /^[0-9a-z]{16}$/.test(text);
}
