import { derivedId } from '../../sdk/plugin.ts';

/** The id of the task that brings the file of an asset, which is that of the upload. */
export function uploadIdOf(assetId: string): string {
  return derivedId(`upload of asset ${assetId}`);
}
